//! The ways in. A front turns messages into jobs and answers into messages, and nothing else.
//!
//! `jsonrpc` reads from a thread of its own. `lsp` and `mcp` are each a
//! `serve(service, reader, writer)` over any `AsyncRead` and `AsyncWrite`: a pair of pipes, a
//! socket, or a test's stream in memory. Neither knows stdin and stdout, and what belongs to one
//! client alone, such as its working folder, comes in with the [`Service`].

pub mod jsonrpc;
pub mod lsp;
pub mod mcp;
mod service;
#[cfg(test)]
mod testing;

use std::future::Future;

use serde::{Deserialize, Serialize};

pub use service::{PROGRESS, Service};

use crate::failure::Failure;

/// Which protocol a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    JsonRpc,
    Lsp,
    Mcp,
}

/// Runs an asynchronous front to its end.
pub fn wait_for(front: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::environment(format!("cannot serve: {error}")))?;
    let served = runtime.block_on(front);
    // A read of stdin blocks until the process ends: nothing waits for it.
    runtime.shutdown_background();
    served
}
