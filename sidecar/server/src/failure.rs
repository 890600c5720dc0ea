//! Errors as people and clients see them. Libraries' errors are classified here, once.

use codegrep_plugin_sdk::{ErrorKind, RpcError, code};
use codegrep_tree::Stop;

/// Why a command or a request gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Who can do something about it.
    pub kind: ErrorKind,
    /// The code on the wire.
    pub code: i32,
    /// What happened and why.
    pub message: String,
    /// What to do next; empty when nothing is to be done.
    pub hint: String,
}

impl Failure {
    /// With a code of its own.
    pub fn wire(kind: ErrorKind, code: i32, message: impl Into<String>) -> Self {
        Self { kind, code, message: message.into(), hint: String::new() }
    }

    /// The command line or the request is wrong: exit code 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::wire(ErrorKind::User, code::INVALID_PARAMS, message)
    }

    /// A setting is wrong.
    pub fn config(message: impl Into<String>) -> Self {
        Self::wire(ErrorKind::Config, code::INTERNAL_ERROR, message)
    }

    /// The machine is in the way.
    pub fn environment(message: impl Into<String>) -> Self {
        Self::wire(ErrorKind::Environment, code::INTERNAL_ERROR, message)
    }

    /// A fault of ours.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::wire(ErrorKind::Internal, code::INTERNAL_ERROR, message).hint(
            "this is a fault of codegrep: please report it with the output of `codegrep doctor`",
        )
    }

    /// With what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// As a line of its own, where the work goes on all the same.
    pub fn into_warning(self) -> String {
        if self.hint.is_empty() { self.message } else { format!("{}; {}", self.message, self.hint) }
    }

    /// Whether the work was stopped rather than failed.
    pub fn is_stop(&self) -> bool {
        self.code == code::CANCELLED
    }

    /// 2 for bad usage, 1 for the rest.
    pub fn exit_code(&self) -> u8 {
        if self.code == code::INVALID_PARAMS { 2 } else { 1 }
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Cancelled => {
                Self::wire(ErrorKind::User, code::CANCELLED, "the request was cancelled")
            }
            Stop::Deadline => Self::environment("the time budget is spent")
                .hint("raise the budget, or ask for less"),
        }
    }
}

impl From<Failure> for RpcError {
    fn from(failure: Failure) -> Self {
        RpcError::new(failure.code, failure.kind, failure.message, failure.hint)
    }
}
