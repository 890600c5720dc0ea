use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::{method, null_as_default};

method!(
    Initialize, "initialize", InitializeParams => InitializeResponse,
    "Agrees on the protocol version. First, but not required."
);
method!(Health, "health", NoParams => HealthResponse, "Whether the server is well; never waits.");
method!(
    Shutdown, "shutdown", NoParams => ShutdownResponse,
    "Cancels what runs, answers, and ends the process. End of input does the same."
);

/// An empty object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoParams {}

/// Who connects, and what it speaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The highest protocol version the client speaks.
    #[schemars(range(min = 1))]
    pub protocol_version: u32,
    /// For logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_info: Option<PeerInfo>,
}

/// Name and version of a peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PeerInfo {
    /// Such as `codegrep`.
    pub name: String,
    /// Such as `0.1.0`.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(with = "Option<String>")]
    pub version: String,
}

/// What the server is and can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResponse {
    /// The version both will speak: the lower of the two.
    pub protocol_version: u32,
    /// Name and version of the server.
    pub server_info: PeerInfo,
    /// What this build can do.
    pub capabilities: Capabilities,
}

/// What a build can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// The methods that are served.
    pub methods: Vec<String>,
    /// The profiles a request may name.
    pub profiles: Vec<String>,
    /// Optional parts built in, such as `llama` or `cuda`.
    pub features: Vec<String>,
    /// The most bytes of one message.
    pub max_message_bytes: u64,
}

/// How the server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthResponse {
    /// The server's version.
    pub version: String,
    /// Milliseconds since it started.
    pub uptime_ms: u64,
    /// What it is at.
    pub queue: QueueInfo,
    /// Models in memory.
    pub loaded_models: Vec<String>,
}

/// What the server is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueInfo {
    /// Requests at work.
    pub running: u32,
    /// Requests that wait for a worker.
    pub waiting: u32,
    /// Workers.
    pub workers: u32,
    /// How many may wait before more are refused as overload.
    pub capacity: u32,
}

/// An empty object: the server ends after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownResponse {}
