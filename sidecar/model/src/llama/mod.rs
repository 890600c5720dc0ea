//! A GGUF model run in this process by llama.cpp.

use std::sync::Arc;

use codegrep_agent::{Model, ModelError};
use codegrep_tree::Watch;

use crate::LlamaConfig;

/// Loads nothing yet.
pub fn open(config: &LlamaConfig, _watch: &Watch) -> Result<Arc<dyn Model>, ModelError> {
    Err(ModelError::Unavailable {
        message: format!("{}: llama.cpp is not wired in yet", config.path.display()),
        hint: String::new(),
    })
}
