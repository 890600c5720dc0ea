//! The agent loop, identical in training and serving: a task text and a tree in, the few files it
//! is about out.
//!
//! Knows nothing about JSON-RPC, settings files or any particular model: models come in through
//! [`Chat`], repositories through `codegrep_tree::Tree`. Synchronous: one thread a request.

pub mod chat;
pub mod render;
pub mod tools;

pub use chat::{
    Ask, Chat, Constraint, Encoder, Message, Model, ModelError, ModelInfo, Room, Sampling,
    TokenTrace, ToolResult, ToolSpec, Turn, TurnEnd, Usage,
};
