//! Every number of the loop in one place.

use crate::tools::ToolLimits;

/// Limits of one run. The defaults are the paper's (§3.2, A.1, A.4) where it gives a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Exploration turns before the answer is forced. Paper: 3, and 1 answer turn.
    pub explore_turns: u32,
    /// The first exploration turn in which the model may answer instead of calling tools
    /// (1-based); small models that may answer at once skip the tools.
    pub answer_from_turn: u32,
    /// Malformed turns that are corrected rather than fatal; they are outside the turns.
    pub corrections: u32,
    /// Tokens the model may generate in one run. Paper: 4096.
    pub generated_tokens: u32,
    /// Tokens of one exploration turn: eight calls take about 300.
    pub explore_tokens: u32,
    /// Tokens of the answer, kept free in the context and in the budget until it is given.
    pub answer_tokens: u32,
    /// Files in the model's answer.
    pub answer_files: usize,
    /// Whether a grammar holds the answer to files the model was shown, where it was shown any: a
    /// small model otherwise names files of its example or of its memory.
    pub answer_seen: bool,
    /// Characters of the task text the model sees; the middle of a longer one is left out.
    pub task_chars: usize,
    /// Lexical candidates in the first observation.
    pub candidates: usize,
    pub tools: ToolLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            explore_turns: 3,
            answer_from_turn: 2,
            corrections: 1,
            generated_tokens: 4_096,
            explore_tokens: 1_024,
            answer_tokens: 320,
            answer_files: 3,
            answer_seen: true,
            task_chars: 16_000,
            candidates: 10,
            tools: ToolLimits::default(),
        }
    }
}
