use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::error::ClientError;
use super::io::{Incoming, Link};
use crate::{Method, ProgressToken, RetrieveProgressNotification};

/// A request on its way. Dropping it before it is answered cancels it.
#[must_use = "dropping a call cancels it"]
pub struct Call<M: Method> {
    link: Arc<Link>,
    id: u64,
    incoming: Receiver<Incoming>,
    refused: Option<ClientError>,
    answered: bool,
    method: PhantomData<fn() -> M>,
}

/// Cancels a call from another thread.
#[derive(Clone)]
pub struct CancelHandle {
    link: Arc<Link>,
    id: u64,
}

impl CancelHandle {
    /// Asks the server to stop; the call then ends with an error of code
    /// [`crate::code::CANCELLED`], or with its result if that came first.
    pub fn cancel(&self) {
        self.link.cancel(self.id);
    }
}

impl<M: Method> Call<M> {
    pub(super) fn start(
        link: &Arc<Link>,
        params: &M::Params,
        token: Option<ProgressToken>,
    ) -> Self {
        let (id, incoming, sent) = link.send_request(M::NAME, params, token);
        Self {
            link: Arc::clone(link),
            id,
            incoming,
            answered: sent.is_err(),
            refused: sent.err(),
            method: PhantomData,
        }
    }

    /// Cancels the call, from any thread, while this one waits.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle { link: Arc::clone(&self.link), id: self.id }
    }

    /// Waits for the answer.
    pub fn wait(self) -> Result<M::Response, ClientError> {
        self.wait_with(None, |_| {})
    }

    /// Waits for the answer; cancels the call when `time` has passed.
    pub fn wait_timeout(self, time: Duration) -> Result<M::Response, ClientError> {
        self.wait_with(Some(time), |_| {})
    }

    /// Waits for the answer, hands progress to `on_progress` on this thread, and cancels the call
    /// when `time` has passed.
    pub fn wait_with(
        mut self,
        time: Option<Duration>,
        mut on_progress: impl FnMut(RetrieveProgressNotification),
    ) -> Result<M::Response, ClientError> {
        if let Some(refused) = self.refused.take() {
            return Err(refused);
        }
        // A time beyond what the clock can hold is no deadline.
        let deadline = time.and_then(|time| Some((time, Instant::now().checked_add(time)?)));
        loop {
            let received = match deadline {
                None => self.incoming.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some((_, at)) => {
                    self.incoming.recv_timeout(at.saturating_duration_since(Instant::now()))
                }
            };
            match (received, deadline) {
                (Ok(Incoming::Progress(progress)), _) => {
                    on_progress(progress);
                    // A server that always has news must not hold the call for ever.
                    if let Some((time, at)) = deadline
                        && Instant::now() >= at
                    {
                        return Err(ClientError::Timeout(time));
                    }
                }
                (Ok(Incoming::Answer(answer)), _) => {
                    self.answered = true;
                    return serde_json::from_str(answer?.get()).map_err(|error| {
                        ClientError::Protocol(format!("the result of {}: {error}", M::NAME))
                    });
                }
                (Err(RecvTimeoutError::Timeout), Some((time, _))) => {
                    return Err(ClientError::Timeout(time));
                }
                (Err(_), _) => {
                    self.answered = true;
                    return Err(self.link.death());
                }
            }
        }
    }
}

impl<M: Method> Drop for Call<M> {
    fn drop(&mut self) {
        if !self.answered {
            self.link.forget(self.id);
            self.link.cancel(self.id);
        }
    }
}
