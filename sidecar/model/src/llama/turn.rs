use codegrep_agent::ModelError;

use super::grammar::Grammar;
use super::job::Reply;
use super::sample::{Free, Picker};
use super::weights::Weights;

/// The sampling of one turn.
pub(super) struct Turn {
    /// Most tokens to sample, 1 or more.
    pub max: usize,
    pub picker: Picker,
    pub grammar: Option<Grammar>,
    pub sampled: Sampled,
    pub reply: Reply<Sampled>,
}

/// What was sampled.
#[derive(Debug, Default)]
pub(super) struct Sampled {
    pub ids: Vec<i32>,
    pub logprobs: Vec<f32>,
    pub forced: Vec<bool>,
    /// The last token is one that ends a turn.
    pub ended: bool,
    /// Tokens evaluated before the first was sampled.
    pub evaluated: u32,
    /// Nothing else was there whose company could have changed a last bit.
    pub pure: bool,
}

impl Turn {
    /// Tokens that may still be sampled.
    pub fn left(&self) -> usize {
        self.max - self.sampled.ids.len()
    }

    /// Samples from these logits. Gives the token when another is to follow.
    pub fn take(&mut self, logits: &[f32], weights: &Weights) -> Result<Option<i32>, ModelError> {
        let picked = match &mut self.grammar {
            Some(grammar) => self.picker.pick(logits, grammar),
            None => self.picker.pick(logits, &mut Free),
        };
        let (id, logprob) = picked.ok_or_else(|| ModelError::Unavailable {
            message: "the model gives no token that may come next".into(),
            hint: "the weights may be damaged: verify the file".into(),
        })?;
        let ended = weights.is_end(id);
        let mut forced = false;
        if let Some(grammar) = &mut self.grammar {
            forced = grammar.is_forced();
            if !ended {
                grammar.accept(id);
            }
        }
        self.sampled.ids.push(id);
        self.sampled.logprobs.push(logprob);
        self.sampled.forced.push(forced);
        self.sampled.ended = ended;
        Ok((!ended && self.left() > 0).then_some(id))
    }
}
