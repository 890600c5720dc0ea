//! What a request is answered by: settled once, the same for training and serving.

use std::fmt;
use std::sync::Arc;

use codegrep_rank::{Candidate, Evidence, EvidenceKind, Source};
use codegrep_tree::RepoPath;
use sha2::{Digest, Sha256};

use crate::chat::{Message, Sampling, ToolResult};
use crate::inject::Shape;
use crate::limits::Limits;
use crate::profiles::{CodeGrep, Profile, Step};
use crate::tools::{self, ToolLimits};
use crate::{context, prompt, render, turns};

/// Whether the model sees the lexical candidates before its first turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Context {
    /// No: published weights, and the paper.
    None,
    #[default]
    Candidates,
}

/// How requests are answered.
#[derive(Clone)]
pub struct Rules {
    pub profile: Arc<dyn Profile>,
    pub context: Context,
    pub sampling: Sampling,
    /// Lowest probability that is injected; `None` for the ranker's own.
    pub bar: Option<f64>,
    pub shape: Shape,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            profile: Arc::new(CodeGrep::default()),
            context: Context::default(),
            sampling: Sampling::GREEDY,
            bar: None,
            shape: Shape::default(),
        }
    }
}

impl Rules {
    /// SHA-256, hex, over what the model sees: prompts, examples, tools, call syntax, context mode,
    /// every limit but those of time, and what results and notes look like. Weights trained under
    /// one hash must not be served under another.
    pub fn hash(&self) -> String {
        let sample = Candidate {
            path: RepoPath::root(),
            probability: 0.0,
            score: 0.0,
            source: Source::Lexical,
            line_ranges: Vec::new(),
            evidence: vec![Evidence { line: 1, text: "text".into(), kind: EvidenceKind::Match }],
        };
        let context = match self.context {
            Context::None => String::new(),
            Context::Candidates => context::text(&[sample]),
        };
        let opening = self.profile.opening("task", &context);
        let tools = opening.iter().find_map(|message| match message {
            Message::System { text, tools } => Some(render::system(text, tools)),
            _ => None,
        });
        let limits = self.profile.limits();
        let result = ToolResult { tool: "grep".to_owned(), text: "text".to_owned() };
        let seen = serde_json::json!({
            "opening": opening,
            "tools": tools,
            "limits": self.limits(),
            "results": tools::samples(&limits.tools),
            "result": render::response(&result),
            "notes": turns::notes(&limits.tools),
            "long_task": prompt::without_middle("0123456789", 4),
            "answer": self.profile.ask_answer(),
            "correction": [
                self.profile.correction(Step::Explore { turn: 1 }),
                self.profile.correction(Step::Answer),
            ],
        });
        let digest = Sha256::digest(seen.to_string());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The limits a model can tell. Taken apart, so that a new one is not forgotten here.
    fn limits(&self) -> serde_json::Value {
        let Limits {
            explore_turns,
            answer_from_turn,
            corrections,
            generated_tokens,
            explore_tokens,
            answer_tokens,
            answer_files,
            answer_seen,
            task_chars,
            candidates,
            tools,
        } = self.profile.limits();
        let ToolLimits {
            calls_a_turn,
            // How long a tool may take changes what is found in time, not what is asked for.
            grep_time: _,
            glob_time: _,
            read_time: _,
            grep_matches,
            read_lines,
            result_chars,
            forgiving,
        } = tools;
        let candidates = if self.context == Context::None { &0 } else { candidates };
        serde_json::json!([
            explore_turns,
            answer_from_turn,
            corrections,
            generated_tokens,
            explore_tokens,
            answer_tokens,
            answer_files,
            answer_seen,
            task_chars,
            candidates,
            calls_a_turn,
            grep_matches,
            read_lines,
            result_chars,
            forgiving,
        ])
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("profile", &self.profile.name())
            .field("context", &self.context)
            .field("sampling", &self.sampling)
            .field("bar", &self.bar)
            .field("shape", &self.shape)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_hash_covers_what_the_model_sees_and_nothing_else() {
        let rules = Rules::default();
        let other = Rules {
            sampling: Sampling { temperature: 1.0, ..Sampling::GREEDY },
            bar: Some(0.9),
            shape: Shape { tag: "retrieved_context".into(), ..Shape::default() },
            ..Rules::default()
        };
        assert_eq!(rules.hash(), other.hash());
        assert_eq!(rules.hash().len(), 64);
        let none = Rules { context: Context::None, ..Rules::default() };
        assert_ne!(rules.hash(), none.hash());
    }

    fn under(change: impl Fn(&mut Limits)) -> String {
        let mut limits = Limits::default();
        change(&mut limits);
        Rules { profile: Arc::new(CodeGrep::new(limits)), ..Rules::default() }.hash()
    }

    #[test]
    fn the_hash_covers_every_limit_but_those_of_time() {
        let changes: [fn(&mut Limits); 15] = [
            |limits| limits.explore_turns += 1,
            |limits| limits.answer_from_turn += 1,
            |limits| limits.corrections += 1,
            |limits| limits.generated_tokens += 1,
            |limits| limits.explore_tokens += 1,
            |limits| limits.answer_tokens += 1,
            |limits| limits.answer_files += 1,
            |limits| limits.answer_seen = false,
            |limits| limits.task_chars += 1,
            |limits| limits.candidates += 1,
            |limits| limits.tools.calls_a_turn += 1,
            |limits| limits.tools.grep_matches += 1,
            |limits| limits.tools.read_lines += 1,
            |limits| limits.tools.result_chars += 1,
            |limits| limits.tools.forgiving = false,
        ];
        let mut hashes: Vec<String> = changes.iter().map(under).collect();
        hashes.push(Rules::default().hash());
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), changes.len() + 1);
        let slow = under(|limits| limits.tools.grep_time += Duration::from_secs(1));
        assert_eq!(slow, Rules::default().hash());
    }
}
