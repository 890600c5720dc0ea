use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::index::IndexInfo;
use crate::method::{method, null_as_default};
use crate::progress::ProgressToken;

method!(
    Retrieve, "retrieve", RetrieveParams => RetrieveResponse,
    "Which files a task is about."
);

/// What a task says and where to look.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetrieveParams {
    /// The task: an issue, a bug report, a prompt.
    pub text: String,
    /// Workspace roots: absolute paths or `file://` URIs, at least one.
    pub roots: Vec<String>,
    /// Files open in the editor; their unsaved text wins over the disk.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<OpenFile>>")]
    pub open_files: Vec<OpenFile>,
    /// Milliseconds from receipt within which an answer arrives; the server's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u64>,
    /// The most files wanted; the server's default (3) when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub max_files: Option<u32>,
    /// Whether files below the bar are held back.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(with = "Option<Gate>")]
    pub gate: Gate,
    /// How the agent is prompted, such as `codegrep`; the server's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// `auto`, `none` or the name of a model; `auto` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The name of a loaded adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// What the first observation holds; the profile's own choice when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// Any name for the task. Give the same to `feedback`, whose log keeps it, to tell what that is
    /// about; of the request itself nothing is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Asks for `retrieve/progress` notifications that carry this token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_token: Option<ProgressToken>,
}

impl RetrieveParams {
    /// A request with every option at its default.
    pub fn new(text: impl Into<String>, root: impl Into<String>) -> Self {
        Self { text: text.into(), roots: vec![root.into()], ..Self::default() }
    }
}

/// A file as the editor holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenFile {
    /// An absolute path or a `file://` URI, at or below one of the roots.
    pub path: String,
    /// The whole text as it stands in the editor.
    pub text: String,
}

/// Whether the gate is applied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Gate {
    /// Files below the bar are dropped; none left is an abstention.
    #[default]
    On,
    /// Everything the cut leaves is injected.
    Off,
}

/// What the model's first observation holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Context {
    /// The task alone.
    None,
    /// The task and the lexical candidates.
    Candidates,
}

/// The files, whether they are worth injecting, and how that was found out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetrieveResponse {
    /// Best first. On an abstention: what would have been returned with the gate off.
    pub files: Vec<RetrievedFile>,
    /// Whether the files are worth injecting, and why.
    pub verdict: Verdict,
    /// The text to append to the task; null on an abstention.
    pub injection: Option<String>,
    /// What answered.
    pub engine: Engine,
    /// Why the run ended.
    pub stop: Stop,
    /// Turns the model took.
    pub turns: u32,
    /// Tool calls the model made.
    pub tool_calls: u32,
    /// Tokens the model read and wrote.
    pub tokens: Tokens,
    /// Milliseconds a stage.
    pub ms: Ms,
    /// The state of the index that was searched.
    pub index: IndexInfo,
    /// Whether the same request on the same tree gives the same answer.
    pub reproducible: bool,
    /// What the user should know: a model that did not load, a folder that could not be read.
    pub warnings: Vec<String>,
}

/// One file of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RetrievedFile {
    /// The root it lies in: an absolute path.
    pub root: String,
    /// Relative to the root, forward slashes.
    pub path: String,
    /// First and last line, 1-based, inclusive; empty for the whole file.
    pub line_ranges: Vec<(u32, u32)>,
    /// Calibrated: that a fix of the task edits the file, 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: f64,
    /// Who proposed it.
    pub source: Source,
    /// The lines that speak for it.
    pub evidence: Vec<Evidence>,
}

/// Who proposed a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// The lexical engine.
    Lexical,
    /// The agent's answer.
    Agent,
    /// Both.
    Hybrid,
}

/// A line that speaks for a file; it stands there verbatim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// 1-based.
    pub line: u32,
    /// The line's text, exactly.
    pub text: String,
    /// What makes it speak.
    pub kind: EvidenceKind,
}

/// What makes a line speak for its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EvidenceKind {
    /// It defines a symbol the task names.
    Definition,
    /// The task names the file's path.
    Path,
    /// A stack trace in the task points at it.
    Trace,
    /// It holds words of the task.
    Match,
    /// It holds a string the task quotes.
    String,
    /// It imports a file that is itself a candidate.
    Import,
    /// It is the test of a candidate, or the source of a test.
    Test,
    /// It changed together with candidates before.
    History,
    /// The agent read it.
    Read,
}

/// Whether the files are worth injecting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// The decision.
    pub kind: VerdictKind,
    /// Why, such as `1 of 3 files at or above 0.61`.
    pub reason: String,
}

/// The gate's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum VerdictKind {
    /// Append `injection` to the task.
    Inject,
    /// Nothing is sure enough.
    Abstain,
}

/// What answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Engine {
    /// The agent loop, or the lexical engine alone.
    pub kind: EngineKind,
    /// The model's short name; null when none took part.
    pub model: Option<String>,
    /// The adapter in use.
    pub adapter: Option<String>,
    /// The profile the model was prompted with.
    pub profile: String,
    /// Hash over everything the model sees of our rules; null when no model took part.
    pub rules_hash: Option<String>,
}

/// Which engine answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EngineKind {
    /// A model, through the agent loop.
    Agent,
    /// The lexical engine alone.
    Lexical,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model answered.
    Answered,
    /// The model gave no answer that could be read, twice.
    NoAnswer,
    /// The time budget was spent.
    Deadline,
    /// The client cancelled.
    Cancelled,
    /// The turns were used up.
    Turns,
    /// The token budget was spent.
    Tokens,
    /// The context was full.
    ContextFull,
    /// The model failed.
    ModelError,
    /// No model took part: the lexical engine answered.
    NoModel,
}

/// Tokens a run cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// Read.
    #[serde(rename = "in")]
    pub input: u64,
    /// Written.
    #[serde(rename = "out")]
    pub output: u64,
}

/// Milliseconds a stage took; 0 for one that did not run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ms {
    /// Listing and indexing.
    pub index: u64,
    /// Ranking.
    pub rank: u64,
    /// The agent loop.
    pub model: u64,
    /// From the beginning of the work to its end, without the wait for a worker.
    pub total: u64,
}
