//! What a request is answered by: settled once, the same for training and serving.

use std::fmt;
use std::sync::Arc;

use codegrep_rank::{Candidate, Evidence, EvidenceKind, Source};
use codegrep_tree::RepoPath;
use sha2::{Digest, Sha256};

use crate::chat::{Message, Sampling};
use crate::inject::Shape;
use crate::profiles::{CodeGrep, Profile, Step};
use crate::{context, render};

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
    /// SHA-256, hex, over what the model sees: prompts, examples, tools, call syntax and context
    /// mode. Weights trained under one hash must not be served under another.
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
        let seen = serde_json::json!({
            "opening": opening,
            "tools": tools,
            "candidates": match self.context {
                Context::None => 0,
                Context::Candidates => self.profile.limits().candidates,
            },
            "answer": self.profile.ask_answer(),
            "correction": [
                self.profile.correction(Step::Explore { turn: 1 }),
                self.profile.correction(Step::Answer),
            ],
        });
        let digest = Sha256::digest(seen.to_string());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
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
    use crate::limits::Limits;

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
        let limits = Limits { explore_turns: 2, ..Limits::default() };
        let fewer = Rules { profile: Arc::new(CodeGrep::new(limits)), ..Rules::default() };
        assert_ne!(rules.hash(), fewer.hash());
    }
}
