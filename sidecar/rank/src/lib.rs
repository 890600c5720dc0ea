//! From a task text to ranked files, without a model: signals, weights, calibration, cut and gate.
//!
//! Knows nothing about agents, models or the wire.

mod calibration;
mod candidates;
mod cut;
mod evidence;
mod features;
mod forest;
mod gate;
mod history;
mod mention;
mod passages;
mod phrases;
mod query;
mod rerank;
mod signals;
mod terms;
mod trace;
mod weights;

use std::time::Duration;

use codegrep_index::IndexStatus;
use codegrep_tree::{RepoPath, Stop, TreeError};

pub use calibration::Calibration;
pub use candidates::{Ranker, candidates, explain};
pub use cut::{best_prefix, cut};
pub use evidence::quoted;
pub use features::Features;
pub use forest::{Forest, Tree};
pub use gate::gate;
pub use weights::{Judged, Linear, SECOND_ONLY, Standing, Weights, WeightsError, columns};

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

/// A line that speaks for a file; `text` stands in the file at that line, verbatim, as [`quoted`]
/// cuts it.
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

/// What the lexical engine found.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Best first, at most [`Ranker::MAX_CANDIDATES`]; empty when nothing in the repository
    /// speaks for any file. Each carries at least one line of evidence.
    pub candidates: Vec<Candidate>,
    pub index: IndexStatus,
    /// Time to walk the tree and to build or refresh its index.
    pub index_time: Duration,
    pub rank_time: Duration,
    /// What the user should know: files that could not be read, a text that was cut.
    pub warnings: Vec<String>,
}

/// Why there is no ranking.
#[derive(Debug, thiserror::Error)]
pub enum RankError {
    /// Cancelled. A deadline is no error: what was found by then is returned.
    #[error(transparent)]
    Stopped(#[from] Stop),
    /// The repository itself cannot be read.
    #[error(transparent)]
    Tree(TreeError),
}
