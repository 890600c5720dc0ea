use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

/// Where an OpenAI-compatible endpoint is, which of its models to ask, and how patiently.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoteConfig {
    /// Such as `http://localhost:8080/v1`; without a path, `/v1` is meant.
    pub base_url: String,
    /// The model's name there; empty where the server has only one.
    pub model: String,
    /// Sent as a bearer token.
    pub api_key: Option<ApiKey>,
    /// The environment variable that holds the key, read when `api_key` is not given.
    pub api_key_env: Option<String>,
    /// The model's context window, in tokens. A server that reports a smaller one wins.
    pub context_tokens: u32,
    /// How tools reach the model.
    pub tool_calls: ToolCalls,
    /// Sent with every request beside what it consists of, and instead of it where both have a
    /// name: `{"chat_template_kwargs": {"enable_thinking": false}}`, `{"reasoning_effort": "low"}`.
    pub extra_body: Map<String, Value>,
    /// How often a request is sent again after a fault that may pass (429, 5xx, a broken or
    /// refused connection).
    pub retries: u32,
    /// To an accepted connection, TLS included.
    pub connect_timeout_ms: u64,
    /// From the request to the first piece of the answer: reading a long prompt without a GPU
    /// takes minutes.
    pub first_token_timeout_ms: u64,
    /// Between two pieces of an answer.
    pub idle_timeout_ms: u64,
}

impl RemoteConfig {
    /// The defaults for this endpoint and model.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self { base_url: base_url.into(), model: model.into(), ..Self::default() }
    }

    pub(super) fn timeouts(&self) -> Timeouts {
        Timeouts {
            connect: Duration::from_millis(self.connect_timeout_ms),
            first: Duration::from_millis(self.first_token_timeout_ms),
            idle: Duration::from_millis(self.idle_timeout_ms),
        }
    }
}

impl Default for RemoteConfig {
    fn default() -> Self {
        Self {
            base_url: String::new(),
            model: String::new(),
            api_key: None,
            api_key_env: None,
            context_tokens: 32_768,
            tool_calls: ToolCalls::Auto,
            extra_body: Map::new(),
            retries: 4,
            connect_timeout_ms: 10_000,
            first_token_timeout_ms: 180_000,
            idle_timeout_ms: 60_000,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    pub connect: Duration,
    pub first: Duration,
    pub idle: Duration,
}

/// How tools reach the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolCalls {
    /// Through the API's `tools`; in the text where the server rejects those.
    #[default]
    Auto,
    /// Through the API's `tools` only.
    Native,
    /// Described in the system text and parsed out of the model's text.
    Text,
}

/// A key that no log or error shows.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ApiKey(String);

impl ApiKey {
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for ApiKey {
    fn from(key: String) -> Self {
        Self(key)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let config = RemoteConfig {
            api_key: Some(String::from("sk-secret").into()),
            ..RemoteConfig::new("http://localhost/v1", "m")
        };
        assert!(!format!("{config:?}").contains("secret"));
    }
}
