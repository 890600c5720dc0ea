use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The codes an error may carry: JSON-RPC 2.0's own and this protocol's.
pub mod code {
    /// The line is no JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// JSON, but no request: a wrong `jsonrpc`, a bad id, an id already in flight.
    pub const INVALID_REQUEST: i32 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// A missing or wrong parameter.
    pub const INVALID_PARAMS: i32 = -32602;
    /// A fault of the server's own.
    pub const INTERNAL_ERROR: i32 = -32603;
    /// The client cancelled the request.
    pub const CANCELLED: i32 = -32800;
    /// The root is missing, no folder, or refused (a home folder, `/`).
    pub const ROOT_REFUSED: i32 = -32001;
    /// The message passes [`crate::MAX_MESSAGE_BYTES`].
    pub const TOO_LARGE: i32 = -32002;
    /// The queue is full, or no worker came free within the request's budget.
    pub const OVERLOADED: i32 = -32003;
}

/// Who can do something about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ErrorKind {
    /// The request is wrong.
    User,
    /// A setting is wrong.
    Config,
    /// The machine: a file, a permission, the network, load.
    Environment,
    /// A fault of CodeGrep's own.
    Internal,
}

/// `data` of every error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    /// Who can do something about it.
    pub kind: ErrorKind,
    /// What to do next; empty when nothing is to be done.
    pub hint: String,
}

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[error("{message}")]
pub struct RpcError {
    /// One of [`code`].
    pub code: i32,
    /// What happened and why.
    pub message: String,
    /// Class and next step.
    pub data: ErrorData,
}

impl RpcError {
    /// An error of the given code and class.
    pub fn new(
        code: i32,
        kind: ErrorKind,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { code, message: message.into(), data: ErrorData { kind, hint: hint.into() } }
    }
}
