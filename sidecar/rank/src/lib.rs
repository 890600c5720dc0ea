//! From a task text to ranked files, without a model: signals, weights, calibration, cut and gate.
//!
//! Knows nothing about agents, models or the wire.

use codegrep_tree::RepoPath;

/// What kind of line speaks for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidenceKind {
    Definition,
    Path,
    Trace,
    Match,
    String,
    Import,
    Test,
    History,
    Read,
}

/// A line that speaks for a file; `text` stands in the file at that line, verbatim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// 1-based.
    pub line: u32,
    pub text: String,
    pub kind: EvidenceKind,
}

/// Who proposed a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Lexical,
    Agent,
    Hybrid,
}

/// A file with its standing.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub path: RepoPath,
    /// Calibrated: that the file belongs to "edited by the fix".
    pub probability: f64,
    /// Uncalibrated; comparable within one request only.
    pub score: f64,
    pub source: Source,
    /// 1-based, inclusive.
    pub line_ranges: Vec<(u32, u32)>,
    pub evidence: Vec<Evidence>,
}

/// Whether the files are worth injecting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Inject { reason: String },
    Abstain { reason: String },
}
