use std::time::Instant;

use codegrep_tree::Watch;

use crate::chat::{Ask, Chat, Message, ModelError, Room, Turn};
use crate::pace::Pace;
use crate::profiles::Step;
use crate::record::{Event, Stream, TurnRecord};

/// A chat and the record of it, kept in step: what the model has seen is what the record says.
pub(crate) struct Conversation {
    chat: Box<dyn Chat>,
    pub events: Vec<Event>,
    /// `None` once a turn came without tokens.
    pub stream: Option<Stream>,
    pub pace: Pace,
    pub generated: u32,
    pub reproducible: bool,
}

impl Conversation {
    pub fn new(chat: Box<dyn Chat>) -> Self {
        Self {
            chat,
            events: Vec::new(),
            stream: Some(Stream::default()),
            pace: Pace::default(),
            generated: 0,
            reproducible: true,
        }
    }

    pub fn push(&mut self, messages: Vec<Message>) -> Result<(), ModelError> {
        self.chat.push(&messages)?;
        self.events.push(Event::Ours(messages));
        Ok(())
    }

    /// The next turn. Its record is the last of `events`, for the caller to complete.
    pub fn turn(&mut self, step: Step, ask: &Ask, watch: &Watch) -> Result<Turn, ModelError> {
        let started = Instant::now();
        let turn = self.chat.turn(ask, watch)?;
        let took = started.elapsed();
        self.pace.learn(
            turn.usage.evaluated.unwrap_or(turn.usage.prompt_new),
            turn.usage.generated,
            took,
        );
        self.generated += turn.usage.generated;
        self.reproducible &= turn.reproducible;
        match (&mut self.stream, &turn.trace) {
            (Some(stream), Some(trace)) => stream.extend(trace),
            (stream, _) => *stream = None,
        }
        self.events.push(Event::Turn(TurnRecord {
            step,
            text: turn.text.clone(),
            end: turn.end,
            usage: turn.usage,
            malformed: false,
            calls: Vec::new(),
            model_ms: took.as_millis() as u64,
            tools_ms: 0,
        }));
        Ok(turn)
    }

    pub fn last_turn(&mut self) -> Option<&mut TurnRecord> {
        match self.events.last_mut() {
            Some(Event::Turn(turn)) => Some(turn),
            _ => None,
        }
    }

    pub fn room(&self) -> Room {
        self.chat.room()
    }

    pub fn count(&self, text: &str) -> u32 {
        self.chat.count(text)
    }
}
