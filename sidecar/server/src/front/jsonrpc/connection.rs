use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use codegrep_plugin_sdk::{
    Cancel, ErrorKind, MAX_MESSAGE_BYTES, Method, Notification, Shutdown, code,
};
use jsonrpsee::core::server::{MethodCallback, MethodResponse, ResponsePayload};
use jsonrpsee::types::{ErrorObjectOwned, Params};
use jsonrpsee::{ConnectionId, Extensions, RpcModule};
use serde_json::value::RawValue;
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinSet;

use super::input::Line;
use super::message::{self, Id, Message};
use super::methods::{Client, Origin};
use crate::core::{Event, JobId};
use crate::failure::Failure;
use crate::wire;

/// Calls of one batch; more is no batch but a flood.
const MOST_IN_BATCH: usize = 1000;
/// How long cancelled jobs may take to be answered at the end.
const GOODBYE: Duration = Duration::from_secs(1);

/// One client's conversation.
pub struct Connection {
    module: RpcModule<Client>,
    client: Client,
    /// The jobs that run or wait, with the ids that they answer to; notifications have none.
    open: HashMap<JobId, Option<Id>>,
    unanswered: JoinSet<Answered>,
}

/// An answer that goes on the wire; `None` to a notification.
type Reply = Option<Box<RawValue>>;

/// A message on its way.
enum Started {
    Done(Reply),
    Running(Call),
}

type Call = Pin<Box<dyn Future<Output = Reply> + Send>>;

struct Answered {
    /// No longer open.
    jobs: Vec<JobId>,
    line: Option<Vec<u8>>,
}

impl Connection {
    pub fn new(module: RpcModule<Client>, client: Client) -> Self {
        Self { module, client, open: HashMap::new(), unanswered: JoinSet::new() }
    }

    /// Takes messages in order and sends answers as they come.
    pub async fn run(mut self, mut lines: Receiver<Line>) {
        let outbox = self.client.outbox.clone();
        loop {
            tokio::select! {
                line = lines.recv() => match line {
                    Some(line) => if self.take(line).await { break },
                    None => break,
                },
                Some(answered) = self.unanswered.join_next() => self.finish(answered.ok()),
                () = outbox.gone() => break,
            }
        }
        for job in self.open.keys() {
            self.cancel(*job);
        }
        let unanswered = async {
            while let Some(answered) = self.unanswered.join_next().await {
                self.finish(answered.ok());
            }
        };
        let _ = tokio::time::timeout(GOODBYE, unanswered).await;
    }

    /// True after the last message: `shutdown`.
    async fn take(&mut self, line: Line) -> bool {
        let text = match line {
            Line::Whole(text) => text,
            Line::TooLong(id) => {
                self.send(error(&id, too_long()).map(into_line));
                return false;
            }
        };
        let parsed = serde_json::from_slice::<&RawValue>(&text).map_err(|error| {
            let message = format!("the line is no JSON: {error}");
            Failure::wire(ErrorKind::User, code::PARSE_ERROR, message)
                .hint("send one JSON-RPC 2.0 message a line, UTF-8")
        });
        let mut jobs = Vec::new();
        let mut last = false;
        let reply = match parsed {
            Err(failure) => Started::Done(error(&Id::Null, failure)),
            Ok(raw) if raw.get().starts_with('[') => self.batch(raw, &mut jobs, &mut last).await,
            Ok(raw) => self.start(raw, &mut jobs, &mut last).await,
        };
        match reply {
            Started::Done(reply) => {
                self.finish(Some(Answered { jobs, line: reply.map(into_line) }));
            }
            Started::Running(call) => {
                self.unanswered
                    .spawn(async move { Answered { jobs, line: call.await.map(into_line) } });
            }
        }
        last
    }

    /// Starts every call of a batch, in order; they are answered together.
    async fn batch(&mut self, raw: &RawValue, jobs: &mut Vec<JobId>, last: &mut bool) -> Started {
        let calls: Vec<&RawValue> = match serde_json::from_str(raw.get()) {
            Ok(calls) => calls,
            Err(error) => {
                return Started::Done(self::error(&Id::Null, bad_batch(&error.to_string())));
            }
        };
        if calls.is_empty() || calls.len() > MOST_IN_BATCH {
            let why = format!("{} calls, where 1 to {MOST_IN_BATCH} may stand", calls.len());
            return Started::Done(error(&Id::Null, bad_batch(&why)));
        }
        let mut started = Vec::new();
        for call in calls {
            started.push(self.start(call, jobs, last).await);
        }
        let answers: Call = Box::pin(async move {
            let mut replies = Vec::new();
            for call in started {
                replies.extend(match call {
                    Started::Done(reply) => reply,
                    Started::Running(call) => call.await,
                });
            }
            if replies.is_empty() { None } else { serde_json::value::to_raw_value(&replies).ok() }
        });
        begun(answers).await
    }

    /// Starts a call. Its job is on the queue when this returns, so that a cancel that follows
    /// finds it.
    async fn start(&mut self, raw: &RawValue, jobs: &mut Vec<JobId>, last: &mut bool) -> Started {
        let Message { id, method, params } = match message::read(raw) {
            Ok(Some(message)) => message,
            Ok(None) => return Started::Done(None),
            Err((id, failure)) => return Started::Done(error(&id, failure)),
        };
        let fail = |failure| match id {
            Id::Absent => Started::Done(None),
            _ => Started::Done(error(&id, failure)),
        };
        if method == Cancel::NAME {
            let wanted = match message::id_to_cancel(params) {
                Ok(wanted) => wanted,
                Err(failure) => return fail(failure),
            };
            if let Some(job) = self.job_of(&wanted) {
                self.cancel(job);
            }
            // A notification by rights; whoever gives it an id waits for an answer.
            let done = ResponsePayload::success(serde_json::json!({}));
            let reply = MethodResponse::response((&id).into(), done, usize::MAX);
            return Started::Done((id != Id::Absent).then(|| id.answer(reply)));
        }
        let Some(callback) = self.module.method(&method) else {
            return fail(self.no_such(&method));
        };
        let job = JobId::fresh();
        let answers_to = match &id {
            Id::Absent | Id::Null => None,
            given if self.job_of(given).is_some() => {
                let message = format!("the id {given} belongs to a request that is still open");
                let failure = Failure::wire(ErrorKind::User, code::INVALID_REQUEST, message)
                    .hint("give each request an id of its own");
                return fail(failure);
            }
            given => Some(given.clone()),
        };
        self.open.insert(job, answers_to);
        jobs.push(job);
        let mut extensions = Extensions::new();
        extensions.insert(Origin { job, received: Instant::now() });
        let (to, params) = ((&id).into(), Params::new(params.map(RawValue::get)).into_owned());
        let answered = id != Id::Absent;
        let call: Call = match callback {
            MethodCallback::Sync(call) => {
                let response = call(to, params, usize::MAX, extensions);
                *last |= method == Shutdown::NAME && response.is_success();
                return Started::Done(answered.then(|| id.answer(response)));
            }
            MethodCallback::Async(call) => {
                let call = call(to, params, ConnectionId(0), usize::MAX, extensions);
                Box::pin(async move {
                    let response = call.await;
                    answered.then(|| id.answer(response))
                })
            }
            // Never registered.
            MethodCallback::Subscription(_) | MethodCallback::Unsubscription(_) => {
                return fail(self.no_such(&method));
            }
        };
        begun(call).await
    }

    fn finish(&mut self, answered: Option<Answered>) {
        // None: a task that panicked, which takes its answer with it.
        let Some(Answered { jobs, line }) = answered else { return };
        for job in jobs {
            self.open.remove(&job);
        }
        self.send(line);
    }

    fn send(&self, line: Option<Vec<u8>>) {
        if let Some(line) = line {
            self.client.outbox.send(line);
        }
    }

    fn job_of(&self, id: &Id) -> Option<JobId> {
        self.open.iter().find(|(_, of)| of.as_ref() == Some(id)).map(|(job, _)| *job)
    }

    fn cancel(&self, job: JobId) {
        // Fails once the core has ended, and with it the job.
        let _ = self.client.events.send(Event::Cancel(job));
    }

    fn no_such(&self, method: &str) -> Failure {
        let mut known: Vec<&str> = self.module.method_names().collect();
        known.sort_unstable();
        let message = format!("there is no method {method:?}");
        Failure::wire(ErrorKind::User, code::METHOD_NOT_FOUND, message)
            .hint(format!("there are {}", known.join(", ")))
    }
}

/// Polls a call once: what it does first, such as to put its job on the queue, is done.
async fn begun(mut call: Call) -> Started {
    match poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await {
        Poll::Ready(reply) => Started::Done(reply),
        Poll::Pending => Started::Running(call),
    }
}

fn into_line(reply: Box<RawValue>) -> Vec<u8> {
    Box::<str>::from(reply).into_string().into_bytes()
}

fn error(id: &Id, failure: Failure) -> Reply {
    let error: ErrorObjectOwned = wire::error(failure);
    Some(id.answer(MethodResponse::error(id.into(), error)))
}

fn bad_batch(why: &str) -> Failure {
    Failure::wire(ErrorKind::User, code::INVALID_REQUEST, format!("not a batch: {why}"))
}

fn too_long() -> Failure {
    let message = format!("the message is longer than {MAX_MESSAGE_BYTES} bytes");
    Failure::wire(ErrorKind::User, code::TOO_LARGE, message)
        .hint("send less text, or fewer open files")
}
