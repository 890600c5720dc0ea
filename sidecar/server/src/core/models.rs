use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use codegrep_agent::{Chat, Model, ModelError, ModelInfo};
use codegrep_model::ModelConfig;
use codegrep_tree::{Stop, Watch};

/// Models in memory; each is loaded once, at its first use, and kept.
#[derive(Default)]
pub struct Models {
    slots: Mutex<Vec<Arc<Slot>>>,
}

struct Slot {
    config: ModelConfig,
    /// Until it is loaded.
    name: String,
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
pub struct Lazy(Arc<Slot>);

/// A [`Watch`] wakes nobody, so waiters look at it this often.
const LOOK: Duration = Duration::from_millis(20);

impl Models {
    /// The model of `config`; `name` is what it is called until it is there. A model that failed
    /// is tried again.
    pub fn get(&self, config: &ModelConfig, name: &str) -> Lazy {
        let mut slots = lock(&self.slots);
        slots.retain(|slot| !matches!(*lock(&slot.state), State::Failed { .. }));
        if let Some(slot) = slots.iter().find(|slot| slot.config == *config) {
            return Lazy(Arc::clone(slot));
        }
        let slot = Arc::new(Slot {
            config: config.clone(),
            name: name.to_owned(),
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
        Lazy(slot)
    }

    /// The names of the models in memory.
    pub fn loaded(&self) -> Vec<String> {
        let slots = lock(&self.slots);
        let names = slots.iter().filter_map(|slot| match &*lock(&slot.state) {
            State::Ready(model, _) => Some(model.info().name),
            _ => None,
        });
        names.collect()
    }

    /// Whether this model is in memory.
    pub fn has(&self, config: &ModelConfig) -> bool {
        let slots = lock(&self.slots);
        let mut same = slots.iter().filter(|slot| slot.config == *config);
        same.any(|slot| matches!(*lock(&slot.state), State::Ready(..)))
    }
}

impl Slot {
    /// On a thread of its own, and to the end whoever gives up waiting: the next request has it.
    fn load(&self) {
        let began = Instant::now();
        let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            codegrep_model::open(&self.config, &Watch::idle())
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

impl Lazy {
    /// The model, and how long it took to load, once it is there.
    pub fn wait(&self, watch: &Watch) -> Result<(Arc<dyn Model>, Duration), ModelError> {
        let mut state = lock(&self.0.state);
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
            let waited = self.0.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Model for Lazy {
    fn info(&self) -> ModelInfo {
        match &*lock(&self.0.state) {
            State::Ready(model, _) => model.info(),
            _ => ModelInfo { name: self.0.name.clone(), hash: None, adapter: None },
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
