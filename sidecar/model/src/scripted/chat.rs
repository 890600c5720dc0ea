use std::sync::Arc;
use std::time::{Duration, Instant};

use codegrep_agent::render::{Family, Piece, Renderer};
use codegrep_agent::{
    Ask, Chat, Constraint, Message, ModelError, Room, TokenTrace, Turn, TurnEnd, Usage, syntax,
};
use codegrep_tree::Watch;

use super::gbnf;
use super::script::{Part, Scene, Script};

/// A conversation that plays a script.
#[derive(Debug, Clone)]
pub(super) struct Playing {
    script: Arc<Script>,
    /// The next part to play. A turn that was stopped or failed is played, though nothing was said.
    next: usize,
    renderer: Renderer,
    stream: Vec<i32>,
    /// How much of the stream the model has evaluated.
    evaluated: usize,
    /// What was sent since the last turn, for the script's expectations.
    sent: String,
    /// The last turn, whose calls are owed results.
    said: Option<String>,
}

impl Playing {
    pub fn new(script: Arc<Script>) -> Self {
        Self {
            script,
            next: 0,
            renderer: Renderer::new(Family::ChatMl),
            stream: Vec::new(),
            evaluated: 0,
            sent: String::new(),
            said: None,
        }
    }

    fn misuse(&self, what: impl std::fmt::Display) -> ModelError {
        let (name, part) = (&self.script.name, self.next + 1);
        ModelError::Misuse(format!("script {name}, part {part}: {what}"))
    }

    /// Whether the ask and what was sent are what the scene was written for.
    fn check(&self, scene: &Scene, ask: &Ask) -> Result<(), ModelError> {
        let (asked, grammar) = match &ask.constraint {
            Constraint::Free => ("free", None),
            Constraint::Calls { or_answer: false, grammar, .. } => ("calls", Some(grammar)),
            Constraint::Calls { or_answer: true, grammar, .. } => {
                ("calls-or-answer", Some(grammar))
            }
            Constraint::Answer { grammar, .. } => ("answer", Some(grammar)),
        };
        if let Some(wanted) = scene.asked.as_ref().filter(|wanted| *wanted != asked) {
            return Err(self.misuse(format!("written for `{wanted}`, asked for `{asked}`")));
        }
        if let Some(text) = scene.expect.iter().find(|text| !self.sent.contains(*text)) {
            return Err(self.misuse(format!("`{text}` is not in what was sent:\n{}", self.sent)));
        }
        if let Some(text) = scene.refuse.iter().find(|text| self.sent.contains(*text)) {
            return Err(self.misuse(format!("`{text}` is in what was sent:\n{}", self.sent)));
        }
        if let Some(grammar) = grammar.filter(|_| !scene.unconstrained && scene.fail.is_none()) {
            let matches = gbnf::matches(grammar, &scene.text).map_err(|why| self.misuse(why))?;
            if !matches {
                let text = &scene.text;
                return Err(self.misuse(format!("the text does not follow `{asked}`:\n{text}")));
            }
        }
        Ok(())
    }
}

impl Chat for Playing {
    fn push(&mut self, messages: &[Message]) -> Result<(), ModelError> {
        let mut renderer = self.renderer.clone();
        let pieces = renderer.push(messages).map_err(|error| self.misuse(error))?;
        let calls = self.said.as_deref().map_or(0, |said| syntax::calls(said).len());
        if let (Some(Message::Tools(results)), Some(_)) = (messages.first(), &self.said)
            && results.len() != calls
        {
            return Err(self.misuse(format!("{} results for {calls} calls", results.len())));
        }
        let tokens: Vec<i32> = pieces.iter().flat_map(tokens).collect();
        let room = self.room();
        if tokens.len() as u32 > room.left() {
            return Err(ModelError::Full { needed: tokens.len() as u32, capacity: room.capacity });
        }
        self.renderer = renderer;
        self.stream.extend(tokens);
        self.sent.extend(pieces.iter().map(text));
        self.said = None;
        Ok(())
    }

    fn turn(&mut self, ask: &Ask, watch: &Watch) -> Result<Turn, ModelError> {
        watch.check()?;
        let script = self.script.clone();
        let Some(Part::Turn(scene)) = script.parts.get(self.next) else {
            return Err(self.misuse("the script has no more turns here"));
        };
        self.check(scene, ask)?;
        self.next += 1;
        let ready = Instant::now() + scene.delay;
        while Instant::now() < ready {
            watch.check()?;
            std::thread::sleep(Duration::from_millis(2));
        }
        if let Some(message) = &scene.fail {
            let hint = "the script says so".to_owned();
            return Err(ModelError::Unavailable { message: message.clone(), hint });
        }

        let mut renderer = self.renderer.clone();
        let header = renderer.start_turn().map_err(|error| self.misuse(error))?;
        let header: Vec<i32> = header.iter().flat_map(tokens).collect();
        let room = self.room();
        if header.len() as u32 >= room.left() {
            return Err(ModelError::Full {
                needed: header.len() as u32 + 1,
                capacity: room.capacity,
            });
        }
        let most = ask.max_tokens.min(room.left() - header.len() as u32) as usize;
        let whole = chunks(&scene.text).count() < most;
        let said: String = chunks(&scene.text).take(most).collect();
        let mut ids: Vec<i32> = chunks(&said).map(id).collect();
        if whole {
            ids.push(id(renderer.end_marker()));
        }
        renderer.end_turn(whole);

        self.renderer = renderer;
        self.stream.extend(header);
        let prompt = self.stream[self.evaluated..].to_vec();
        self.stream.extend(&ids);
        self.evaluated = self.stream.len();
        self.sent.clear();
        self.said = Some(said.clone());
        let generated = ids.len();
        Ok(Turn {
            text: said,
            end: if whole { TurnEnd::Stop } else { TurnEnd::Length },
            usage: Usage {
                prompt_new: prompt.len() as u32,
                evaluated: Some(prompt.len() as u32),
                generated: generated as u32,
            },
            reproducible: true,
            trace: Some(TokenTrace {
                prompt,
                ids,
                logprobs: vec![0.0; generated],
                forced: vec![false; generated],
            }),
        })
    }

    fn score(
        &mut self,
        _prefix: &str,
        options: &[String],
        watch: &Watch,
    ) -> Result<Vec<f64>, ModelError> {
        watch.check()?;
        let scores = match self.script.parts.get(self.next) {
            Some(Part::Score(scores)) if scores.len() == options.len() => scores.clone(),
            Some(Part::Score(scores)) => {
                let (have, need) = (scores.len(), options.len());
                return Err(self.misuse(format!("{have} scores for {need} options")));
            }
            _ => return Err(self.misuse("the script has no scores here")),
        };
        self.next += 1;
        Ok(scores)
    }

    fn fork(&mut self, n: usize) -> Result<Vec<Box<dyn Chat>>, ModelError> {
        Ok((0..n).map(|_| Box::new(self.clone()) as Box<dyn Chat>).collect())
    }

    fn room(&self) -> Room {
        Room { used: self.stream.len() as u32, capacity: self.script.capacity }
    }

    fn count(&self, text: &str) -> u32 {
        chunks(text).count() as u32
    }
}

fn text(piece: &Piece) -> &str {
    match piece {
        Piece::Special(text) | Piece::Text(text) => text,
    }
}

/// A structural marker is one token, content one for each four bytes.
fn tokens(piece: &Piece) -> Vec<i32> {
    match piece {
        Piece::Special(text) => vec![id(text)],
        Piece::Text(text) => chunks(text).map(id).collect(),
    }
}

fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = (4.min(rest.len())..=rest.len()).find(|end| rest.is_char_boundary(*end))?;
        let (chunk, after) = rest.split_at(end);
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// FNV-1a, positive.
fn id(token: &str) -> i32 {
    let hash =
        token.bytes().fold(0x811c_9dc5u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    (hash >> 1) as i32
}
