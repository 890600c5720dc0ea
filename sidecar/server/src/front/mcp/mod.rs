//! The Model Context Protocol, for coding agents: four read-only tools.
//!
//! [`serve`] speaks over any reader and writer and touches neither stdin nor stdout, so that a
//! socket serves as well as a pipe. The protocol itself (negotiating 2025-06-18, 2025-11-25 and
//! 2026-07-28 with its `server/discover`, ids, cancellation) is rmcp's.

mod roots;
mod server;
#[cfg(test)]
mod tests;
mod tools;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};

use super::Service;
use crate::failure::Failure;

/// Serves one client until its input ends.
///
/// # Errors
/// The client does not speak the protocol, or its output breaks before it has begun.
pub async fn serve(
    service: Service,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), Failure> {
    let transport = AsyncRwTransport::new_server(reader, writer)
        .with_max_line_length(codegrep_plugin_sdk::MAX_MESSAGE_BYTES);
    match server::Server::new(service).serve(transport).await {
        Ok(running) => {
            let ended = running.waiting().await;
            ended.map_err(|error| Failure::internal(format!("the MCP front ended: {error}")))?;
            Ok(())
        }
        // A client that only looked whether somebody is there.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Failure::usage(format!("the client does not speak MCP: {error}"))
            .hint("send `initialize` first; JSON-RPC clients use `codegrep serve --stdio`")),
    }
}
