use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::{method, null_as_default};

method!(
    Feedback, "feedback", FeedbackParams => FeedbackResponse,
    "What became of an answer; kept in a log on this machine only."
);

/// What became of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackParams {
    /// The `sessionId` of the request it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What is known of single files.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(with = "Option<Vec<FeedbackFile>>")]
    pub files: Vec<FeedbackFile>,
    /// A person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What is known of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackFile {
    /// The root: an absolute path.
    pub root: String,
    /// Relative to the root, forward slashes.
    pub path: String,
    /// What happened to it.
    pub signal: FeedbackSignal,
}

/// What happened to a file after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FeedbackSignal {
    /// A person or agent opened it.
    Opened,
    /// The fix edited it.
    Edited,
    /// A person says it was right.
    Useful,
    /// A person says it was wrong.
    NotUseful,
}

/// Whether it was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackResponse {
    /// False when the user switched the log off.
    pub stored: bool,
}
