//! The ways in. A front turns messages into jobs and answers into messages, and nothing else.

pub mod jsonrpc;
