use codegrep_agent::{Ask, Constraint};
use serde_json::{Map, Value, json};

use super::conversation::Conversation;
use super::dialect::{Dialect, Format};

/// The body of a chat request in the dialect of the server.
pub(super) fn request(
    model: &str,
    conversation: &Conversation,
    ask: &Ask,
    max_tokens: u32,
    dialect: &Dialect,
) -> Map<String, Value> {
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("model", json!(model));
    set("messages", Value::Array(conversation.messages(dialect.native)));
    set("stream", json!(true));
    if dialect.stream_usage {
        set("stream_options", json!({"include_usage": true}));
    }
    set(
        if dialect.completion_tokens { "max_completion_tokens" } else { "max_tokens" },
        json!(max_tokens),
    );
    if dialect.sampling {
        let sampling = ask.sampling;
        set("temperature", number(sampling.temperature));
        if sampling.temperature > 0.0 {
            set("seed", json!(sampling.seed));
            if sampling.top_p < 1.0 {
                set("top_p", number(sampling.top_p));
            }
            if sampling.top_k > 0 {
                set("top_k", json!(sampling.top_k));
            }
        }
    }
    let tools = conversation.tools();
    if dialect.native && !tools.is_empty() {
        // They stay in the answer turn, where none may be called: without them the server would
        // render another prompt and read all of it again.
        let list = tools.iter().map(|tool| json!({"type": "function", "function": tool})).collect();
        set("tools", Value::Array(list));
        match &ask.constraint {
            Constraint::Calls { or_answer: false, .. } if dialect.required => {
                set("tool_choice", json!("required"));
            }
            Constraint::Answer { .. } if dialect.none => {
                set("tool_choice", json!("none"));
            }
            _ => {}
        }
        if dialect.parallel && !matches!(ask.constraint, Constraint::Answer { .. }) {
            set("parallel_tool_calls", json!(true));
        }
    }
    if let Constraint::Answer { schema, .. } = &ask.constraint {
        match dialect.format {
            Format::Schema => {
                let schema = json!({"name": "answer", "strict": true, "schema": schema});
                set("response_format", json!({"type": "json_schema", "json_schema": schema}));
            }
            Format::Json => {
                set("response_format", json!({"type": "json_object"}));
            }
            Format::Words => {}
        }
    }
    body
}

/// As it was written, not as the nearest f64.
fn number(value: f32) -> Value {
    value.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}
