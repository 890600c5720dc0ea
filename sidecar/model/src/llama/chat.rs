//! A conversation with a llama.cpp model: a list of tokens that only grows.

use std::sync::Arc;

use codegrep_agent::render::{Piece, Renderer};
use codegrep_agent::{
    Ask, Chat, Constraint, Message, ModelError, Room, TokenTrace, Turn, TurnEnd, Usage,
};
use codegrep_tree::Watch;

use super::engine::{Engine, Whose};
use super::stream::{SPAN, Stream, common};
use super::weights::Adapter;

/// Most tokens of a span that all need their logits.
const ROWS: usize = 16;

pub(super) struct LlamaChat {
    engine: Arc<Engine>,
    adapter: Option<Arc<Adapter>>,
    renderer: Renderer,
    /// All that was pushed and sampled; cut up to where the last turn was evaluated.
    stream: Stream,
    /// How much of it the last turn had or sampled.
    seen: usize,
    /// Whether the last token of that was sampled: it is evaluated with what comes next.
    owed: bool,
    /// Gone with the conversation, which frees what is cached of it for others.
    life: Arc<()>,
}

impl LlamaChat {
    pub fn new(engine: Arc<Engine>, adapter: Option<Arc<Adapter>>) -> Self {
        let renderer = Renderer::new(engine.weights.family);
        let (stream, seen, owed, life) = (Stream::default(), 0, false, Arc::default());
        Self { engine, adapter, renderer, stream, seen, owed, life }
    }

    fn tokens(&self, pieces: &[Piece]) -> Vec<i32> {
        let mut tokens = Vec::new();
        self.engine.weights.tokenize(pieces, &mut tokens);
        tokens
    }

    /// The stream with `tokens` after it; `spare` more must fit too.
    fn extended(&self, tokens: &[i32], spare: usize) -> Result<Stream, ModelError> {
        let needed = tokens.len() + spare;
        if self.stream.len() + needed > self.engine.window {
            let capacity = self.engine.window as u32;
            return Err(ModelError::Full { needed: needed as u32, capacity });
        }
        let mut stream = self.stream.clone();
        stream.push(tokens);
        Ok(stream)
    }

    fn whose<'a>(&'a self, watch: &'a Watch) -> Whose<'a> {
        Whose { life: &self.life, adapter: self.adapter.as_ref(), watch }
    }
}

impl Chat for LlamaChat {
    fn push(&mut self, messages: &[Message]) -> Result<(), ModelError> {
        let mut renderer = self.renderer.clone();
        let tokens = self.tokens(&renderer.push(messages)?);
        self.stream = self.extended(&tokens, self.engine.weights.frame)?;
        self.renderer = renderer;
        Ok(())
    }

    fn turn(&mut self, ask: &Ask, watch: &Watch) -> Result<Turn, ModelError> {
        watch.check()?;
        let mut renderer = self.renderer.clone();
        let header = self.tokens(&renderer.start_turn()?);
        let mut prompt = self.extended(&header, 1)?;
        prompt.cut(SPAN);
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
        let sampled =
            self.engine.turn(self.whose(watch), prompt.clone(), max, ask.sampling, gbnf)?;

        let weights = &self.engine.weights;
        let spoken = sampled.ids.len() - usize::from(sampled.ended);
        let bytes: Vec<u8> =
            sampled.ids[..spoken].iter().flat_map(|id| weights.piece(*id)).collect();
        renderer.end_turn(sampled.ids.last() == Some(&weights.end));
        let usage = Usage {
            prompt_new: (prompt.len() - self.seen + usize::from(self.owed)) as u32,
            evaluated: Some(sampled.evaluated),
            generated: sampled.ids.len() as u32,
        };
        let new = prompt.tokens()[self.seen..].to_vec();
        if let Some((last, others)) = sampled.ids.split_last() {
            others.iter().for_each(|id| prompt.push_sampled(*id));
            // Not evaluated yet.
            prompt.push(&[*last]);
        }
        self.stream = prompt;
        self.seen = self.stream.len();
        self.owed = true;
        self.renderer = renderer;
        Ok(Turn {
            text: String::from_utf8_lossy(&bytes).into_owned(),
            end: if sampled.ended { TurnEnd::Stop } else { TurnEnd::Length },
            usage,
            reproducible: sampled.pure && ask.sampling.temperature <= 0.0,
            trace: Some(TokenTrace {
                prompt: new,
                ids: sampled.ids,
                logprobs: sampled.logprobs,
                forced: sampled.forced,
            }),
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
        let header = self.tokens(&self.renderer.clone().start_turn()?);
        let mut trunk = self.extended(&header, 0)?;
        // As the turn would be cut, which finds it cached then.
        trunk.cut(SPAN);
        let tokens = |text: String| self.tokens(&[Piece::Text(text)]);
        let stem = tokens(prefix.to_owned());
        let texts: Vec<Vec<i32>> =
            options.iter().map(|option| tokens(format!("{prefix}{option}"))).collect();
        let Some(first) = texts.first() else { return Ok(Vec::new()) };
        let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
        self.extended(&header, longest)?;
        let shared = texts.iter().map(|text| common(text, first)).min().unwrap_or(0);
        let start = texts.iter().map(|text| common(text, &stem)).min().unwrap_or(0);
        let from = trunk.len() + start;
        trunk.push(&first[..start]);
        trunk.cut(SPAN);
        // Each of these needs its logits, and a batch has not many.
        trunk.push(&first[start..shared]);
        trunk.cut(ROWS);
        let tails = texts.iter().map(|text| text[shared..].to_vec()).collect();
        self.engine.score(self.whose(watch), trunk, from, tails)
    }

    fn fork(&mut self, n: usize) -> Result<Vec<Box<dyn Chat>>, ModelError> {
        let fork = || Self {
            engine: Arc::clone(&self.engine),
            adapter: self.adapter.clone(),
            renderer: self.renderer.clone(),
            stream: self.stream.clone(),
            seen: self.seen,
            owed: self.owed,
            life: Arc::default(),
        };
        Ok((0..n).map(|_| Box::new(fork()) as Box<dyn Chat>).collect())
    }

    fn room(&self) -> Room {
        let used = self.stream.len() + self.engine.weights.frame;
        Room { used: used as u32, capacity: self.engine.window as u32 }
    }

    fn count(&self, text: &str) -> u32 {
        self.tokens(&[Piece::Text(text.to_owned())]).len() as u32
    }
}
