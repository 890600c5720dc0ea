//! What the domain says, as the wire says it. The only place where the two meet.

mod retrieve;

use codegrep_plugin_sdk::{
    Notification, ProgressStage, ProgressToken, RetrieveProgress, RetrieveProgressNotification,
    RpcError,
};
use codegrep_tree::{Event, Stage};
use jsonrpsee::types::ErrorObjectOwned;

pub use retrieve::{late, response, state};

use crate::failure::Failure;

/// Of an error's message.
const MOST_CHARS: usize = 2000;

/// A failure as an error of JSON-RPC.
pub fn error(failure: Failure) -> ErrorObjectOwned {
    let RpcError { code, message, data } = failure.into();
    // It may quote what the client sent, however long that was.
    let message: String = message.chars().take(MOST_CHARS).collect();
    ErrorObjectOwned::owned(code, message, Some(data))
}

/// `retrieve/progress` as a line.
pub fn progress(token: &ProgressToken, event: Event) -> Option<Vec<u8>> {
    let params = RetrieveProgressNotification {
        progress_token: token.clone(),
        stage: match event.stage {
            Stage::Index => ProgressStage::Index,
            Stage::Rank => ProgressStage::Rank,
            Stage::Model => ProgressStage::Model,
        },
        turn: event.turn,
        tool_calls: event.tool_calls,
        message: event.message,
        candidates: event.candidates,
    };
    let message = serde_json::json!({
        "jsonrpc": "2.0", "method": RetrieveProgress::NAME, "params": params,
    });
    serde_json::to_vec(&message).ok()
}
