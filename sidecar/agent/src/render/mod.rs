//! Messages into the pieces a tokenizer takes, in the format a family of models was trained on.
//!
//! Append-only: what a message renders to never depends on later ones, so the token stream only
//! grows, the model's cache is reused whole, and a loss mask stays exact. Content is kept apart
//! from structure: a file that holds `<|im_end|>` cannot end a turn.

mod family;
mod hermes;

pub use family::Family;
pub use hermes::{json, system};

use crate::chat::{Message, ModelError, ToolResult};

/// A stretch of the token stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Structure, ours alone: tokenise with special tokens parsed.
    Special(String),
    /// Content of any origin: tokenise with special tokens *not* parsed.
    Text(String),
}

/// Who spoke last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nobody,
    /// The system text stands in a user turn that is still open.
    SystemOpen,
    System,
    User,
    Tools,
    /// An example of ours, closed.
    Assistant,
    /// A turn of the model is being sampled.
    Sampling,
    /// The model's turn is over; its end marker was sampled, or is still owed.
    Sampled {
        marker: bool,
    },
}

/// Renders one conversation. Clone it before a push that may have to be taken back.
#[derive(Debug, Clone)]
pub struct Renderer {
    family: Family,
    last: Last,
}

impl Renderer {
    pub fn new(family: Family) -> Self {
        Self { family, last: Last::Nobody }
    }

    /// The pieces of `messages`, after the closing of the turn before where that is still owed.
    ///
    /// Errors: `Misuse` when the order is not system, then users, examples and tool results that
    /// each follow a turn.
    pub fn push(&mut self, messages: &[Message]) -> Result<Vec<Piece>, ModelError> {
        let mut next = self.clone();
        let mut out = Pieces::default();
        for message in messages {
            next.message(message, &mut out)?;
        }
        *self = next;
        Ok(out.0)
    }

    /// The header that the model's turn is sampled after.
    pub fn start_turn(&mut self) -> Result<Vec<Piece>, ModelError> {
        if !matches!(self.last, Last::User | Last::Tools) {
            return Err(misuse(self.last, "a turn"));
        }
        self.last = Last::Sampling;
        let marks = self.family.marks();
        let mut out = Pieces::default();
        out.special(marks.assistant);
        out.special(marks.no_thoughts);
        Ok(out.0)
    }

    /// The model's turn is over. `marker`: its end-of-turn token was sampled and is in the stream;
    /// otherwise the next push adds it.
    pub fn end_turn(&mut self, marker: bool) {
        if self.last == Last::Sampling {
            self.last = Last::Sampled { marker };
        }
    }

    /// The text of the token that ends a turn of the model.
    pub fn end_marker(&self) -> &'static str {
        self.family.marks().end
    }

    fn message(&mut self, message: &Message, out: &mut Pieces) -> Result<(), ModelError> {
        let marks = self.family.marks();
        match self.last {
            Last::Nobody => out.special(marks.begin),
            Last::Sampled { marker: false } => {
                out.special(marks.end);
                out.special(marks.after_end);
            }
            Last::Sampled { marker: true } => out.special(marks.after_end),
            _ => {}
        }
        self.last = match (message, self.last) {
            (Message::System { text, tools }, Last::Nobody) => {
                let (open, last) = match marks.system {
                    Some(open) => (open, Last::System),
                    None => (marks.user, Last::SystemOpen),
                };
                out.special(open);
                out.text(&hermes::system(text, tools));
                match last {
                    Last::System => out.special(marks.close_system),
                    _ => out.text("\n\n"),
                }
                last
            }
            (Message::User(text), Last::SystemOpen) => {
                out.text(text);
                out.special(marks.close);
                Last::User
            }
            (
                Message::User(text),
                Last::Nobody
                | Last::System
                | Last::User
                | Last::Tools
                | Last::Assistant
                | Last::Sampled { .. },
            ) => {
                out.special(marks.user);
                out.text(text);
                out.special(marks.close);
                Last::User
            }
            (Message::Assistant(text), Last::User | Last::Tools) => {
                out.special(marks.assistant);
                out.text(text);
                out.special(marks.end);
                out.special(marks.after_end);
                Last::Assistant
            }
            (Message::Tools(results), Last::Assistant | Last::Sampled { .. }) => {
                out.special(marks.tools);
                out.text(&results.iter().map(response).collect::<Vec<_>>().join("\n"));
                out.special(marks.close);
                Last::Tools
            }
            (message, last) => return Err(misuse(last, role(message))),
        };
        Ok(())
    }
}

/// The Hermes form that Qwen was trained on. A result that holds the closing tag is disarmed, so
/// that no file can pass for a second result.
pub fn response(result: &ToolResult) -> String {
    let text = result.text.replace("</tool_response", "< /tool_response");
    format!("<tool_response>\n{text}\n</tool_response>")
}

fn role(message: &Message) -> &'static str {
    match message {
        Message::System { .. } => "a system text",
        Message::User(_) => "a user text",
        Message::Assistant(_) => "an example turn",
        Message::Tools(_) => "tool results",
    }
}

fn misuse(last: Last, what: &str) -> ModelError {
    let last = match last {
        Last::Nobody => "nothing",
        Last::SystemOpen | Last::System => "the system text",
        Last::User => "a user text",
        Last::Tools => "tool results",
        Last::Assistant | Last::Sampled { .. } => "a turn",
        Last::Sampling => "an unfinished turn",
    };
    ModelError::Misuse(format!("{what} cannot follow {last}"))
}

/// Neighbours of one kind are joined, so that a tokenizer sees each stretch whole.
#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn special(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Special(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.0.push(Piece::Special(text.to_owned())),
        }
    }

    fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
