use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use codegrep_agent::{Ask, Chat, Constraint, Message, Model, Sampling, ToolResult};
use codegrep_model::{LlamaConfig, ModelConfig};
use codegrep_tree::Watch;

/// The real model; the message tells how to get it.
pub fn model_path() -> PathBuf {
    let path = std::env::var_os("CODEGREP_TEST_MODEL").map(PathBuf::from).unwrap_or_else(|| {
        let cache = std::env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .unwrap_or_else(|| std::env::home_dir().expect("a home folder").join(".cache"));
        cache.join("codegrep/models/smollm2-135m-instruct-q4_1.gguf")
    });
    assert!(path.is_file(), "{} is missing: run `make model-fixtures`", path.display());
    path
}

/// An engine that no other test has: those with the same settings are shared, cache and all.
pub fn config() -> LlamaConfig {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let n_ctx = Some(4352 + CALLS.fetch_add(1, Ordering::Relaxed));
    LlamaConfig { n_ctx, ..LlamaConfig::new(model_path()) }
}

pub fn open(config: LlamaConfig) -> Arc<dyn Model> {
    codegrep_model::open(&ModelConfig::Llama(config), &Watch::idle()).unwrap()
}

/// One model for the tests that need nothing special of it.
pub fn model() -> &'static Arc<dyn Model> {
    static MODEL: OnceLock<Arc<dyn Model>> = OnceLock::new();
    MODEL.get_or_init(|| open(config()))
}

/// A conversation with a question in it.
pub fn chat(model: &dyn Model, question: &str) -> Box<dyn Chat> {
    let mut chat = model.open(&Watch::idle()).unwrap();
    let system = "You are a helpful assistant that knows a lot about programming.".to_owned();
    chat.push(&[
        Message::System { text: system, tools: Vec::new() },
        Message::User(question.to_owned()),
    ])
    .unwrap();
    chat
}

pub fn greedy(max_tokens: u32) -> Ask {
    Ask { constraint: Constraint::Free, max_tokens, sampling: Sampling::GREEDY }
}

pub fn constrained(max_tokens: u32, grammar: &str) -> Ask {
    let grammar = grammar.to_owned();
    let constraint = Constraint::Calls { max: 8, or_answer: false, grammar };
    Ask { constraint, ..greedy(max_tokens) }
}

pub fn results(text: &str) -> Message {
    Message::Tools(vec![ToolResult { tool: "grep".into(), text: text.into() }])
}

/// Three tokens a number.
pub fn long_text(numbers: usize) -> String {
    (0..numbers).map(|n| format!("item {} ", n % 10)).collect()
}
