//! What a model is to the loop: a conversation that only ever grows.

use codegrep_tree::{Stop, Watch};
use serde::{Deserialize, Serialize};

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments object.
    pub parameters: serde_json::Value,
}

/// What a tool call gave, in the order the calls were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    pub tool: String,
    pub text: String,
}

/// One message of ours. The model's own turns are never pushed: a [`Chat`] keeps the tokens it
/// sampled, verbatim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// First, once. `tools` is rendered into the prompt, or sent beside it where the endpoint has
    /// a place of its own for it.
    System {
        text: String,
        tools: Vec<ToolSpec>,
    },
    User(String),
    /// A turn written by us as an example, in the profile's call syntax.
    Assistant(String),
    /// The results of the turn before: one for each call, in order.
    Tools(Vec<ToolResult>),
}

/// What the next turn may be.
#[derive(Debug, Clone, PartialEq)]
pub enum Constraint {
    /// Anything.
    Free,
    /// Between one and `max` tool calls, or the final answer where `or_answer` allows it;
    /// `grammar` (GBNF, root rule `root`) describes both.
    Calls { max: usize, or_answer: bool, grammar: String },
    /// The final answer, tools switched off; `schema` is its JSON Schema, `grammar` its GBNF.
    Answer { grammar: String, schema: serde_json::Value },
}

/// How to pick tokens. [`Sampling::GREEDY`] when serving.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// 0 is greedy.
    pub temperature: f32,
    /// 1 is off.
    pub top_p: f32,
    /// 0 is off.
    pub top_k: i32,
    pub seed: u32,
}

impl Sampling {
    pub const GREEDY: Self = Self { temperature: 0.0, top_p: 1.0, top_k: 0, seed: 0 };
}

/// A request for one turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    pub constraint: Constraint,
    pub max_tokens: u32,
    pub sampling: Sampling,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// The model closed its turn, or the grammar was complete.
    Stop,
    /// `max_tokens` or the context was full.
    Length,
}

/// Tokens a turn cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Prompt tokens new since the last turn.
    pub prompt_new: u32,
    /// Prompt tokens the model really evaluated for this turn; equals `prompt_new` when the
    /// cache was reused whole. `None` where the endpoint does not say.
    pub evaluated: Option<u32>,
    pub generated: u32,
}

/// The sampled tokens of a turn, for training.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenTrace {
    /// The tokens between the turn before and this one: ours, never sampled. With `ids` of every
    /// turn in order they make the whole stream.
    pub prompt: Vec<i32>,
    /// What was sampled, the end marker included where the model set it.
    pub ids: Vec<i32>,
    /// Log-softmax of the raw logits at the temperature, before top-k, top-p and grammar; same
    /// length as `ids`.
    pub logprobs: Vec<f32>,
    /// True where the grammar left the model no choice: such tokens get loss mask 0.
    pub forced: Vec<bool>,
}

/// What the model said.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Its text in the profile's call syntax, without end-of-turn markers.
    pub text: String,
    pub end: TurnEnd,
    pub usage: Usage,
    /// Greedy, and never evaluated beside another conversation (whose presence may change the
    /// last bits of the logits): asking again gives the same text.
    pub reproducible: bool,
    /// `None` where the endpoint gives no token ids.
    pub trace: Option<TokenTrace>,
}

/// Tokens of the context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub used: u32,
    pub capacity: u32,
}

impl Room {
    pub fn left(self) -> u32 {
        self.capacity.saturating_sub(self.used)
    }
}

/// Why a model gave no turn.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error(transparent)]
    Stopped(#[from] Stop),
    /// The conversation no longer fits; nothing was pushed.
    #[error("the context of {capacity} tokens is full ({needed} more needed)")]
    Full { needed: u32, capacity: u32 },
    /// The model or its server cannot serve: a missing or broken file, a refused connection.
    #[error("{message}")]
    Unavailable { message: String, hint: String },
    /// The server answered something that is not what it promised.
    #[error("{message}")]
    Protocol { message: String, hint: String },
    /// The caller used a chat out of order, or asked what this model cannot do.
    #[error("{0}")]
    Misuse(String),
}

impl ModelError {
    /// What to do next; empty when nothing is to be done.
    pub fn hint(&self) -> &str {
        match self {
            Self::Unavailable { hint, .. } | Self::Protocol { hint, .. } => hint,
            _ => "",
        }
    }
}

/// What answers carry about the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Short name, such as `qwen2.5-coder-0.5b`.
    pub name: String,
    /// SHA-256 of the weights; `None` for a remote model.
    pub hash: Option<String>,
    /// Name of the adapter in use.
    pub adapter: Option<String>,
}

/// A model that holds conversations; shared by all requests.
pub trait Model: Send + Sync {
    fn info(&self) -> ModelInfo;
    /// An empty conversation.
    fn open(&self, watch: &Watch) -> Result<Box<dyn Chat>, ModelError>;
}

/// A conversation held by a model. Append-only: what was pushed or sampled is never rendered or
/// evaluated again.
pub trait Chat: Send {
    /// Appends messages. May wait to evaluate them until the next turn.
    fn push(&mut self, messages: &[Message]) -> Result<(), ModelError>;
    /// Samples the next turn and appends it. After an error the conversation is as it was before
    /// the call, so that a turn stopped by a nearer deadline can be asked for again, smaller.
    fn turn(&mut self, ask: &Ask, watch: &Watch) -> Result<Turn, ModelError>;
    /// Log-likelihood (nats, summed over tokens) of each text as the continuation of the next
    /// turn, after `prefix`, which the turn would begin with. Leaves the conversation as it was.
    fn score(
        &mut self,
        prefix: &str,
        options: &[String],
        watch: &Watch,
    ) -> Result<Vec<f64>, ModelError>;
    /// `n` copies that continue from here on their own and share the cache so far.
    fn fork(&mut self, n: usize) -> Result<Vec<Box<dyn Chat>>, ModelError>;
    /// Tokens used and available.
    fn room(&self) -> Room;
    /// Tokens this text would take, or a close upper estimate where no tokenizer is at hand.
    fn count(&self, text: &str) -> u32;
}

/// A model that turns texts into vectors.
pub trait Encoder: Send + Sync {
    /// One vector a text, all of the same length, L2-normalised.
    fn embed(&self, texts: &[String], watch: &Watch) -> Result<Vec<Vec<f32>>, ModelError>;
}
