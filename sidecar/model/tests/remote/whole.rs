//! The whole loop against an endpoint: what it asks, and what the user gets when it fails.

use codegrep_agent::tools::Pool;
use codegrep_agent::{Engine, Engines, Outcome, Request, Rules, StopReason, answer};
use codegrep_model::remote::RemoteConfig;
use codegrep_rank::Ranker;
use codegrep_tree::{DiskTree, Watch};
use serde_json::{Value, json};

use crate::model;
use crate::server::{Reply, Server, json_reply, says, stream};

fn ask(server: &Server) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(
        folder.path().join("src/config.py"),
        "def parse_port(text):\n    return int(text)\n",
    )
    .unwrap();
    std::fs::write(folder.path().join("src/main.py"), "from config import parse_port\n").unwrap();
    let model = model(RemoteConfig { retries: 0, ..RemoteConfig::new(&server.url, "stub") });
    let engines =
        Engines { ranker: &Ranker::default(), model: Some(&*model), pool: &Pool::default() };
    let request =
        Request { text: "An empty port crashes at start".into(), max_files: 3, gate: false };
    let tree = DiskTree::open(folder.path()).unwrap();
    answer(&request, &tree, engines, &Rules::default(), &Watch::idle()).unwrap()
}

fn call(calls: &[(&str, Value)]) -> Reply {
    let deltas: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(i, (name, arguments))| {
            json!({"tool_calls": [{"index": i, "id": format!("c{i}"), "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()}}]})
        })
        .collect();
    stream(&deltas, "tool_calls", None)
}

const ANSWER: &str = r#"{"files": [{"path": "src/config.py", "line_ranges": [[1, 2]]}]}"#;

#[test]
fn calls_are_run_and_the_answer_comes_through() {
    let server = Server::start(vec![
        call(&[("grep", json!({"pattern": "port"})), ("glob", json!({"pattern": "**/*.py"}))]),
        call(&[("read", json!({"path": "src/config.py"}))]),
        call(&[("read", json!({"path": "src/nothing.py"}))]),
        says(ANSWER),
    ]);
    let outcome = ask(&server);
    let episode = outcome.episode.unwrap();
    assert_eq!((outcome.stop, episode.error), (StopReason::Answered, None));
    let Engine::Agent { model, .. } = outcome.engine else { panic!("{:?}", outcome.warnings) };
    assert_eq!(model.name, "stub");
    assert_eq!(episode.files[0].path.as_str(), "src/config.py");

    let bodies = server.bodies();
    let choices: Vec<&Value> = bodies.iter().map(|body| &body["tool_choice"]).collect();
    assert_eq!(choices.first(), Some(&&json!("required")));
    assert_eq!(choices.last(), Some(&&json!("none")));
    assert_eq!(bodies[3]["response_format"]["type"], "json_schema");
    // Each request begins with all of the one before, so that the server reads nothing twice.
    for pair in bodies.windows(2) {
        let [earlier, later] = [0, 1].map(|i| pair[i]["messages"].as_array().unwrap());
        assert_eq!(&later[..earlier.len()], &earlier[..]);
        assert_eq!(pair[0]["tools"], pair[1]["tools"]);
    }
    let last: Vec<(&Value, &Value)> = bodies[1]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .take(2)
        .map(|message| (&message["tool_call_id"], &message["content"]))
        .collect();
    assert_eq!(last[1].0, "c0");
    assert!(last[1].1.as_str().unwrap().contains("def parse_port(text):"), "{last:?}");
    assert!(last[0].1.as_str().unwrap().contains("src/main.py"), "{last:?}");
}

#[test]
fn a_server_without_tools_answers_through_the_text() {
    let rejects = || json_reply(400, &json!({"error": "stub does not support tools"}));
    let grep =
        "<tool_call>\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"port\"}}\n</tool_call>";
    let server = Server::start(vec![rejects(), rejects(), says(grep), says(ANSWER)]);
    let outcome = ask(&server);
    assert_eq!(outcome.stop, StopReason::Answered, "{:?}", outcome.warnings);
    assert!(matches!(outcome.engine, Engine::Agent { .. }));
    let messages = server.bodies()[3]["messages"].as_array().unwrap().clone();
    let results = messages.last().unwrap();
    assert_eq!(results["role"], "user");
    assert!(results["content"].as_str().unwrap().starts_with("<tool_response>\n"));
}

#[test]
fn a_server_that_fails_leaves_the_word_searchs_answer_and_says_why() {
    let server = Server::start(vec![json_reply(500, &json!({"error": "out of memory"}))]);
    let outcome = ask(&server);
    assert_eq!((outcome.stop, &outcome.engine), (StopReason::ModelError, &Engine::Lexical));
    assert!(outcome.files.iter().any(|file| file.path.as_str() == "src/config.py"));
    let origin = server.url.trim_end_matches("/v1");
    assert_eq!(
        outcome.warnings,
        [format!(
            "the model stub failed: {origin} answered 500: out of memory (hint: look into the \
             server's own log); these files come from the word search alone"
        )]
    );
}
