//! A model at work, seen from the threads of requests: jobs go to the thread that owns the context,
//! results come back, and nobody waits longer than their watch allows.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use codegrep_agent::{ModelError, Sampling};
use codegrep_tree::Watch;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};

use super::context::{Context, Shape};
use super::grammar::{Grammar, Lexicon};
use super::job::{Job, Work};
use super::owner::Owner;
use super::sample::Picker;
use super::score::{self, Score};
use super::turn::{Sampled, Turn};
use super::weights::{Adapter, Weights};

/// How often a waiting request looks at its watch.
const GLANCE: Duration = Duration::from_millis(20);

/// Weights, and the thread that owns their context.
pub(super) struct Engine {
    pub weights: Arc<Weights>,
    /// Most tokens of one conversation.
    pub window: usize,
    lexicon: OnceLock<Arc<Lexicon>>,
    jobs: Option<Sender<Job>>,
    owner: Option<JoinHandle<()>>,
    closing: Arc<AtomicBool>,
}

/// Sizes of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Size {
    /// Most tokens of one conversation.
    pub window: u32,
    /// Cached tokens of all conversations together, at least `window`.
    pub cells: u32,
    /// Conversations that can hold cache at the same time.
    pub sequences: u32,
    pub threads: u32,
}

impl Engine {
    pub fn start(weights: Weights, size: Size) -> Result<Self, ModelError> {
        let weights = Arc::new(weights);
        let closing = Arc::new(AtomicBool::new(false));
        let (jobs, inbox) = unbounded();
        // The first context is made here, so that a size that does not fit is told at once.
        let first = make_context(&weights, size, &closing)?;
        let owner = std::thread::Builder::new().name("llama".into()).spawn({
            let (weights, closing) = (Arc::clone(&weights), Arc::clone(&closing));
            move || own(first, &weights, size, &closing, &inbox)
        });
        let owner = owner.map_err(|error| ModelError::Unavailable {
            message: format!("no thread for the model: {error}"),
            hint: "raise the limit on threads".into(),
        })?;
        Ok(Self {
            weights,
            window: size.window as usize,
            lexicon: OnceLock::new(),
            jobs: Some(jobs),
            owner: Some(owner),
            closing,
        })
    }

    /// Samples at most `max` tokens after `tokens`.
    pub fn turn(
        &self,
        tokens: Vec<i32>,
        max: usize,
        sampling: Sampling,
        gbnf: Option<&str>,
        adapter: Option<Arc<Adapter>>,
        watch: &Watch,
    ) -> Result<Sampled, ModelError> {
        let grammar = gbnf.map(|gbnf| {
            let lexicon = self.lexicon.get_or_init(|| Arc::new(Lexicon::new(&self.weights)));
            Grammar::new(&self.weights, Arc::clone(lexicon), gbnf)
        });
        let (reply, result) = bounded(1);
        let turn = Turn {
            max,
            picker: Picker::new(sampling),
            grammar: grammar.transpose()?,
            sampled: Sampled::default(),
            reply,
        };
        self.ask(Job { tokens, adapter, watch: watch.clone(), work: Work::Turn(turn) })?;
        wait(&result, watch)
    }

    /// Log-likelihood of each of `tails` after `tokens`, plus that of `tokens` from `start` on.
    pub fn score(
        &self,
        tokens: Vec<i32>,
        start: usize,
        tails: Vec<Vec<i32>>,
        adapter: Option<Arc<Adapter>>,
        watch: &Watch,
    ) -> Result<Vec<f64>, ModelError> {
        let (reply, result) = bounded(1);
        let work = Work::Score(Score::new(start, tails, reply));
        self.ask(Job { tokens, adapter, watch: watch.clone(), work })?;
        wait(&result, watch)
    }

    fn ask(&self, job: Job) -> Result<(), ModelError> {
        match &self.jobs {
            Some(jobs) => jobs.send(job).map_err(|_| gone()),
            None => Err(gone()),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        self.jobs = None;
        if let Some(owner) = self.owner.take() {
            // A panic there was answered and logged already.
            drop(owner.join());
        }
    }
}

/// The life of the owner thread. A panic ends the jobs at hand with an error; those that come
/// after get a fresh context.
fn own(
    first: Context,
    weights: &Arc<Weights>,
    size: Size,
    closing: &Arc<AtomicBool>,
    inbox: &Receiver<Job>,
) {
    let mut context = Ok(first);
    loop {
        match context {
            Ok(context) => {
                let (slots, cells) = (size.sequences as usize, size.cells as usize);
                let mut owner = Owner::new(context, Arc::clone(weights), slots, cells);
                if catch_unwind(AssertUnwindSafe(|| owner.serve(inbox))).is_ok() {
                    return;
                }
                tracing::error!("the thread of the model panicked; it starts again");
            }
            Err(error) => {
                let Ok(job) = inbox.recv() else { return };
                job.fail(error);
            }
        }
        context = make_context(weights, size, closing);
    }
}

fn make_context(
    weights: &Arc<Weights>,
    size: Size,
    closing: &Arc<AtomicBool>,
) -> Result<Context, ModelError> {
    let sequences = size.sequences + score::BRANCHES as u32;
    let shape = Shape { cells: size.cells, sequences, threads: size.threads };
    Context::new(weights, shape, Arc::clone(closing))
}

/// The owner answers a stopped job too, but only between batches.
fn wait<T>(result: &Receiver<Result<T, ModelError>>, watch: &Watch) -> Result<T, ModelError> {
    loop {
        match result.recv_timeout(GLANCE) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            Err(RecvTimeoutError::Timeout) => watch.check()?,
        }
    }
}

fn gone() -> ModelError {
    ModelError::Unavailable {
        message: "the thread of the model failed".into(),
        hint: "ask again: it starts afresh; the log tells what happened".into(),
    }
}
