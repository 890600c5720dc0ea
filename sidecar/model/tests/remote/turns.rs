use codegrep_agent::{Constraint, Message, ModelError, Sampling, ToolResult, Turn, TurnEnd, Usage};
use codegrep_model::remote::{RemoteConfig, ToolCalls};
use codegrep_tree::Watch;
use expect_test::expect;
use serde_json::{Value, json};

use crate::server::{Server, json_reply, says, stream};
use crate::{answer, ask, asked, calls, model, tools};

fn result(text: &str) -> ToolResult {
    ToolResult { tool: "grep".into(), text: text.into() }
}

fn two_calls() -> Vec<Value> {
    vec![
        json!({"role": "assistant", "content": null, "reasoning_content": "Let me look."}),
        json!({"tool_calls": [{"index": 0, "id": "call_a", "type": "function",
            "function": {"name": "grep", "arguments": ""}}]}),
        json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"pattern\":"}}]}),
        json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"x\"}"}},
            {"index": 1, "id": "call_b", "function": {"name": "grep", "arguments": "{}"}}]}),
    ]
}

/// Two fifths of a token a byte; thoughts are generated and not sent again.
#[test]
fn a_reply_without_the_servers_count_is_estimated_once() {
    for (text, generated, kept) in [
        ("x".repeat(100), 40, 40),
        (format!("<think>{}</think>{}", "y".repeat(85), "x".repeat(100)), 80, 40),
    ] {
        let server = Server::start(vec![says(&text)]);
        let mut chat = asked(RemoteConfig::new(&server.url, "stub"));
        let before = chat.room().used;
        let turn = chat.turn(&calls(), &Watch::idle()).unwrap();
        assert_eq!(turn.text, "x".repeat(100));
        let usage = Usage { prompt_new: before, evaluated: None, generated };
        assert_eq!((turn.usage, chat.room().used), (usage, before + kept), "{text}");
    }
}

#[test]
fn a_conversation_of_calls_results_and_an_answer() {
    let server = Server::start(vec![
        stream(
            &two_calls(),
            "tool_calls",
            Some(json!({"prompt_tokens": 50, "completion_tokens": 20})),
        ),
        stream(
            &[json!({"content": "{\"files\""}), json!({"content": ":[]}"})],
            "stop",
            Some(json!({"prompt_tokens": 90, "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 64}})),
        ),
    ]);
    let mut chat = asked(RemoteConfig {
        api_key: Some(String::from("secret").into()),
        ..RemoteConfig::new(&server.url, "stub")
    });
    let watch = Watch::idle();
    let first = chat.turn(&calls(), &watch).unwrap();
    assert_eq!(
        first,
        Turn {
            text: "<tool_call>\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}\n</tool_call>\n\
                   <tool_call>\n{\"name\": \"grep\", \"arguments\": {}}\n</tool_call>"
                .into(),
            end: TurnEnd::Stop,
            usage: Usage { prompt_new: 50, evaluated: None, generated: 20 },
            reproducible: false,
            trace: None,
        }
    );
    assert_eq!(chat.room().used, 70);
    chat.push(&[
        Message::Tools(vec![result("a.rs:1:x"), result("no match")]),
        Message::User("Answer now.".into()),
    ])
    .unwrap();
    let second = chat.turn(&answer(), &watch).unwrap();
    assert_eq!(
        second,
        Turn {
            text: "{\"files\":[]}".into(),
            end: TurnEnd::Stop,
            usage: Usage { prompt_new: 20, evaluated: Some(26), generated: 5 },
            reproducible: false,
            trace: None,
        }
    );

    let requests = server.requests();
    assert_eq!(requests[0].line, "POST /v1/chat/completions HTTP/1.1");
    assert!(requests[0].headers.contains(&"authorization: Bearer secret".to_owned()));
    let [one, two] = [&requests[0].body, &requests[1].body];
    // Only ever appended to.
    let earlier = one["messages"].as_array().unwrap();
    assert_eq!(&two["messages"].as_array().unwrap()[..earlier.len()], &earlier[..]);
    assert_eq!(one["tools"], two["tools"]);
    expect![[r#"
        {
          "model": "stub",
          "messages": [
            {
              "role": "system",
              "content": "Find files."
            },
            {
              "role": "user",
              "content": "Where is x?"
            },
            {
              "role": "assistant",
              "content": "",
              "tool_calls": [
                {
                  "id": "call_a",
                  "type": "function",
                  "function": {
                    "name": "grep",
                    "arguments": "{\"pattern\": \"x\"}"
                  }
                },
                {
                  "id": "call_b",
                  "type": "function",
                  "function": {
                    "name": "grep",
                    "arguments": "{}"
                  }
                }
              ]
            },
            {
              "role": "tool",
              "tool_call_id": "call_a",
              "content": "a.rs:1:x"
            },
            {
              "role": "tool",
              "tool_call_id": "call_b",
              "content": "no match"
            },
            {
              "role": "user",
              "content": "Answer now."
            }
          ],
          "stream": true,
          "stream_options": {
            "include_usage": true
          },
          "max_tokens": 100,
          "temperature": 0.0,
          "tools": [
            {
              "type": "function",
              "function": {
                "name": "grep",
                "description": "Searches.",
                "parameters": {
                  "type": "object",
                  "properties": {
                    "pattern": {
                      "type": "string"
                    }
                  }
                }
              }
            }
          ],
          "tool_choice": "none",
          "response_format": {
            "type": "json_schema",
            "json_schema": {
              "name": "answer",
              "strict": true,
              "schema": {
                "type": "object"
              }
            }
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(two).unwrap());
    assert_eq!(one["tool_choice"], "required");
    assert_eq!(one.get("response_format"), None);
}

#[test]
fn tools_in_the_text_are_described_and_answered_in_the_text() {
    let said =
        "<tool_call>\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}\n</tool_call>";
    let server = Server::start(vec![says(said), says("{\"files\":[]}")]);
    let mut chat = asked(RemoteConfig {
        tool_calls: ToolCalls::Text,
        ..RemoteConfig::new(&server.url, "stub")
    });
    assert_eq!(chat.turn(&calls(), &Watch::idle()).unwrap().text, said);
    chat.push(&[Message::Tools(vec![result("a.rs:1:x")])]).unwrap();
    chat.turn(&answer(), &Watch::idle()).unwrap();
    let body = &server.bodies()[1];
    assert_eq!((body.get("tools"), body.get("tool_choice")), (None, None));
    expect![[r#"
        [
          {
            "role": "system",
            "content": "Find files.\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"grep\", \"description\": \"Searches.\", \"parameters\": {\"type\": \"object\", \"properties\": {\"pattern\": {\"type\": \"string\"}}}}}\n</tools>\n\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>"
          },
          {
            "role": "user",
            "content": "Where is x?"
          },
          {
            "role": "assistant",
            "content": "<tool_call>\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}\n</tool_call>"
          },
          {
            "role": "user",
            "content": "<tool_response>\na.rs:1:x\n</tool_response>"
          }
        ]"#]].assert_eq(&serde_json::to_string_pretty(&body["messages"]).unwrap());
}

#[test]
fn a_whole_completion_is_taken_where_a_stream_was_asked_for() {
    let server = Server::start(vec![json_reply(
        200,
        &json!({"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 1}}),
    )]);
    let turn = asked(RemoteConfig::new(&server.url, "stub"))
        .turn(&ask(Constraint::Free), &Watch::idle())
        .unwrap();
    assert_eq!((turn.text.as_str(), turn.end), ("hi", TurnEnd::Length));
}

#[test]
fn arguments_that_are_no_object_are_shown_as_written_and_sent_back_as_text() {
    let broken = json!({"tool_calls": [{"index": 0, "id": "a",
        "function": {"name": "grep", "arguments": "{\"pattern\": "}}]});
    let server = Server::start(vec![stream(&[broken], "tool_calls", None), says("ok")]);
    let mut chat = asked(RemoteConfig::new(&server.url, "stub"));
    let turn = chat.turn(&calls(), &Watch::idle()).unwrap();
    let shown = "<tool_call>\n{\"name\": \"grep\", \"arguments\": {\"pattern\":}\n</tool_call>";
    assert_eq!(turn.text, shown);
    chat.push(&[Message::User("Write valid JSON.".into())]).unwrap();
    chat.turn(&calls(), &Watch::idle()).unwrap();
    let messages = server.bodies()[1]["messages"].clone();
    assert_eq!(messages[2], json!({"role": "assistant", "content": shown}));
    assert_eq!(messages[3], json!({"role": "user", "content": "Write valid JSON."}));
}

#[test]
fn calls_that_got_no_result_are_closed() {
    let server = Server::start(vec![stream(&two_calls(), "tool_calls", None), says("ok")]);
    let mut chat = asked(RemoteConfig::new(&server.url, "stub"));
    chat.turn(&calls(), &Watch::idle()).unwrap();
    chat.push(&[Message::User("Stop.".into())]).unwrap();
    chat.turn(&calls(), &Watch::idle()).unwrap();
    let messages = server.bodies()[1]["messages"].as_array().unwrap().clone();
    assert_eq!(
        messages[3..],
        [
            json!({"role": "tool", "tool_call_id": "call_a", "content": "not run"}),
            json!({"role": "tool", "tool_call_id": "call_b", "content": "not run"}),
            json!({"role": "user", "content": "Stop."}),
        ]
    );
}

#[test]
fn examples_are_sent_as_calls() {
    let server = Server::start(vec![says("ok")]);
    let mut chat = model(RemoteConfig::new(&server.url, "stub")).open(&Watch::idle()).unwrap();
    chat.push(&[
        Message::System { text: "Find.".into(), tools: tools() },
        Message::User("An example.".into()),
        Message::Assistant(
            "I look.\n<tool_call>\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"y\"}}\n</tool_call>".into(),
        ),
        Message::Tools(vec![result("y.rs:1:y")]),
        Message::Assistant("{\"files\":[]}".into()),
        Message::User("The task.".into()),
    ])
    .unwrap();
    chat.turn(&calls(), &Watch::idle()).unwrap();
    let messages = server.bodies()[0]["messages"].as_array().unwrap().clone();
    assert_eq!(
        messages[2..5],
        [
            json!({"role": "assistant", "content": "I look.", "tool_calls": [{"id": "call00200",
                "type": "function",
                "function": {"name": "grep", "arguments": "{\"pattern\": \"y\"}"}}]}),
            json!({"role": "tool", "tool_call_id": "call00200", "content": "y.rs:1:y"}),
            json!({"role": "assistant", "content": "{\"files\":[]}"}),
        ]
    );
}

#[test]
fn sampling_is_sent_as_written() {
    let server = Server::start(vec![says("a"), says("b")]);
    let mut chat = asked(RemoteConfig::new(&server.url, "stub"));
    let mut sampled = ask(Constraint::Free);
    sampled.sampling = Sampling { temperature: 0.7, top_p: 0.8, top_k: 20, seed: 5 };
    chat.turn(&sampled, &Watch::idle()).unwrap();
    chat.push(&[Message::User("More.".into())]).unwrap();
    chat.turn(&ask(Constraint::Free), &Watch::idle()).unwrap();
    let read =
        |body: &Value| ["temperature", "top_p", "top_k", "seed"].map(|name| body[name].clone());
    let bodies = server.bodies();
    assert_eq!(read(&bodies[0]), [json!(0.7), json!(0.8), json!(20), json!(5)]);
    assert_eq!(read(&bodies[1]), [json!(0.0), Value::Null, Value::Null, Value::Null]);
}

#[test]
fn what_the_settings_add_is_sent() {
    let server = Server::start(vec![says("a")]);
    let extra = json!({"chat_template_kwargs": {"enable_thinking": false}, "temperature": 1});
    let mut chat = asked(RemoteConfig {
        extra_body: extra.as_object().unwrap().clone(),
        ..RemoteConfig::new(&server.url, "stub")
    });
    chat.turn(&calls(), &Watch::idle()).unwrap();
    let body = &server.bodies()[0];
    assert_eq!(body["chat_template_kwargs"], json!({"enable_thinking": false}));
    assert_eq!(body["temperature"], 1);
}

#[test]
fn the_only_model_need_not_be_named() {
    let server = Server::start(vec![says("a"), says("b")]);
    let model = model(RemoteConfig::new(&server.url, ""));
    let mut chat = model.open(&Watch::idle()).unwrap();
    chat.push(&[Message::User("u".into())]).unwrap();
    chat.turn(&calls(), &Watch::idle()).unwrap();
    assert_eq!(model.info().name, "stub");
    chat.push(&[Message::User("v".into())]).unwrap();
    chat.turn(&calls(), &Watch::idle()).unwrap();
    // Asked for once.
    let lines: Vec<String> =
        server.requests().iter().map(|request| request.line[..4].to_owned()).collect();
    assert_eq!(lines, ["GET ", "POST", "POST"]);

    let two = json_reply(200, &json!({"data": [{"id": "a"}, {"id": "b"}]}));
    let server = Server::with_models(two, vec![]);
    let error =
        asked(RemoteConfig::new(&server.url, "")).turn(&calls(), &Watch::idle()).unwrap_err();
    assert!(error.to_string().ends_with(" offers 2 models, and none is named"), "{error}");
    assert_eq!(error.hint(), "name one of: a, b");
}

#[test]
fn forks_go_on_alone() {
    let server = Server::start(vec![says("one"), says("two"), says("three")]);
    let mut chat = asked(RemoteConfig::new(&server.url, "stub"));
    chat.turn(&calls(), &Watch::idle()).unwrap();
    let mut forks = chat.fork(2).unwrap();
    for (i, fork) in forks.iter_mut().enumerate() {
        fork.push(&[Message::User(format!("Fork {i}"))]).unwrap();
        fork.turn(&calls(), &Watch::idle()).unwrap();
    }
    let bodies = server.bodies();
    let last =
        |body: &Value| body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert_eq!([last(&bodies[1]), last(&bodies[2])], [json!("Fork 0"), json!("Fork 1")]);
    assert_eq!(bodies[2]["messages"].as_array().unwrap().len(), 4);
}

#[test]
fn what_is_out_of_order_or_impossible_is_refused() {
    let server = Server::start(vec![]);
    let mut chat = model(RemoteConfig::new(&server.url, "stub")).open(&Watch::idle()).unwrap();
    let watch = Watch::idle();
    let refused = |result: Result<(), ModelError>| result.unwrap_err().to_string();
    assert_eq!(
        refused(chat.turn(&calls(), &watch).map(drop)),
        "a turn must follow a user text or tool results"
    );
    assert_eq!(refused(chat.push(&[Message::Tools(vec![])])), "tool results must follow a turn");
    chat.push(&[Message::User("u".into())]).unwrap();
    assert_eq!(
        refused(chat.push(&[Message::System { text: String::new(), tools: vec![] }])),
        "a system text must come first"
    );
    assert_eq!(
        refused(chat.score("", &[], &watch).map(drop)),
        "an OpenAI-compatible endpoint cannot score texts: its API gives likelihoods of what it \
         generates only"
    );
    assert!(server.requests().is_empty());
}

#[test]
fn what_does_not_fit_is_not_pushed() {
    let server = Server::start(vec![says("ok")]);
    let mut chat =
        asked(RemoteConfig { context_tokens: 1000, ..RemoteConfig::new(&server.url, "stub") });
    let before = chat.room();
    let error = chat.push(&[Message::User("x".repeat(5000))]).unwrap_err();
    assert!(matches!(error, ModelError::Full { capacity: 1000, .. }), "{error}");
    assert_eq!(chat.room(), before);
    let mut long = calls();
    long.max_tokens = 4096;
    chat.turn(&long, &Watch::idle()).unwrap();
    let sent = server.bodies()[0]["max_tokens"].as_u64().unwrap();
    assert!(sent <= u64::from(before.left()), "{sent} tokens asked for where {before:?}");
}
