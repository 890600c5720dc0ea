//! Profiles: what the model is told, how it writes calls and answers, and where it must end. The
//! loop never knows which one runs.

mod codegrep;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::chat::{Constraint, Message};
use crate::limits::Limits;
use crate::syntax::{AnswerFile, BadCall};
use crate::tools::Call;

pub use codegrep::CodeGrep;

/// What a turn may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Exploration turn `turn`, 1-based.
    Explore { turn: u32 },
    /// The answer; tools are off.
    Answer,
}

/// What the model said.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Calls in order; those that could not be read are errors at their place.
    Calls(Vec<Result<Call, BadCall>>),
    Answer(Vec<AnswerFile>),
    /// Neither a call nor an answer.
    Malformed,
}

/// A way of searching.
pub trait Profile: Send + Sync {
    /// As settings and answers name it.
    fn name(&self) -> &'static str;
    fn limits(&self) -> &Limits;
    /// The messages before the first turn; the last is the task. `context` is the text of the
    /// lexical candidates, empty without them.
    fn opening(&self, task: &str, context: &str) -> Vec<Message>;
    /// What the turn may be. `seen` are the files the model was shown so far.
    fn constraint(&self, step: Step, seen: &BTreeSet<String>) -> Constraint;
    /// Reads a turn. In the answer step calls are read only where there is no answer.
    fn read(&self, text: &str, step: Step) -> Said;
    /// Asks for the answer after the last exploration turn; `None` where the profile forces none
    /// and the run ends there.
    fn ask_answer(&self) -> Option<&str>;
    /// Said once after a malformed turn.
    fn correction(&self, step: Step) -> &str;
}
