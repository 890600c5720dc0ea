//! What the server sends, put together: a stream of deltas or one whole completion.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// One event of a stream, or a whole completion: they differ in `delta` and `message` only.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Tokens>,
    /// Sent instead of a choice when generation fails after the response began.
    pub error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    delta: Option<Said>,
    message: Option<Said>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Said {
    content: Option<Content>,
    /// Thoughts are no part of the turn; servers have two names for them.
    reasoning: Option<IgnoredAny>,
    reasoning_content: Option<IgnoredAny>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    /// Parts, of which thoughts and images are skipped.
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CallDelta {
    index: Option<usize>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Debug, Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    /// A piece of JSON text; some servers send the object itself.
    arguments: Option<Value>,
}

/// The server's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Tokens {
    #[serde(default)]
    pub prompt_tokens: u32,
    #[serde(default)]
    pub completion_tokens: u32,
    prompt_tokens_details: Option<Details>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
struct Details {
    cached_tokens: Option<u32>,
}

impl Tokens {
    /// Prompt tokens that were evaluated and not found in the cache.
    pub(super) fn evaluated(&self) -> Option<u32> {
        let cached = self.prompt_tokens_details?.cached_tokens?;
        Some(self.prompt_tokens.saturating_sub(cached))
    }
}

/// A tool call as the API has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WireCall {
    pub id: String,
    pub name: String,
    /// JSON text of an object, if the model wrote one.
    pub arguments: String,
}

/// A turn in the making.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub content: String,
    pub calls: Vec<WireCall>,
    pub finish: Option<String>,
    pub tokens: Option<Tokens>,
    /// Whether any choice came at all.
    pub begun: bool,
    thought: bool,
    /// Index the server gave each of `calls`.
    indices: Vec<Option<usize>>,
}

impl Reply {
    pub(super) fn take(&mut self, chunk: Chunk) {
        if chunk.usage.is_some() {
            self.tokens = chunk.usage;
        }
        let Some(choice) = chunk.choices.into_iter().next() else { return };
        self.begun = true;
        if choice.finish_reason.is_some() {
            self.finish = choice.finish_reason;
        }
        let Some(said) = choice.delta.or(choice.message) else { return };
        self.thought |= said.reasoning.is_some() || said.reasoning_content.is_some();
        match said.content {
            Some(Content::Text(text)) => self.content.push_str(&text),
            Some(Content::Parts(parts)) => {
                self.content.extend(parts.into_iter().filter_map(|part| part.text));
            }
            None => {}
        }
        for delta in said.tool_calls.into_iter().flatten() {
            self.take_call(delta);
        }
    }

    /// Whether all the tokens it had went into thoughts.
    pub(super) fn only_thought(&self) -> bool {
        let silent = self.calls.is_empty() && spoken(&self.content).trim().is_empty();
        let thought = self.thought || !self.content.trim().is_empty();
        silent && thought && self.finish.as_deref() == Some("length")
    }

    /// A delta continues the call of its index. Servers that leave the index out, or give every
    /// call the same one, begin each call with an id of its own.
    fn take_call(&mut self, delta: CallDelta) {
        let id = delta.id.unwrap_or_default();
        let function = delta.function.unwrap_or(FunctionDelta { name: None, arguments: None });
        let open = match delta.index {
            Some(_) => self.indices.iter().rposition(|index| *index == delta.index),
            None => self.calls.len().checked_sub(1),
        };
        let open = open
            .filter(|&at| id.is_empty() || self.calls[at].id == id)
            .filter(|_| delta.index.is_some() || !id.is_empty() || function.name.is_none());
        let at = open.unwrap_or_else(|| {
            self.indices.push(delta.index);
            self.calls.push(WireCall { id, ..WireCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        call.name.push_str(&function.name.unwrap_or_default());
        match function.arguments {
            Some(Value::String(piece)) => call.arguments.push_str(&piece),
            Some(Value::Null) | None => {}
            Some(object) => call.arguments.push_str(&object.to_string()),
        }
    }
}

/// `text` without the thoughts that some models write before they speak.
pub(super) fn spoken(text: &str) -> &str {
    match text.split_once("</think>") {
        // Where the chat template opens the thought, only its end is in the text.
        Some((thought, rest)) if !thought.contains("<tool_call>") => rest.trim_start(),
        _ if text.trim_start().starts_with("<think>") => "",
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(chunks: &[&str]) -> Reply {
        let mut reply = Reply::default();
        for chunk in chunks {
            reply.take(serde_json::from_str(chunk).unwrap());
        }
        reply
    }

    fn call(id: &str, name: &str, arguments: &str) -> WireCall {
        WireCall { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    #[test]
    fn deltas_of_two_calls_are_put_together() {
        let reply = reply(&[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"hm"}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"grep","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"pattern\""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"glob","arguments":"{}"}},{"index":0,"id":"","function":{"name":null,"arguments":":\"x\"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":5}}}"#,
        ]);
        assert_eq!(reply.calls, [call("a", "grep", r#"{"pattern":"x"}"#), call("b", "glob", "{}")]);
        assert_eq!(reply.content, "");
        assert_eq!(reply.finish.as_deref(), Some("tool_calls"));
        assert_eq!(reply.tokens.unwrap().evaluated(), Some(4));
    }

    #[test]
    fn calls_that_share_an_index_or_have_none_stay_apart() {
        let same = reply(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"grep","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"glob","arguments":"{}"}}]}}]}"#,
        ]);
        let none = reply(&[
            r#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"grep","arguments":{}}},{"id":"b","function":{"name":"glob","arguments":{}}}]}}]}"#,
        ]);
        let bare = reply(&[
            r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"grep","arguments":"{}"}},{"function":{"name":"glob","arguments":"{}"}}]}}]}"#,
        ]);
        let want = [call("a", "grep", "{}"), call("b", "glob", "{}")];
        assert_eq!(same.calls, want);
        assert_eq!(none.calls, want);
        assert_eq!(bare.calls, [call("", "grep", "{}"), call("", "glob", "{}")]);
    }

    #[test]
    fn content_may_come_in_parts() {
        let reply = reply(&[
            r#"{"choices":[{"delta":{"content":"a"}}]}"#,
            r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"b"}]}}]}"#,
        ]);
        assert_eq!(reply.content, "ab");
    }

    #[test]
    fn thoughts_are_left_out() {
        for (text, want) in [
            ("<think>\nhm\n</think>\n\n{\"files\":[]}", "{\"files\":[]}"),
            ("hm\n</think>\nx", "x"),
            ("<think>without end", ""),
            ("plain", "plain"),
            ("<tool_call>\n{\"a\":\"</think>\"}", "<tool_call>\n{\"a\":\"</think>\"}"),
        ] {
            assert_eq!(spoken(text), want, "{text}");
        }
    }
}
