use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use codegrep_plugin_sdk::{Method, ProgressToken};
use codegrep_tree::{Sink, Watch};
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::Engines;
use crate::config::Settings;
use crate::failure::Failure;

/// A job's number, unique in the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct JobId(u64);

impl JobId {
    /// The next number.
    pub fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// No request is worth more.
const LONGEST: Duration = Duration::from_secs(3600);

/// A result, serialised, or why there is none.
pub type Answer = Result<Box<RawValue>, Failure>;

/// Answers in place of a thread that is not through when the answer is due.
pub type Late = Box<dyn FnOnce() -> Answer + Send>;

/// Does the work.
pub type Run = Box<dyn FnOnce(&Engines, &Watch) -> Answer + Send>;

/// A request on its way through the core.
pub struct Job {
    pub id: JobId,
    pub name: &'static str,
    /// When the work should end by itself.
    pub deadline: Instant,
    /// When an answer has to leave, whether or not it did.
    pub due: Instant,
    pub sink: Option<Sink>,
    pub run: Run,
    pub late: Late,
    pub reply: oneshot::Sender<Answer>,
}

/// A request that is served on a thread of its own.
pub trait Serve: Method<Params: Send + 'static> {
    /// Within which it is answered, from its receipt.
    fn budget(params: &Self::Params, settings: &Settings) -> Duration;

    /// Whom progress is for.
    fn progress(_params: &Self::Params) -> Option<&ProgressToken> {
        None
    }

    /// Does the work. Ends when `watch` says so, with what it has.
    fn serve(
        params: Self::Params,
        engines: &Engines,
        watch: &Watch,
    ) -> Result<Self::Response, Failure>;

    /// The work, and the answer when it is not through within its budget.
    fn job(params: Self::Params, _settings: &Settings) -> (Run, Late) {
        let late = || {
            Err(Failure::environment(format!("{} did not end within its time budget", Self::NAME))
                .hint("raise budgetMs, or ask for less"))
        };
        let run =
            |engines: &Engines, watch: &Watch| serialise(Self::serve(params, engines, watch)?);
        (Box::new(run), Box::new(late))
    }
}

impl Job {
    /// The job of a request that was received at `received`.
    pub fn new<M: Serve>(
        id: JobId,
        params: M::Params,
        settings: &Settings,
        received: Instant,
        sink: Option<Sink>,
        reply: oneshot::Sender<Answer>,
    ) -> Self {
        let budget = M::budget(&params, settings).min(LONGEST);
        let margin = margin(budget);
        let (run, late) = M::job(params, settings);
        Self {
            id,
            name: M::NAME,
            deadline: deadline(received, budget),
            due: received + budget - margin / 4,
            sink,
            run,
            late,
            reply,
        }
    }
}

/// When the work of a request should end by itself: a little before its budget does.
pub fn deadline(received: Instant, budget: Duration) -> Instant {
    received + budget - margin(budget)
}

/// Room to end, to serialise, and for the pipe to the client.
fn margin(budget: Duration) -> Duration {
    (budget / 10).min(Duration::from_millis(150))
}

/// A result as it goes on the wire.
pub fn serialise<T: serde::Serialize>(response: T) -> Answer {
    serde_json::value::to_raw_value(&response)
        .map_err(|error| Failure::internal(format!("an answer cannot be written: {error}")))
}
