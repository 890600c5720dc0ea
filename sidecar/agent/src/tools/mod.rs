//! The read-only tools of the `codegrep` profile, on any tree.
//!
//! [`run`] carries out the calls of one turn side by side. Whatever goes wrong is an observation
//! that says what happened and what to do instead; nothing here fails.

mod args;
mod context;
mod glob;
mod grep;
mod page;
mod paths;
mod pattern;
mod pool;
mod read;
mod run;
mod samples;
mod scan;
mod specs;
mod sweep;
mod text;

use std::time::Duration;

use codegrep_tree::RepoPath;

pub use pool::Pool;
pub use run::run;
pub(crate) use samples::samples;
pub use specs::specs;
pub(crate) use text::decode;

/// One call as the model wrote it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Call {
    pub name: String,
    pub arguments: serde_json::Map<String, serde_json::Value>,
}

/// A line of a file that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub path: RepoPath,
    /// 1-based.
    pub number: u32,
    /// As it stands in the file, without surrounding blanks in a match and shortened where long.
    pub text: String,
}

/// What a call gave. Failures are observations too: the model reads them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observation {
    pub text: String,
    /// Matches, paths or lines shown; 0 for an error or an empty result.
    pub hits: usize,
    /// Files whose content or name is shown, in order of appearance.
    pub seen: Vec<RepoPath>,
    /// The matches of a grep or the lines of a read, as far as they are shown.
    pub lines: Vec<Line>,
    /// There is more than is shown, or may be: not everything was looked at.
    pub cut: bool,
    /// Time or a cancel ended it, or kept it from beginning: called again it may give more.
    pub stopped: bool,
    pub error: bool,
    pub took: Duration,
}

impl Observation {
    fn error(message: impl std::fmt::Display) -> Self {
        Self { text: format!("error: {message}"), error: true, ..Self::default() }
    }

    fn stopped(message: impl std::fmt::Display) -> Self {
        Self { cut: true, stopped: true, ..Self::error(message) }
    }
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
    /// Try what may have been meant by a pattern that is no regular expression or finds nothing
    /// (plain text, other case, a path at another depth), and say so. For models; programs want
    /// what they ask for.
    pub forgiving: bool,
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
            forgiving: true,
        }
    }
}
