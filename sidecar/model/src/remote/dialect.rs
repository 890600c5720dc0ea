use serde_json::{Map, Value};

use super::ToolCalls;

/// Which parts of the API this server takes. Begins with all of them and gives up one at a time,
/// as the server rejects requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    /// Tools go through `tools`; otherwise they stand in the system text.
    pub native: bool,
    /// Whether `native` may be given up.
    pub text_allowed: bool,
    /// `tool_choice: required`; otherwise the model is free to answer in text.
    pub required: bool,
    /// `tool_choice: none`.
    pub none: bool,
    pub parallel: bool,
    pub format: Format,
    pub stream_usage: bool,
    pub sampling: bool,
    /// The limit is called `max_completion_tokens`.
    pub completion_tokens: bool,
}

/// How an answer's form is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Schema,
    Json,
    Words,
}

impl Dialect {
    pub(super) fn new(tool_calls: ToolCalls) -> Self {
        Self {
            native: tool_calls != ToolCalls::Text,
            text_allowed: tool_calls != ToolCalls::Native,
            required: true,
            none: true,
            parallel: true,
            format: Format::Schema,
            stream_usage: true,
            sampling: true,
            completion_tokens: false,
        }
    }

    /// Gives up what the server, which rejected the request `sent`, complains of in `text`; or,
    /// where the text does not tell, the part it most likely lacks. False when nothing is left.
    pub(super) fn give_up(&mut self, sent: &Map<String, Value>, text: &str) -> bool {
        let blamed = |name: &str| text.contains(name);
        let had = |name: &str| sent.contains_key(name);
        let choice = sent.get("tool_choice").and_then(Value::as_str);

        if had("stream_options") && blamed("stream_options") {
            self.stream_usage = false;
        } else if !self.completion_tokens && blamed("max_completion_tokens") {
            self.completion_tokens = true;
        } else if had("parallel_tool_calls") && blamed("parallel_tool_calls") {
            self.parallel = false;
        } else if self.sampling
            && ["temperature", "top_p", "top_k", "seed"]
                .iter()
                .any(|name| had(name) && blamed(name))
        {
            self.sampling = false;
        } else if had("response_format") {
            self.format = match self.format {
                Format::Schema => Format::Json,
                _ => Format::Words,
            };
        } else if choice == Some("required") {
            self.required = false;
        } else if choice == Some("none") {
            self.none = false;
        } else if had("tools") && self.text_allowed {
            self.native = false;
        } else {
            return false;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(body: Value) -> Map<String, Value> {
        body.as_object().unwrap().clone()
    }

    #[test]
    fn what_is_blamed_goes_first_and_the_end_is_reached() {
        let mut dialect = Dialect::new(ToolCalls::Auto);
        let all = sent(json!({
            "tools": [], "tool_choice": "required", "stream_options": {}, "temperature": 0
        }));
        assert!(dialect.give_up(&all, "Unsupported parameter: 'temperature'"));
        assert!(!dialect.sampling && dialect.required);
        assert!(dialect.give_up(&all, "unknown field stream_options"));
        assert!(!dialect.stream_usage && dialect.required);
        assert!(dialect.give_up(&all, "no"));
        assert!(!dialect.required && dialect.native);
        assert!(dialect.give_up(&sent(json!({"tools": []})), "does not support tools"));
        assert!(!dialect.native);
        assert!(!dialect.give_up(&sent(json!({"messages": []})), "no"));
    }

    #[test]
    fn tools_asked_for_natively_are_never_given_up() {
        let mut dialect = Dialect::new(ToolCalls::Native);
        assert!(!dialect.give_up(&sent(json!({"tools": []})), "does not support tools"));
        assert!(dialect.native);
    }
}
