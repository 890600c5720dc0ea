//! A GGUF model run in this process by llama.cpp.
//!
//! A conversation is a list of tokens ([`chat`]). Each turn goes as a job to the one thread that
//! owns the context ([`engine`], [`owner`]), which evaluates the jobs of all conversations together
//! and reuses whatever prefix of them is cached ([`slots`]).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, TryLockError, Weak};
use std::time::{Duration, SystemTime};

use codegrep_agent::{Chat, Model, ModelError, ModelInfo};
use codegrep_tree::Watch;

use self::chat::LlamaChat;
use self::engine::{Engine, Size};
use self::weights::{Adapter, Weights};
use crate::LlamaConfig;

mod chat;
mod context;
mod cut;
mod engine;
mod grammar;
mod hash;
mod job;
mod owner;
mod sample;
mod score;
mod slots;
mod stream;
mod turn;
mod weights;

/// Most tokens of a conversation unless the settings say otherwise.
const WINDOW: u32 = 16_384;
/// Most bytes of cache unless the settings say otherwise.
const CACHE_BYTES: u64 = 2 << 30;

/// Loads the model, or shares it with whoever runs it already: with another adapter, say.
pub(crate) fn open(config: &LlamaConfig, watch: &Watch) -> Result<Arc<dyn Model>, ModelError> {
    let engine = engine(config, watch)?;
    let adapter = match &config.adapter {
        Some(adapter) => Some(Arc::new(Adapter::load(&engine.weights, adapter)?)),
        None => None,
    };
    let hash = hash::in_background(&config.path, config.cache_dir.as_deref());
    Ok(Arc::new(Llama { engine, adapter, name: weights::stem(&config.path), hash }))
}

struct Llama {
    engine: Arc<Engine>,
    adapter: Option<Arc<Adapter>>,
    name: String,
    /// Not set before the file was read through.
    hash: Arc<OnceLock<String>>,
}

impl Model for Llama {
    fn info(&self) -> ModelInfo {
        ModelInfo {
            name: self.name.clone(),
            hash: self.hash.get().cloned(),
            adapter: self.adapter.as_ref().map(|adapter| adapter.name.clone()),
        }
    }

    fn open(&self, watch: &Watch) -> Result<Box<dyn Chat>, ModelError> {
        watch.check()?;
        Ok(Box::new(LlamaChat::new(Arc::clone(&self.engine), self.adapter.clone())))
    }
}

/// What makes two settings run the same engine.
#[derive(PartialEq)]
struct Key {
    path: PathBuf,
    modified: Option<SystemTime>,
    bytes: u64,
    /// All but the adapter.
    config: LlamaConfig,
}

/// The engines of this process: weights are large, so whoever asks for the same shares them.
static ENGINES: Mutex<Vec<(Key, Weak<Engine>)>> = Mutex::new(Vec::new());

fn engine(config: &LlamaConfig, watch: &Watch) -> Result<Arc<Engine>, ModelError> {
    let path = &config.path;
    let missing = |error: std::io::Error| {
        weights::unavailable(path, &error.to_string(), "`codegrep model list` shows what is there")
    };
    let meta = path.metadata().map_err(missing)?;
    let key = Key {
        path: path.canonicalize().map_err(missing)?,
        modified: meta.modified().ok(),
        bytes: meta.len(),
        config: LlamaConfig { adapter: None, cache_dir: None, ..config.clone() },
    };
    // Another may be loading for seconds.
    let mut engines = loop {
        match ENGINES.try_lock() {
            Ok(engines) => break engines,
            Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                watch.check()?;
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    };
    engines.retain(|(_, engine)| engine.strong_count() > 0);
    if let Some(engine) =
        engines.iter().find(|(own, _)| *own == key).and_then(|own| own.1.upgrade())
    {
        return Ok(engine);
    }
    let weights = Weights::load(config, watch)?;
    let size = size(config, &weights);
    let engine = Arc::new(Engine::start(weights, size)?);
    engines.push((key, Arc::downgrade(&engine)));
    Ok(engine)
}

fn size(config: &LlamaConfig, weights: &Weights) -> Size {
    let trained = weights.model().n_ctx_train();
    let affordable = CACHE_BYTES / weights.cache_bytes_per_token().max(1);
    let affordable = u32::try_from(affordable).unwrap_or(u32::MAX);
    let window = match config.n_ctx {
        Some(asked) if asked > trained => {
            tracing::warn!(asked, trained, "the context is cut to what the model was trained on");
            trained
        }
        Some(asked) => asked,
        None => trained.min(WINDOW).min(affordable),
    };
    // llama.cpp rounds up to this.
    let window = window.max(256).next_multiple_of(256);
    Size {
        window,
        cells: window.saturating_mul(2).min(affordable).max(window).next_multiple_of(256),
        sequences: config.sequences.clamp(1, 32),
        threads: config.threads.unwrap_or_else(cores).clamp(1, 512),
    }
}

/// Processors this process may use; two that share a core count as one, for they share what
/// computing needs.
fn cores() -> u32 {
    let allowed = std::thread::available_parallelism().map_or(1, |count| count.get());
    let mut cores = std::collections::HashSet::new();
    for cpu in 0..1024 {
        let file = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let Ok(siblings) = fs_err::read_to_string(file) else { break };
        cores.insert(siblings);
    }
    let physical = if cores.is_empty() { allowed } else { cores.len() };
    allowed.min(physical) as u32
}
