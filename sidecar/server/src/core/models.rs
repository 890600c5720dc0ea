use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use codegrep_agent::{Chat, Model, ModelError, ModelInfo};
use codegrep_model::ModelConfig;
use codegrep_tree::{Stop, Watch};

use super::Chosen;

/// Models in memory; each is loaded at its first use and kept while there is room, as long as its
/// files stay as they are.
pub struct Models {
    /// The one that was used last is the last.
    slots: Mutex<Vec<Arc<Slot>>>,
    /// Bytes of weights to keep. Whatever its size, the one in use stays.
    cap: u64,
}

struct Slot {
    chosen: Chosen,
    /// Of each file it is loaded from: bytes, and when it was changed.
    files: Vec<(u64, Option<SystemTime>)>,
    state: Mutex<State>,
    changed: Condvar,
}

enum State {
    Loading,
    Ready(Arc<dyn Model>, Duration),
    Failed { message: String, hint: String },
}

/// A model that may still be loading. Loading began when this was made, so that it goes on while
/// a request ranks.
pub struct Lazy {
    slot: Arc<Slot>,
    /// It was in memory when it was asked for.
    pub was_loaded: bool,
}

/// A [`Watch`] wakes nobody, so waiters look at it this often.
const LOOK: Duration = Duration::from_millis(20);

impl Default for Models {
    fn default() -> Self {
        Self { slots: Mutex::default(), cap: Self::MEMORY_CAP }
    }
}

impl Models {
    /// Bytes of weights kept by default: two models of 7 billion parameters at four bits each.
    const MEMORY_CAP: u64 = 10 << 30;

    /// The model that was chosen. One that failed, or whose files were replaced, is loaded anew;
    /// requests at work keep what they have.
    pub fn get(&self, chosen: Chosen) -> Lazy {
        let files = files(&chosen.config);
        let mut slots = lock(&self.slots);
        slots.retain(|slot| {
            let failed = matches!(*lock(&slot.state), State::Failed { .. });
            !failed && (slot.chosen.config != chosen.config || slot.files == files)
        });
        if let Some(at) = slots.iter().position(|slot| slot.chosen == chosen) {
            let slot = slots.remove(at);
            slots.push(Arc::clone(&slot));
            let was_loaded = matches!(*lock(&slot.state), State::Ready(..));
            return Lazy { slot, was_loaded };
        }
        let mut left = self.cap.saturating_sub(bytes(&files));
        let mut kept: Vec<_> = std::mem::take(&mut *slots).into_iter().rev().collect();
        kept.retain(|slot| match left.checked_sub(bytes(&slot.files)) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        });
        slots.extend(kept.into_iter().rev());
        let slot = Arc::new(Slot {
            chosen,
            files,
            state: Mutex::new(State::Loading),
            changed: Condvar::new(),
        });
        slots.push(Arc::clone(&slot));
        let loading = Arc::clone(&slot);
        let spawned =
            thread::Builder::new().name("load model".into()).spawn(move || loading.load());
        if let Err(error) = spawned {
            slot.become_(State::Failed {
                message: format!("no thread can be started to load it: {error}"),
                hint: "wait until other requests have ended".into(),
            });
        }
        Lazy { slot, was_loaded: false }
    }

    /// The names of the models in memory.
    pub fn loaded(&self) -> Vec<String> {
        let slots = lock(&self.slots);
        let names = slots.iter().filter_map(|slot| match &*lock(&slot.state) {
            State::Ready(model, _) => Some(slot.chosen.info(&**model).name),
            _ => None,
        });
        names.collect()
    }

    /// Whether this model is in memory.
    pub fn has(&self, config: &ModelConfig) -> bool {
        let slots = lock(&self.slots);
        let mut same = slots.iter().filter(|slot| slot.chosen.config == *config);
        same.any(|slot| matches!(*lock(&slot.state), State::Ready(..)))
    }
}

impl Slot {
    /// On a thread of its own, and to the end whoever gives up waiting: the next request has it.
    fn load(&self) {
        let began = Instant::now();
        let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            codegrep_model::open(&self.chosen.config, &Watch::idle())
        }));
        self.become_(match opened {
            Ok(Ok(model)) => State::Ready(model, began.elapsed()),
            Ok(Err(error)) => {
                State::Failed { message: error.to_string(), hint: error.hint().to_owned() }
            }
            Err(_) => State::Failed {
                message: "loading it failed unexpectedly".into(),
                hint: "run `codegrep model verify`".into(),
            },
        });
    }

    fn become_(&self, state: State) {
        *lock(&self.state) = state;
        self.changed.notify_all();
    }
}

/// Of each file that a model is loaded from: bytes, and when it was changed.
fn files(config: &ModelConfig) -> Vec<(u64, Option<SystemTime>)> {
    let adapter = match config {
        ModelConfig::Llama(config) => config.adapter.as_ref().map(|adapter| &*adapter.path),
        _ => None,
    };
    let weights: Option<&Path> = match config {
        ModelConfig::Llama(config) => Some(&config.path),
        ModelConfig::Scripted(path) => Some(path),
        ModelConfig::OpenAi(_) => None,
    };
    let stamp =
        |path: &Path| path.metadata().map_or((0, None), |meta| (meta.len(), meta.modified().ok()));
    weights.into_iter().chain(adapter).map(stamp).collect()
}

fn bytes(files: &[(u64, Option<SystemTime>)]) -> u64 {
    files.iter().map(|(bytes, _)| bytes).sum()
}

impl Chosen {
    /// What it is, under the names it was asked for by: a file's own name may be another.
    fn info(&self, model: &dyn Model) -> ModelInfo {
        let info = model.info();
        match &self.config {
            ModelConfig::Llama(_) => {
                let adapter = self.adapter.clone().or(info.adapter);
                ModelInfo { name: self.name.clone(), adapter, ..info }
            }
            _ => info,
        }
    }
}

impl Lazy {
    /// What the model is once it is there, with the hash of its weights, which takes a while more;
    /// without where there is none by the end of `watch`.
    pub fn hashed(&self, watch: &Watch) -> Result<ModelInfo, ModelError> {
        self.wait(watch)?;
        let local = matches!(self.slot.chosen.config, ModelConfig::Llama(_));
        while local && self.info().hash.is_none() {
            match watch.check() {
                Ok(()) => thread::sleep(LOOK),
                Err(Stop::Deadline) => break,
                Err(Stop::Cancelled) => return Err(Stop::Cancelled.into()),
            }
        }
        Ok(self.info())
    }

    /// The model, and how long it took to load, once it is there.
    pub fn wait(&self, watch: &Watch) -> Result<(Arc<dyn Model>, Duration), ModelError> {
        let mut state = lock(&self.slot.state);
        loop {
            match &*state {
                State::Ready(model, took) => return Ok((Arc::clone(model), *took)),
                State::Failed { message, hint } => {
                    let (message, hint) = (message.clone(), hint.clone());
                    return Err(ModelError::Unavailable { message, hint });
                }
                State::Loading => {}
            }
            match watch.check() {
                Ok(()) => {}
                Err(Stop::Cancelled) => return Err(Stop::Cancelled.into()),
                Err(Stop::Deadline) => {
                    return Err(ModelError::Unavailable {
                        message: "it is still being loaded".into(),
                        hint: "ask again in a moment, or raise the time budget".into(),
                    });
                }
            }
            let waited = self.slot.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Model for Lazy {
    fn info(&self) -> ModelInfo {
        match &*lock(&self.slot.state) {
            State::Ready(model, _) => self.slot.chosen.info(&**model),
            _ => ModelInfo { name: self.slot.chosen.name.clone(), hash: None, adapter: None },
        }
    }

    fn open(&self, watch: &Watch) -> Result<Box<dyn Chat>, ModelError> {
        self.wait(watch)?.0.open(watch)
    }
}

/// A panic while a lock is held leaves plain data behind: it stays usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_replaced_with_their_files_and_dropped_above_the_cap() {
        let dir = tempfile::tempdir().unwrap();
        let models = Models { cap: 2500, ..Models::default() };
        let write = |name: &str, bytes: usize| {
            let script = format!("--- turn\n\n{}\n", "x".repeat(bytes));
            std::fs::write(dir.path().join(name), script).unwrap();
        };
        let load = |name: &str| {
            let config = ModelConfig::Scripted(dir.path().join(name));
            let lazy = models.get(Chosen { name: name.into(), adapter: None, config });
            lazy.wait(&Watch::idle()).unwrap();
            !lazy.was_loaded
        };
        for name in ["a", "b", "c"] {
            write(name, 1000);
        }
        assert_eq!(["a", "b", "a"].map(load), [true, true, false]);
        // `b` is the one that was not used for longest.
        assert_eq!(["c", "a", "b"].map(load), [true, false, true]);
        write("b", 1200);
        assert_eq!(["b", "b"].map(load), [true, false]);
    }
}
