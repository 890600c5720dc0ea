//! The models behind [`codegrep_agent::Model`]: llama.cpp in this process, any OpenAI-compatible
//! endpoint, and a script of turns. [`open`] is the only way in.

use std::sync::Arc;

use codegrep_agent::{Model, ModelError};
use codegrep_tree::Watch;

mod config;
mod gguf;
mod http;
#[cfg(feature = "llama")]
pub mod llama;
pub mod remote;
pub mod scripted;
pub mod store;

pub use config::{AdapterConfig, LlamaConfig, ModelConfig};

/// Opens the model that `config` names. Loading a large file may take seconds; `watch` stops it.
pub fn open(config: &ModelConfig, watch: &Watch) -> Result<Arc<dyn Model>, ModelError> {
    watch.check()?;
    match config {
        #[cfg(feature = "llama")]
        ModelConfig::Llama(config) => llama::open(config, watch),
        #[cfg(not(feature = "llama"))]
        ModelConfig::Llama(config) => Err(ModelError::Unavailable {
            message: format!("cannot run {}: built without llama.cpp", config.path.display()),
            hint: "build with `--features llama`, or name an OpenAI-compatible endpoint".into(),
        }),
        ModelConfig::OpenAi(config) => remote::open(config),
        ModelConfig::Scripted(path) => scripted::open(path),
    }
}
