//! The agent loop, identical in training and serving: a task text and a tree in, the few files it
//! is about out.
//!
//! Knows nothing about JSON-RPC, settings files or any particular model: models come in through
//! [`Chat`], repositories through `codegrep_tree::Tree`. Synchronous: one thread a request.

mod answer;
pub mod chat;
mod context;
mod conversation;
pub mod inject;
mod join;
pub mod limits;
mod pace;
mod pipeline;
pub mod profiles;
pub mod prompt;
pub mod record;
pub mod render;
mod rules;
pub mod syntax;
pub mod tools;
pub mod turns;

pub use chat::{
    Ask, Chat, Constraint, Encoder, Message, Model, ModelError, ModelInfo, Room, Sampling,
    TokenTrace, ToolResult, ToolSpec, Turn, TurnEnd, Usage,
};
pub use limits::Limits;
pub use pipeline::{AnswerError, Engine, Engines, Outcome, Request, Took, answer};
pub use record::{Episode, StopReason};
pub use rules::{Context, Rules};
