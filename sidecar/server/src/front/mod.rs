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

pub use service::Service;
