//! CodeGrep's wire protocol, version 1: the only definition of its requests, results, notifications
//! and errors, and a typed client that speaks it to a `codegrep serve --stdio` process.
//!
//! JSON-RPC 2.0, UTF-8, one message a line, camelCase. Unknown fields are ignored; unknown enum
//! values are errors. `schema.json` and `openrpc.json` are generated from these types.
//!
//! Knows nothing about repositories, ranking or models.

mod client;
mod error;
mod feedback;
mod files;
mod index;
mod lifecycle;
mod method;
mod model;
mod progress;
mod retrieve;
mod schema;

pub use client::{Call, CancelHandle, Client, ClientError};
pub use error::{ErrorData, ErrorKind, RpcError, code};
pub use feedback::{Feedback, FeedbackFile, FeedbackParams, FeedbackResponse, FeedbackSignal};
pub use files::{
    FileRef, FilesGlob, FilesGrep, FilesRead, GlobParams, GlobResponse, GrepMatch, GrepParams,
    GrepResponse, ReadParams, ReadResponse,
};
pub use index::{
    IndexInfo, IndexRefresh, IndexState, IndexStatus, IndexStatusParams, IndexStatusResponse,
    RootStatus,
};
pub use lifecycle::{
    Capabilities, Health, HealthResponse, Initialize, InitializeParams, InitializeResponse,
    NoParams, PeerInfo, QueueInfo, Shutdown, ShutdownResponse,
};
pub use method::{Method, Notification};
pub use model::{
    AdapterLoad, AdapterLoadParams, AdapterLoadResponse, ListedModel, ModelList, ModelListResponse,
    ModelLoad, ModelLoadParams, ModelLoadResponse,
};
pub use progress::{
    Cancel, CancelParams, ProgressStage, ProgressToken, RequestId, RetrieveProgress,
    RetrieveProgressNotification,
};
pub use retrieve::{
    Context, Engine, EngineKind, Evidence, EvidenceKind, Gate, Ms, OpenFile, Retrieve,
    RetrieveParams, RetrieveResponse, RetrievedFile, Source, Stop, Tokens, Verdict, VerdictKind,
};
pub use schema::{json_schema, openrpc};

/// The protocol version these types describe.
pub const PROTOCOL_VERSION: u32 = 1;

/// The most bytes of one message, the newline not counted; a server answers a longer one with
/// [`code::TOO_LARGE`].
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;
