use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::Notification;

/// A request's id, chosen by the client.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RequestId {
    /// A number.
    Number(serde_json::Number),
    /// A string.
    Text(String),
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// Names the request a progress notification belongs to; chosen by the client.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ProgressToken {
    /// An integer.
    Number(i64),
    /// A string.
    Text(String),
}

/// `$/cancelRequest`, from the client.
#[derive(Debug, Clone, Copy)]
pub enum Cancel {}

impl Notification for Cancel {
    const NAME: &'static str = "$/cancelRequest";
    type Params = CancelParams;
}

/// Which request to cancel. It is still answered: with an error of code -32800.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelParams {
    /// The id of the request.
    pub id: RequestId,
}

/// `retrieve/progress`, from the server, to a request that gave a `progressToken`.
#[derive(Debug, Clone, Copy)]
pub enum RetrieveProgress {}

impl Notification for RetrieveProgress {
    const NAME: &'static str = "retrieve/progress";
    type Params = RetrieveProgressNotification;
}

/// How far a request is. Throttled: some steps are never shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetrieveProgressNotification {
    /// The token of the request.
    pub progress_token: ProgressToken,
    /// Which part is at work.
    pub stage: ProgressStage,
    /// Turns so far.
    pub turn: u32,
    /// Tool calls so far.
    pub tool_calls: u32,
    /// A few words for a person.
    pub message: String,
    /// Paths found so far, best first, once they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Vec<String>>,
}

/// Which part of a request is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProgressStage {
    /// Listing and indexing.
    Index,
    /// Ranking.
    Rank,
    /// The agent loop.
    Model,
}
