use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use codegrep_plugin_sdk::{ErrorKind, code};
use codegrep_tree::{Sink, Stage};
use tokio::sync::{mpsc, oneshot};

use crate::core::{Engines, Event, Job, JobId, Serve};
use crate::failure::Failure;

/// What one client's front has at hand.
#[derive(Clone)]
pub struct Service {
    /// The core's queue.
    pub events: Sender<Event>,
    /// What all clients share.
    pub engines: Arc<Engines>,
    /// The client's working folder: where it looks when it names no roots.
    pub folder: PathBuf,
}

/// Events of progress on their way to a client; what finds no room is left out.
pub const PROGRESS: usize = 16;

/// Progress of one stage is not sent more often than this.
const THROTTLE: Duration = Duration::from_millis(100);

impl Service {
    /// Puts a request on the queue and waits for its answer. Whoever drops the future cancels the
    /// request: a thread that works for nobody is stopped.
    pub async fn call<M: Serve>(
        &self,
        params: M::Params,
        progress: Option<mpsc::Sender<codegrep_tree::Event>>,
    ) -> Result<M::Response, Failure> {
        let open = Open { job: JobId::fresh(), events: self.events.clone(), alive: Arc::new(()) };
        let sink = progress.map(|progress| {
            throttled(Arc::downgrade(&open.alive), move |event| {
                let _ = progress.try_send(event);
            })
        });
        let (reply, answer) = oneshot::channel();
        let received = Instant::now();
        let job = Job::new::<M>(open.job, params, &self.engines.settings, received, sink, reply);
        // Both fail only when the core has ended, and then this process is about to.
        let _ = self.events.send(Event::Submit(job));
        let answer = answer.await.map_err(|_| closing())??;
        serde_json::from_str(answer.get())
            .map_err(|error| Failure::internal(format!("an answer cannot be read: {error}")))
    }
}

/// A request that waits for its answer.
struct Open {
    job: JobId,
    events: Sender<Event>,
    /// Progress ends with the answer: a thread that has not noticed yet reports to nobody.
    alive: Arc<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        // Says nothing about a job that has been answered.
        let _ = self.events.send(Event::Cancel(self.job));
    }
}

/// A sink that passes on what is new while `open` lives, a few times a second.
pub fn throttled(
    open: Weak<()>,
    send: impl Fn(codegrep_tree::Event) + Send + Sync + 'static,
) -> Sink {
    let last: Mutex<Option<(Stage, Instant)>> = Mutex::new(None);
    Arc::new(move |event| {
        let now = Instant::now();
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let soon = last.is_some_and(|(stage, at)| stage == event.stage && now - at < THROTTLE);
        if open.strong_count() == 0 || (soon && event.candidates.is_none()) {
            return;
        }
        *last = Some((event.stage, now));
        send(event);
    })
}

/// The answer to what comes after the core has ended.
pub fn closing() -> Failure {
    Failure::wire(ErrorKind::Environment, code::CANCELLED, "the server is ending")
}
