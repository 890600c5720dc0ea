//! Any OpenAI-compatible chat completions endpoint: vLLM, llama-server, Ollama, hosted ones.
//!
//! The conversation is kept here and sent whole with every turn; the server's prefix cache sees
//! to it that nothing is read twice. Which parts of the API a server lacks is found out as it
//! rejects them. Nothing here is async to the outside: a [`codegrep_agent::Chat`] waits for its
//! reply *or* the cancel.

use std::sync::Arc;

use codegrep_agent::{Chat, Model, ModelError, ModelInfo};
use codegrep_tree::Watch;

mod chat;
mod config;
mod conversation;
mod dialect;
mod endpoint;
mod exchange;
mod fault;
mod receive;
mod reply;
mod request;
mod shared;
mod sse;

pub use config::{ApiKey, RemoteConfig, ToolCalls};
pub use endpoint::Offered;

use chat::{RemoteChat, wait};
use fault::{Fault, unavailable};
use shared::Shared;

/// Connects to nothing yet. Errors: `Unavailable` with what is wrong in the settings.
pub fn open(config: &RemoteConfig) -> Result<Arc<dyn Model>, ModelError> {
    Ok(Arc::new(RemoteModel { shared: Arc::new(Shared::new(config)?) }))
}

/// Asks the endpoint which models it offers. Errors say why it cannot be used.
pub fn probe(config: &RemoteConfig, watch: &Watch) -> Result<Vec<Offered>, ModelError> {
    let shared = Arc::new(Shared::new(config)?);
    let origin = shared.endpoint.origin();
    let asked = {
        let shared = shared.clone();
        async move { shared.endpoint.models().await }
    };
    wait(&shared, watch, asked)?.map_err(|fault| match fault {
        Fault::Final(error) | Fault::Unreached(error) | Fault::Passing { error, .. } => error,
        Fault::Rejected { status, text } => {
            unavailable(format!("{origin} answered {status}: {text}"), endpoint::WRONG_PLACE)
        }
        Fault::Overlong { .. } => unavailable(format!("{origin} lists no models"), ""),
    })
}

/// Whether requests to this address stay on this machine.
pub fn is_loopback(base_url: &str) -> bool {
    reqwest::Url::parse(base_url).is_ok_and(|url| crate::http::is_loopback(&url))
}

struct RemoteModel {
    shared: Arc<Shared>,
}

impl Model for RemoteModel {
    fn info(&self) -> ModelInfo {
        let endpoint = &self.shared.endpoint;
        let name = endpoint.known_model().map_or_else(|| endpoint.origin(), str::to_owned);
        ModelInfo { name, hash: None, adapter: None }
    }

    fn open(&self, watch: &Watch) -> Result<Box<dyn Chat>, ModelError> {
        watch.check()?;
        Ok(Box::new(RemoteChat::new(self.shared.clone())))
    }
}
