//! What happened in a run, as data: enough to show it, to measure it, and to train on it.

use serde::{Deserialize, Serialize};

use crate::chat::{Message, ModelInfo, TokenTrace, TurnEnd, Usage};
use crate::profiles::Step;

/// Why a run ended. Every run has one, and keeps whatever was found by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model gave an answer.
    Answered,
    /// Malformed turns, one correction included.
    NoAnswer,
    Deadline,
    Cancelled,
    /// The turns were spent without an answer.
    Turns,
    /// The generation budget was spent without an answer.
    Tokens,
    /// Not even the answer fits into the context any more.
    ContextFull,
    ModelError,
    /// There was no model to run.
    NoModel,
}

impl StopReason {
    /// Whether a run that ends so would end so again: time, a cancel and a model that fails are
    /// no part of the question.
    pub fn is_reproducible(self) -> bool {
        match self {
            Self::Deadline | Self::Cancelled | Self::ModelError => false,
            Self::Answered
            | Self::NoAnswer
            | Self::Turns
            | Self::Tokens
            | Self::ContextFull
            | Self::NoModel => true,
        }
    }
}

/// One run of the loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// [`Episode::VERSION`] of the writer.
    pub version: u32,
    pub profile: String,
    pub rules_hash: String,
    pub model: ModelInfo,
    /// The conversation in order, nothing left out.
    pub events: Vec<Event>,
    /// The same as tokens; `None` where the model gives no token ids.
    pub stream: Option<Stream>,
    pub stop: StopReason,
    /// What went wrong, for `model_error`.
    pub error: Option<String>,
    /// The answer's files that exist, in its order.
    pub files: Vec<Found>,
    /// Files of the answer that do not exist and were dropped.
    pub unknown_paths: u32,
    /// The answer was forced early because time ran short.
    pub hurried: bool,
    /// Every turn was, and neither time nor a cancel nor a failure had a say.
    pub reproducible: bool,
    /// Wall time of the run, milliseconds.
    pub ms: u64,
}

/// One step of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Messages of ours, pushed together.
    Ours(Vec<Message>),
    /// What the model said.
    Turn(TurnRecord),
}

/// A turn of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnRecord {
    pub step: Step,
    pub text: String,
    pub end: TurnEnd,
    pub usage: Usage,
    /// Neither a call nor an answer, as the step allowed.
    pub malformed: bool,
    /// The calls in order; their results are the next event.
    pub calls: Vec<CallRecord>,
    /// Wall time of sampling and of the calls, milliseconds.
    pub model_ms: u64,
    pub tools_ms: u64,
}

/// A call and what came of it; the text of its result is in the event that follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// Empty when the call could not be read.
    pub name: String,
    pub arguments: serde_json::Map<String, serde_json::Value>,
    pub error: bool,
    pub hits: usize,
    pub cut: bool,
    /// Files whose content or name was shown.
    pub seen: Vec<String>,
    /// The lines that were shown, neighbours joined.
    pub shown: Vec<Shown>,
    pub ms: u64,
}

/// Lines `start..=end` of a file, 1-based.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    pub path: String,
    pub start: u32,
    pub end: u32,
}

/// A file of the answer that exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub path: String,
    /// 1-based, inclusive, within the file, sorted, apart.
    pub line_ranges: Vec<(u32, u32)>,
}

/// The whole token stream. The three vectors have one length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    pub ids: Vec<i32>,
    /// 1 where the model chose the token, 0 for ours and for those a grammar forced.
    pub mask: Vec<u8>,
    /// Log-softmax of the raw logits at the temperature; 0 for tokens of ours.
    pub logprobs: Vec<f32>,
}

impl Stream {
    /// Appends the tokens before a turn and its own.
    pub fn extend(&mut self, turn: &TokenTrace) {
        self.ids.extend(&turn.prompt);
        self.mask.resize(self.ids.len(), 0);
        self.logprobs.resize(self.ids.len(), 0.0);
        self.ids.extend(&turn.ids);
        self.mask.extend(turn.forced.iter().map(|forced| u8::from(!forced)));
        self.logprobs.extend(&turn.logprobs);
    }
}

impl Episode {
    /// Changes with the meaning of a field.
    pub const VERSION: u32 = 1;

    /// The turns of the model, corrections included.
    pub fn turns(&self) -> impl Iterator<Item = &TurnRecord> {
        self.events.iter().filter_map(|event| match event {
            Event::Turn(turn) => Some(turn),
            Event::Ours(_) => None,
        })
    }

    pub fn tool_calls(&self) -> usize {
        self.turns().map(|turn| turn.calls.len()).sum()
    }

    /// Prompt tokens and generated tokens of the run.
    pub fn tokens(&self) -> (u32, u32) {
        self.turns().fold((0, 0), |(prompt, generated), turn| {
            (prompt + turn.usage.prompt_new, generated + turn.usage.generated)
        })
    }
}
