//! The read-only tools of the `codegrep` profile, on any tree.

use std::time::Duration;

use codegrep_tree::RepoPath;

/// One call as the model wrote it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Call {
    pub name: String,
    pub arguments: serde_json::Map<String, serde_json::Value>,
}

/// What a call gave. Failures are observations too: the model reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    pub text: String,
    /// Matches, paths or lines shown; 0 for an error or an empty result.
    pub hits: usize,
    /// Files whose content or name is shown, in order of appearance.
    pub seen: Vec<RepoPath>,
    pub error: bool,
    pub took: Duration,
}

/// `spec`: numbers of the paper, §3.2 and A.1, and this project's defaults. All configurable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolLimits {
    pub calls_a_turn: usize,
    pub grep_time: Duration,
    pub glob_time: Duration,
    pub read_time: Duration,
    pub grep_matches: usize,
    pub read_lines: usize,
    /// Characters of one result.
    pub result_chars: usize,
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            calls_a_turn: 8,
            grep_time: Duration::from_secs(10),
            glob_time: Duration::from_secs(10),
            read_time: Duration::from_secs(5),
            grep_matches: 50,
            read_lines: 200,
            result_chars: 4096,
        }
    }
}
