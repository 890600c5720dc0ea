//! Any OpenAI-compatible endpoint.

use std::sync::Arc;

use codegrep_agent::{Model, ModelError};

/// Where the endpoint is and which of its models to ask.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteConfig {
    /// Such as `http://localhost:8080/v1`.
    pub base_url: String,
    /// The model's name there.
    pub model: String,
    /// Sent as a bearer token.
    pub api_key: Option<String>,
}

/// Connects to nothing yet.
pub fn open(config: &RemoteConfig) -> Result<Arc<dyn Model>, ModelError> {
    Err(ModelError::Unavailable {
        message: format!("{}: endpoints are not supported yet", config.base_url),
        hint: String::new(),
    })
}
