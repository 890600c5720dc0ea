//! One engine's answer to one task, as it lies in `instances.jsonl`.

use codegrep_score::retrieval::{self, SetScores};
use serde::{Deserialize, Serialize};

/// A file with its calibrated probability; engines without one give 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    pub path: String,
    pub probability: f64,
}

/// What an engine said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Best first, cut at [`Prediction::RANKED`].
    pub ranked: Vec<Scored>,
    /// The engine's own list: the cut, without the gate.
    pub returned: Vec<Scored>,
    /// Paths the gate let through.
    pub injected: Vec<String>,
    pub turns: u32,
    pub tool_calls: u32,
    /// Calls that showed at least one match, path or line.
    pub calls_with_hits: u32,
    /// Calls that were refused or failed.
    pub bad_calls: u32,
    /// Calls that were no call: not readable as the profile's syntax.
    pub unreadable_calls: u32,
    /// Files that the tools showed.
    pub saw: Vec<String>,
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// Milliseconds to answer with the index at hand.
    pub query_ms: f64,
    /// Milliseconds to make or refresh the index.
    pub index_ms: f64,
    /// Why the run stopped.
    pub stop: String,
    /// Whether the run ended with a parsed answer; one without counts 0 in the CodeScout
    /// convention.
    pub parsed: bool,
}

impl Prediction {
    pub const RANKED: usize = 50;
}

/// A row of `instances.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub engine: String,
    pub instance_id: String,
    pub repo: String,
    pub language: String,
    pub names_gold: bool,
    pub gold: Vec<String>,
    /// Set when the task was asked of another repository, where abstaining is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_of: Option<String>,
    #[serde(flatten)]
    pub prediction: Prediction,
    /// Why there is no prediction; such a row scores 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Record {
    /// The engine's own list against the truth.
    pub fn scores(&self) -> SetScores {
        let paths = self.prediction.returned.iter().map(|file| &file.path).collect::<Vec<_>>();
        retrieval::set_scores(&paths, &self.gold.iter().collect::<Vec<_>>())
    }

    /// The first `k` ranked files against the truth.
    pub fn scores_at(&self, k: usize) -> SetScores {
        retrieval::set_scores(&self.ranked().into_iter().take(k).collect::<Vec<_>>(), &self.gold())
    }

    pub fn hit_at(&self, k: usize) -> bool {
        retrieval::hit_at(&self.ranked(), &self.gold(), k)
    }

    pub fn recall_at(&self, k: usize) -> f64 {
        retrieval::recall_at(&self.ranked(), &self.gold(), k)
    }

    pub fn reciprocal_rank(&self) -> f64 {
        retrieval::reciprocal_rank(&self.ranked(), &self.gold())
    }

    pub fn is_gold(&self, path: &str) -> bool {
        self.gold.iter().any(|gold| gold == path)
    }

    fn ranked(&self) -> Vec<&str> {
        self.prediction.ranked.iter().map(|file| file.path.as_str()).collect()
    }

    fn gold(&self) -> Vec<&str> {
        self.gold.iter().map(String::as_str).collect()
    }
}
