use codegrep_agent::{Message, ModelError};
use codegrep_model::remote::{RemoteConfig, ToolCalls};
use codegrep_tree::Watch;
use serde_json::{Value, json};

use crate::server::{Reply, Server, json_reply, says};
use crate::{answer, asked, calls};

fn rejects(message: &str) -> Reply {
    json_reply(400, &json!({"error": {"message": message}}))
}

fn field(server: &Server, name: &str) -> Vec<Value> {
    server.bodies().iter().map(|body| body.get(name).cloned().unwrap_or(Value::Null)).collect()
}

#[test]
fn a_server_without_tools_gets_them_in_the_text_and_is_not_asked_again() {
    let server = Server::start(vec![
        rejects("stub does not support tools"),
        rejects("stub does not support tools"),
        says("<tool_call>\n{\"name\": \"grep\", \"arguments\": {}}\n</tool_call>"),
        says("{}"),
    ]);
    let mut chat = asked(RemoteConfig::new(&server.url, "stub"));
    chat.turn(&calls(), &Watch::idle()).unwrap();
    chat.push(&[Message::User("Go on.".into())]).unwrap();
    chat.turn(&calls(), &Watch::idle()).unwrap();
    assert_eq!(
        field(&server, "tool_choice"),
        [json!("required"), Value::Null, Value::Null, Value::Null]
    );
    let tools: Vec<bool> = field(&server, "tools").iter().map(Value::is_array).collect();
    assert_eq!(tools, [true, true, false, false]);
    let system = server.bodies()[2]["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(system.contains("<tools>\n{\"type\": \"function\""), "{system}");
}

#[test]
fn a_server_that_names_the_missing_flag_in_a_500_is_understood() {
    let server = Server::start(vec![
        json_reply(500, &json!({"error": {"message": "tools param requires --jinja flag"}})),
        json_reply(500, &json!({"error": {"message": "tools param requires --jinja flag"}})),
        says("ok"),
    ]);
    asked(RemoteConfig::new(&server.url, "stub")).turn(&calls(), &Watch::idle()).unwrap();
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn tools_that_must_be_native_are_an_error_where_they_are_rejected() {
    let server = Server::start(vec![rejects("no tools"), rejects("no tools")]);
    let error = asked(RemoteConfig {
        tool_calls: ToolCalls::Native,
        ..RemoteConfig::new(&server.url, "stub")
    })
    .turn(&calls(), &Watch::idle())
    .unwrap_err();
    let origin = server.url.trim_end_matches("/v1");
    assert_eq!(error.to_string(), format!("{origin} rejected the request (400): no tools"));
}

#[test]
fn the_form_of_an_answer_is_asked_for_ever_more_plainly() {
    let server = Server::start(vec![
        rejects("response_format.type must be text or json_object"),
        rejects("'messages' must contain the word 'json'"),
        says("{}"),
    ]);
    asked(RemoteConfig::new(&server.url, "stub")).turn(&answer(), &Watch::idle()).unwrap();
    let formats: Vec<Value> = field(&server, "response_format")
        .into_iter()
        .map(|format| format["type"].clone())
        .collect();
    assert_eq!(formats, [json!("json_schema"), json!("json_object"), Value::Null]);
    assert_eq!(field(&server, "tool_choice"), vec![json!("none"); 3]);
}

#[test]
fn parameters_that_are_blamed_are_left_out_or_renamed() {
    let server = Server::start(vec![
        rejects("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        rejects("Unsupported value: 'temperature' does not support 0.0 with this model."),
        rejects("extra inputs are not permitted: stream_options"),
        rejects("Unknown parameter: 'parallel_tool_calls'."),
        says("ok"),
    ]);
    asked(RemoteConfig::new(&server.url, "stub")).turn(&calls(), &Watch::idle()).unwrap();
    let mut last = server.bodies().pop().unwrap();
    for name in ["messages", "tools"] {
        last.as_object_mut().unwrap().remove(name);
    }
    assert_eq!(
        last,
        json!({"model": "stub", "stream": true, "max_completion_tokens": 100,
            "tool_choice": "required"})
    );
}

#[test]
fn a_rejection_that_no_plainness_cures_is_not_remembered() {
    let bad = "the image could not be decoded";
    let mut replies = vec![rejects(bad); 3];
    replies.push(says("ok"));
    let server = Server::start(replies);
    let mut chat = asked(RemoteConfig::new(&server.url, "stub"));
    let error = chat.turn(&calls(), &Watch::idle()).unwrap_err();
    assert!(
        error.to_string().ends_with("rejected the request (400): the image could not be decoded")
    );
    chat.turn(&calls(), &Watch::idle()).unwrap();
    assert_eq!(field(&server, "tool_choice").pop(), Some(json!("required")));
}

#[test]
fn a_context_smaller_than_the_settings_have_it_is_learned() {
    let full = "This model's maximum context length is 400 tokens. However, you requested 4150 \
                tokens (54 in the messages, 4096 in the completion).";
    let server = Server::start(vec![rejects(full), says("ok")]);
    let mut chat = asked(RemoteConfig::new(&server.url, "stub"));
    let mut long = calls();
    long.max_tokens = 4096;
    chat.turn(&long, &Watch::idle()).unwrap();
    assert_eq!(chat.room().capacity, 400);
    let sent = field(&server, "max_tokens");
    assert_eq!(sent[0], 4096);
    assert!(sent[1].as_u64().unwrap() < 400, "{sent:?}");

    let error = chat.push(&[Message::User("x".repeat(2000))]).unwrap_err();
    assert!(matches!(error, ModelError::Full { capacity: 400, .. }), "{error}");
}
