//! The Language Server Protocol, for editors.
//!
//! [`serve`] speaks over any reader and writer and touches neither stdin nor stdout, so that a
//! socket serves as well as a pipe. The protocol itself (framing, ids, `$/cancelRequest`) is
//! tower-lsp's: a cancelled handler's future is dropped, and with it the request it waits for.

mod actions;
mod documents;
mod find;
mod position;
mod server;
mod symbols;
#[cfg(test)]
mod tests;

use tokio::io::{AsyncRead, AsyncWrite};
use tower_lsp::{LspService, Server};

use super::Service;

/// Messages handled at the same time. Notifications count among them, and a cancel that waits for
/// its request would never come: so there are more than the core takes requests.
const HANDLED: usize = 1000;

/// Serves one client until it says `exit` or its input ends.
pub async fn serve(service: Service, reader: impl AsyncRead + Unpin, writer: impl AsyncWrite) {
    let (lsp, socket) = LspService::new(|client| server::Backend::new(client, service));
    Server::new(reader, writer, socket).concurrency_level(HANDLED).serve(lsp).await;
}
