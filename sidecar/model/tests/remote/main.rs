//! The `openai` model against servers that behave, that lack parts of the API, and that fail.

mod dialects;
mod faults;
mod server;
mod turns;
mod whole;

use std::sync::Arc;

use codegrep_agent::{Ask, Chat, Constraint, Message, Model, Sampling, ToolSpec};
use codegrep_model::ModelConfig;
use codegrep_model::remote::RemoteConfig;
use codegrep_tree::Watch;
use serde_json::json;

fn model(config: RemoteConfig) -> Arc<dyn Model> {
    codegrep_model::open(&ModelConfig::OpenAi(config), &Watch::idle()).unwrap()
}

fn tools() -> Vec<ToolSpec> {
    vec![ToolSpec {
        name: "grep".into(),
        description: "Searches.".into(),
        parameters: json!({"type": "object", "properties": {"pattern": {"type": "string"}}}),
    }]
}

/// A conversation in which a task was just given.
fn asked(config: RemoteConfig) -> Box<dyn Chat> {
    let mut chat = model(config).open(&Watch::idle()).unwrap();
    chat.push(&[
        Message::System { text: "Find files.".into(), tools: tools() },
        Message::User("Where is x?".into()),
    ])
    .unwrap();
    chat
}

fn ask(constraint: Constraint) -> Ask {
    Ask { constraint, max_tokens: 100, sampling: Sampling::GREEDY }
}

fn calls() -> Ask {
    ask(Constraint::Calls { max: 8, or_answer: false, grammar: String::new() })
}

fn answer() -> Ask {
    let schema = json!({"type": "object"});
    ask(Constraint::Answer { grammar: String::new(), schema })
}
