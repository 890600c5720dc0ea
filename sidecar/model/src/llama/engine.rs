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
use super::stream::Stream;
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

/// The conversation that asks.
#[derive(Clone, Copy)]
pub(super) struct Whose<'a> {
    pub life: &'a Arc<()>,
    pub adapter: Option<&'a Arc<Adapter>>,
    pub watch: &'a Watch,
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

    /// Samples at most `max` tokens after `stream`, which is cut.
    pub fn turn(
        &self,
        whose: Whose<'_>,
        stream: Stream,
        max: usize,
        sampling: Sampling,
        gbnf: Option<&str>,
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
        let first_row = stream.len() - 1;
        self.ask(whose, stream, first_row, Work::Turn(turn))?;
        wait(&result, whose.watch)
    }

    /// Log-likelihood of each of `tails` after `stream`, plus that of the stream's own tokens from
    /// `start` on; `start` is 1 or more.
    pub fn score(
        &self,
        whose: Whose<'_>,
        stream: Stream,
        start: usize,
        tails: Vec<Vec<i32>>,
    ) -> Result<Vec<f64>, ModelError> {
        let (reply, result) = bounded(1);
        self.ask(whose, stream, start - 1, Work::Score(Score::new(tails, reply)))?;
        wait(&result, whose.watch)
    }

    fn ask(
        &self,
        whose: Whose<'_>,
        stream: Stream,
        first_row: usize,
        work: Work,
    ) -> Result<(), ModelError> {
        let job = Job {
            stream,
            first_row,
            life: Arc::clone(whose.life),
            adapter: whose.adapter.cloned(),
            watch: whose.watch.clone(),
            work,
        };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LlamaConfig;

    #[test]
    fn a_panic_ends_the_jobs_at_hand_and_no_more() {
        let cache = std::env::var_os("XDG_CACHE_HOME")
            .map_or_else(|| std::env::home_dir().unwrap().join(".cache"), std::path::PathBuf::from);
        let path = cache.join("codegrep/models/smollm2-135m-instruct-q4_1.gguf");
        assert!(path.is_file(), "{} is missing: run `make model-fixtures`", path.display());
        let watch = Watch::idle();
        let weights = Weights::load(&LlamaConfig::new(path), &watch).unwrap();
        let size = Size { window: 512, cells: 512, sequences: 2, threads: 2 };
        let engine = Engine::start(weights, size).unwrap();
        let mut stream = Stream::default();
        stream.push(&[1, 9690, 198]);
        stream.cut(128);
        let life = Arc::default();
        let whose = Whose { life: &life, adapter: None, watch: &watch };
        let say = || engine.turn(whose, stream.clone(), 2, Sampling::GREEDY, None);
        let before = say().unwrap();
        // No such token: its logit is looked up past the end.
        let error = engine.score(whose, stream.clone(), 3, vec![vec![i32::MAX]]).unwrap_err();
        assert_eq!(error.to_string(), "the thread of the model failed");
        let after = say().unwrap();
        assert_eq!((after.ids, after.evaluated), (before.ids, 3));
    }
}
