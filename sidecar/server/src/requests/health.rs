use codegrep_plugin_sdk::{HealthResponse, QueueInfo};

use crate::core::Engines;

/// `health`: answered at once, whatever else runs.
pub fn health(engines: &Engines, queue: QueueInfo) -> HealthResponse {
    HealthResponse {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        uptime_ms: u64::try_from(engines.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        queue,
        loaded_models: engines.models.loaded(),
    }
}
