use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use codegrep_agent::ModelError;
use serde_json::{Map, Value};
use tokio::runtime::{Builder, Handle, Runtime};

use super::RemoteConfig;
use super::dialect::Dialect;
use super::endpoint::Endpoint;
use super::fault::unavailable;

/// What all conversations with an endpoint share.
pub(super) struct Shared {
    pub endpoint: Endpoint,
    pub retries: u32,
    pub extra_body: Map<String, Value>,
    capacity: AtomicU32,
    dialect: Mutex<Dialect>,
    runtime: Option<Runtime>,
}

impl Shared {
    pub(super) fn new(config: &RemoteConfig) -> Result<Self, ModelError> {
        let endpoint = Endpoint::new(config)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("codegrep-remote")
            .enable_all()
            .build()
            .map_err(|error| {
                let message = format!("cannot start a thread for {}: {error}", endpoint.origin());
                unavailable(message, "raise this process's limit on threads or open files")
            })?;
        Ok(Self {
            endpoint,
            retries: config.retries,
            extra_body: config.extra_body.clone(),
            capacity: AtomicU32::new(config.context_tokens),
            dialect: Mutex::new(Dialect::new(config.tool_calls)),
            runtime: Some(runtime),
        })
    }

    pub(super) fn runtime(&self) -> Option<&Handle> {
        self.runtime.as_ref().map(Runtime::handle)
    }

    /// Tokens of the context window.
    pub(super) fn capacity(&self) -> u32 {
        self.capacity.load(Ordering::Relaxed)
    }

    /// The server says that its window is smaller than the settings have it.
    pub(super) fn shrink(&self, capacity: u32) {
        self.capacity.fetch_min(capacity, Ordering::Relaxed);
    }

    pub(super) fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn learn(&self, dialect: Dialect) {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner) = dialect;
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Waiting for it would panic when the last owner is itself an async task.
            runtime.shutdown_background();
        }
    }
}
