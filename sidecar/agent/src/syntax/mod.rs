//! What models write, and the grammars that keep them to it: tool calls and the final answer.
//!
//! Reading is tolerant, since remote models follow no grammar; writing (grammars, examples) knows
//! one form only, the one Qwen was trained on.

mod answer;
mod calls;
pub mod grammar;

pub use answer::{AnswerFile, answer};
pub use calls::{BadCall, calls};
