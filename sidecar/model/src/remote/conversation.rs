use codegrep_agent::render::{self, json};
use codegrep_agent::{Message, ModelError, ToolResult, ToolSpec, syntax};
use serde_json::{Value, json};

use super::reply::{Reply, WireCall, spoken};

/// What was said so far. Only ever grows; each dialect renders it so that what was sent before is
/// sent again, word for word, at the start of every request.
#[derive(Debug, Clone, Default)]
pub(super) struct Conversation {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
enum Entry {
    System {
        text: String,
        tools: Vec<ToolSpec>,
    },
    User(String),
    /// A turn of the model, or an example. `calls` are those of `text` in the API's form; empty
    /// when the server would not take them back as such.
    Turn {
        text: String,
        calls: Vec<WireCall>,
    },
    Results(Vec<ToolResult>),
}

impl Conversation {
    pub(super) fn push(&mut self, messages: &[Message]) -> Result<(), ModelError> {
        let before = self.entries.len();
        for message in messages {
            if let Err(error) = self.push_one(message) {
                self.entries.truncate(before);
                return Err(error);
            }
        }
        Ok(())
    }

    fn push_one(&mut self, message: &Message) -> Result<(), ModelError> {
        let entry = match (message, self.entries.last()) {
            (Message::System { text, tools }, None) => {
                Entry::System { text: text.clone(), tools: tools.clone() }
            }
            (Message::System { .. }, Some(_)) => {
                return Err(ModelError::Misuse("a system text must come first".into()));
            }
            (Message::User(text), _) => Entry::User(text.clone()),
            (Message::Assistant(text), _) => {
                Entry::Turn { text: text.clone(), calls: calls_in(text) }
            }
            (Message::Tools(results), Some(Entry::Turn { .. })) => Entry::Results(results.clone()),
            (Message::Tools(_), _) => {
                return Err(ModelError::Misuse("tool results must follow a turn".into()));
            }
        };
        self.entries.push(entry);
        Ok(())
    }

    /// Appends what the model said; returns it in the profile's call syntax.
    pub(super) fn take(&mut self, reply: &Reply) -> String {
        let mut text = spoken(&reply.content).trim().to_owned();
        let mut calls = Vec::new();
        for call in &reply.calls {
            let written = call.arguments.trim();
            let arguments = match written {
                "" => Ok(json!({})),
                written => serde_json::from_str::<Value>(written),
            };
            let (shown, object) = match arguments {
                Ok(value) => (json(&value), value.is_object()),
                // Shown as the model wrote it: what is wrong with it is for the loop to say.
                Err(_) => (written.to_owned(), false),
            };
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!(
                "<tool_call>\n{{\"name\": {}, \"arguments\": {shown}}}\n</tool_call>",
                json(&call.name)
            ));
            if object {
                calls.push(WireCall { arguments: shown, ..call.clone() });
            }
        }
        if calls.len() < reply.calls.len() {
            // Servers parse the arguments of earlier calls and fail on those that are no object.
            calls.clear();
        }
        self.entries.push(Entry::Turn { text: text.clone(), calls });
        text
    }

    /// Whether the model is to speak next.
    pub(super) fn awaits_turn(&self) -> bool {
        matches!(self.entries.last(), Some(Entry::User(_) | Entry::Results(_)))
    }

    pub(super) fn tools(&self) -> &[ToolSpec] {
        match self.entries.first() {
            Some(Entry::System { tools, .. }) => tools,
            _ => &[],
        }
    }

    /// The `messages` of a request.
    pub(super) fn messages(&self, native: bool) -> Vec<Value> {
        let mut out = Vec::new();
        // Ids of the calls that wait for results.
        let mut open: Vec<String> = Vec::new();
        for (at, entry) in self.entries.iter().enumerate() {
            if !matches!(entry, Entry::Results(_)) {
                close(&mut open, &mut out);
            }
            match entry {
                Entry::System { text, tools } => {
                    let text = render::system(text, if native { &[] } else { tools });
                    out.push(json!({"role": "system", "content": text}));
                }
                Entry::User(text) => out.push(json!({"role": "user", "content": text})),
                Entry::Turn { text, calls } if native && !calls.is_empty() => {
                    let content =
                        text.split_once("<tool_call>").map_or("", |(said, _)| said.trim());
                    let mut list = Vec::new();
                    for (i, call) in calls.iter().enumerate() {
                        let id = match call.id.as_str() {
                            // Nine letters and digits, as Mistral's servers insist on.
                            "" => format!("call{:03}{:02}", at % 1000, i % 100),
                            id => id.to_owned(),
                        };
                        list.push(json!({
                            "id": id, "type": "function",
                            "function": {"name": call.name, "arguments": call.arguments},
                        }));
                        open.push(id);
                    }
                    out.push(json!({"role": "assistant", "content": content, "tool_calls": list}));
                }
                Entry::Turn { text, .. } => {
                    out.push(json!({"role": "assistant", "content": text}));
                }
                Entry::Results(results) => {
                    let answered = open.len().min(results.len());
                    for (id, result) in open.drain(..answered).zip(results) {
                        out.push(json!({
                            "role": "tool", "tool_call_id": id, "content": result.text,
                        }));
                    }
                    close(&mut open, &mut out);
                    let rest: Vec<_> = results[answered..].iter().map(render::response).collect();
                    if !rest.is_empty() {
                        out.push(json!({"role": "user", "content": rest.join("\n")}));
                    }
                }
            }
        }
        out
    }
}

/// Servers refuse a conversation in which a call has no result.
fn close(open: &mut Vec<String>, out: &mut Vec<Value>) {
    for id in open.drain(..) {
        out.push(json!({"role": "tool", "tool_call_id": id, "content": "not run"}));
    }
}

/// The calls of an example; none where one of them cannot be read.
fn calls_in(example: &str) -> Vec<WireCall> {
    let calls = syntax::calls(example).into_iter().map(|call| {
        let call = call.ok()?;
        let arguments = json(&call.arguments);
        Some(WireCall { id: String::new(), name: call.name, arguments })
    });
    calls.collect::<Option<_>>().unwrap_or_default()
}
