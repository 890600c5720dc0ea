use std::path::PathBuf;

use crate::remote::RemoteConfig;

/// Which model to open, and how.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelConfig {
    /// A GGUF file, run in this process.
    Llama(LlamaConfig),
    /// An OpenAI-compatible endpoint.
    OpenAi(RemoteConfig),
    /// A file of turns to play.
    Scripted(PathBuf),
}

/// A GGUF file and how to run it. Everything but `path` has a default ([`LlamaConfig::new`]).
#[derive(Debug, Clone, PartialEq)]
pub struct LlamaConfig {
    /// The weights.
    pub path: PathBuf,
    /// A LoRA adapter on top of them.
    pub adapter: Option<AdapterConfig>,
    /// Context window of one conversation, in tokens. `None`: the training context, at most
    /// 16,384.
    pub n_ctx: Option<u32>,
    /// Conversations that can hold cache at the same time; they share one context.
    pub sequences: u32,
    /// Threads to compute with. `None`: the physical cores.
    pub threads: Option<u32>,
    /// Layers to put on the GPU where this build has a GPU backend; `u32::MAX` is all.
    pub gpu_layers: u32,
    /// Folder where hashes of weights are remembered. `None`: hash again in each process.
    pub cache_dir: Option<PathBuf>,
}

impl LlamaConfig {
    /// The defaults for this file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            adapter: None,
            n_ctx: None,
            sequences: 8,
            threads: None,
            gpu_layers: u32::MAX,
            cache_dir: None,
        }
    }
}

/// A LoRA adapter in a GGUF file.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterConfig {
    /// The adapter.
    pub path: PathBuf,
    /// What its change is multiplied by; 1 as trained.
    pub scale: f32,
}
