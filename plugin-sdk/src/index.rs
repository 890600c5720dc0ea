use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::method;

method!(
    IndexStatus, "index/status", IndexStatusParams => IndexStatusResponse,
    "The state of each root's index."
);
method!(
    IndexRefresh, "index/refresh", IndexStatusParams => IndexStatusResponse,
    "Brings each root's index up to date."
);

/// The index an answer was searched in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexInfo {
    /// Whether it is whole and fresh.
    pub state: IndexState,
    /// Files in it.
    pub files: u64,
    /// Whether git's history took part.
    pub git_signals: bool,
}

/// Whether an index is whole and fresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum IndexState {
    /// Whole and fresh.
    Ready,
    /// Not all files are in it.
    Partial,
    /// Files changed since, or there was no time to look for changes, or it was never built.
    Stale,
    /// The root is not indexed: refused or unreadable.
    Refused,
}

/// Which roots.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexStatusParams {
    /// Workspace roots: absolute paths or `file://` URIs, at least one.
    pub roots: Vec<String>,
}

/// One entry a root, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexStatusResponse {
    /// In the order asked.
    pub roots: Vec<RootStatus>,
}

/// A root's index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RootStatus {
    /// The root: an absolute path.
    pub root: String,
    /// Whether its index is whole and fresh.
    pub state: IndexState,
    /// Files in it.
    pub files: u64,
    /// Whether git's history takes part.
    pub git_signals: bool,
    /// Why it is refused, or what could not be read.
    pub warnings: Vec<String>,
}
