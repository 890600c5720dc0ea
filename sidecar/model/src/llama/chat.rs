//! A conversation with a llama.cpp model: a list of tokens that only grows.

use std::sync::Arc;

use codegrep_agent::render::{Piece, Renderer};
use codegrep_agent::{
    Ask, Chat, Constraint, Message, ModelError, Room, TokenTrace, Turn, TurnEnd, Usage,
};
use codegrep_tree::Watch;

use super::engine::Engine;
use super::slots::common;
use super::weights::Adapter;

/// What was cached of it is found again by its tokens, so a copy shares the cache.
#[derive(Clone)]
pub(super) struct LlamaChat {
    engine: Arc<Engine>,
    adapter: Option<Arc<Adapter>>,
    renderer: Renderer,
    /// All that was pushed and sampled.
    tokens: Vec<i32>,
    /// How many of them the last turn was sampled after or sampled itself, evaluated or not.
    seen: usize,
    /// Whether the last of those was sampled, and so is evaluated with what comes next.
    owed: bool,
}

impl LlamaChat {
    pub fn new(engine: Arc<Engine>, adapter: Option<Arc<Adapter>>) -> Self {
        let renderer = Renderer::new(engine.weights.family);
        Self { engine, adapter, renderer, tokens: Vec::new(), seen: 0, owed: false }
    }

    /// Appends `pieces` to a copy of the tokens; at least `spare` tokens of the window must be left.
    fn extended(&self, pieces: &[Piece], spare: usize) -> Result<Vec<i32>, ModelError> {
        let mut tokens = self.tokens.clone();
        self.engine.weights.tokenize(pieces, &mut tokens);
        let capacity = self.engine.window;
        if tokens.len() + spare > capacity {
            let needed = tokens.len() + spare - self.tokens.len();
            return Err(ModelError::Full { needed: needed as u32, capacity: capacity as u32 });
        }
        Ok(tokens)
    }
}

impl Chat for LlamaChat {
    fn push(&mut self, messages: &[Message]) -> Result<(), ModelError> {
        let mut renderer = self.renderer.clone();
        let pieces = renderer.push(messages)?;
        self.tokens = self.extended(&pieces, self.engine.weights.frame)?;
        self.renderer = renderer;
        Ok(())
    }

    fn turn(&mut self, ask: &Ask, watch: &Watch) -> Result<Turn, ModelError> {
        watch.check()?;
        let mut renderer = self.renderer.clone();
        let header = renderer.start_turn()?;
        let prompt = self.extended(&header, 1)?;
        let max = (ask.max_tokens as usize).min(self.engine.window - prompt.len());
        if max == 0 {
            return Err(ModelError::Misuse("a turn of no tokens was asked for".into()));
        }
        let gbnf = match &ask.constraint {
            Constraint::Free => None,
            Constraint::Calls { grammar, .. } | Constraint::Answer { grammar, .. } => {
                Some(grammar.as_str())
            }
        };
        let weights = &self.engine.weights;
        let adapter = self.adapter.clone();
        let sampled = self.engine.turn(prompt.clone(), max, ask.sampling, gbnf, adapter, watch)?;

        let mut spoken = sampled.ids.as_slice();
        if sampled.ended {
            spoken = &spoken[..spoken.len() - 1];
        }
        let bytes: Vec<u8> = spoken.iter().flat_map(|id| weights.piece(*id)).collect();
        renderer.end_turn(sampled.ids.last() == Some(&weights.end));
        let usage = Usage {
            prompt_new: (prompt.len() - self.seen + usize::from(self.owed)) as u32,
            evaluated: Some(sampled.evaluated),
            generated: sampled.ids.len() as u32,
        };
        let trace = TokenTrace {
            prompt: prompt[self.seen..].to_vec(),
            ids: sampled.ids,
            logprobs: sampled.logprobs,
            forced: sampled.forced,
        };
        self.tokens = prompt;
        self.tokens.extend_from_slice(&trace.ids);
        self.seen = self.tokens.len();
        self.owed = true;
        self.renderer = renderer;
        Ok(Turn {
            text: String::from_utf8_lossy(&bytes).into_owned(),
            end: if sampled.ended { TurnEnd::Stop } else { TurnEnd::Length },
            usage,
            reproducible: ask.sampling.temperature <= 0.0,
            trace: Some(trace),
        })
    }

    /// Tokens are compared, not characters: what counts is from the first token on that differs
    /// from the prefix alone, so that a token over the border is whole in every option.
    fn score(
        &mut self,
        prefix: &str,
        options: &[String],
        watch: &Watch,
    ) -> Result<Vec<f64>, ModelError> {
        watch.check()?;
        if options.is_empty() {
            return Ok(Vec::new());
        }
        let header = self.renderer.clone().start_turn()?;
        let stem = self.extended(&with(&header, prefix), 0)?;
        let mut texts = Vec::with_capacity(options.len());
        for option in options {
            texts.push(self.extended(&with(&header, &format!("{prefix}{option}")), 0)?);
        }
        let shared = texts.iter().map(|text| common(text, &texts[0])).min().unwrap_or(0);
        let start = texts.iter().map(|text| common(text, &stem)).min().unwrap_or(0);
        let tails = texts.iter().map(|text| text[shared..].to_vec()).collect();
        let trunk = texts[0][..shared].to_vec();
        self.engine.score(trunk, start, tails, self.adapter.clone(), watch)
    }

    fn fork(&mut self, n: usize) -> Result<Vec<Box<dyn Chat>>, ModelError> {
        Ok((0..n).map(|_| Box::new(self.clone()) as Box<dyn Chat>).collect())
    }

    fn room(&self) -> Room {
        let used = self.tokens.len() + self.engine.weights.frame;
        Room { used: used as u32, capacity: self.engine.window as u32 }
    }

    fn count(&self, text: &str) -> u32 {
        let mut tokens = Vec::new();
        self.engine.weights.tokenize(&[Piece::Text(text.to_owned())], &mut tokens);
        tokens.len() as u32
    }
}

fn with(header: &[Piece], text: &str) -> Vec<Piece> {
    let mut pieces = header.to_vec();
    pieces.push(Piece::Text(text.to_owned()));
    pieces
}
