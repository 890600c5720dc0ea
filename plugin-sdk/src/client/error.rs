use std::io;
use std::time::Duration;

use crate::{MAX_MESSAGE_BYTES, PROTOCOL_VERSION, RpcError};

/// Why a call gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The command could not be started.
    #[error("{program} could not be started: {source}")]
    Spawn {
        /// As given.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The server answered with an error.
    #[error(transparent)]
    Server(#[from] RpcError),
    /// The server ended, or closed its output, before it answered.
    #[error("the server ended before it answered ({status}){}", said(.stderr))]
    Died {
        /// Such as `exit status: 1` or `signal: 9 (SIGKILL)`.
        status: String,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// No answer in time; the request was cancelled.
    #[error("no answer within {0:?}; the request was cancelled")]
    Timeout(Duration),
    /// The request passes the limit on messages and was not sent.
    #[error("a request of {0} bytes is too large ({MAX_MESSAGE_BYTES} at most)")]
    TooLarge(usize),
    /// The server speaks another version of the protocol.
    #[error("the server speaks protocol version {0}, this client {PROTOCOL_VERSION}")]
    Version(u32),
    /// The server wrote what is no message of the protocol.
    #[error("the server broke the protocol: {0}")]
    Protocol(String),
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn said(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; it said:\n{stderr}") }
}
