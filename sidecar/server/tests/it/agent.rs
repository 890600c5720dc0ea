//! Requests that a model takes part in: a scripted one, through the whole program.

use serde_json::{Value, json};

use crate::support::Repo;

const SCRIPT: &str = r#"name: script
--- turn
expect: total_price ignores the discount
asked: calls

<tool_call>
{"name": "grep", "arguments": {"pattern": "total_price"}}
</tool_call>
<tool_call>
{"name": "read", "arguments": {"path": "src/cart.py"}}
</tool_call>
--- turn
expect: def total_price

{"files": [{"path": "src/cart.py", "line_ranges": [[5, 6]]}]}
"#;

const TEXT: &str = "total_price ignores the discount";

/// A shop and the `--model` argument for a script that lies beside it.
fn shop(script: &str) -> (Repo, String) {
    let repo = Repo::shop();
    let file = repo.home().join("script.txt");
    std::fs::write(&file, script).unwrap();
    let model = format!("scripted:{}", file.display());
    (repo, model)
}

#[test]
fn the_agent_answers_on_the_command_line() {
    let (repo, model) = shop(SCRIPT);
    let answer = repo.run(&["find", "--json", "--model", &model, TEXT]).json();
    let seen = json!([
        answer["engine"]["kind"],
        answer["engine"]["model"],
        answer["stop"],
        answer["turns"],
        answer["toolCalls"],
        answer["warnings"]
    ]);
    assert_eq!(seen, json!(["agent", "script", "answered", 2, 2, []]), "{answer:#}");
    assert_eq!(answer["files"][0]["path"], "src/cart.py");
    assert_eq!(answer["files"][0]["lineRanges"], json!([[5, 6]]));
    assert_eq!(answer["files"][0]["source"], "hybrid");
    assert_eq!(answer["reproducible"], true);
    assert_eq!(answer["engine"]["rulesHash"].as_str().unwrap().len(), 64);
    let person = repo.run(&["find", "--model", &model, TEXT]);
    assert!(person.stdout.contains("script, 2 turns, 2 tool calls; 4 files"), "{person:#?}");
}

#[test]
fn the_agent_answers_through_the_server_and_reports_turns() {
    let (repo, model) = shop(SCRIPT);
    let mut server = repo.serve(&["--model", &model]);
    let loaded = server.result("model/load", json!({"model": "auto"}));
    assert_eq!((&loaded["model"], &loaded["hash"]), (&json!("script"), &Value::Null));
    assert_eq!(server.result("health", json!({}))["loadedModels"], json!(["script"]));
    assert_eq!(server.result("model/list", json!({}))["auto"], model);
    let id = server
        .request("retrieve", json!({"text": TEXT, "roots": [repo.root()], "progressToken": 7}));
    let mut stages = Vec::new();
    let answer = loop {
        let message = server.receive();
        if message["id"] == json!(id) {
            break message["result"].clone();
        }
        stages.push(message["params"]["stage"].clone());
    };
    assert_eq!(answer["engine"]["kind"], "agent", "{answer:#}");
    assert!(stages.contains(&json!("model")), "{stages:?}");
    // A request may do without.
    let plain = json!({"text": TEXT, "roots": [repo.root()], "model": "none"});
    assert_eq!(server.result("retrieve", plain)["engine"]["kind"], "lexical");
}

#[test]
fn a_model_that_breaks_off_leaves_the_lexical_answer() {
    for (script, stop) in [
        ("--- turn\nfail: the graphics card is on fire\n\n-\n", "model_error"),
        (
            "--- turn\nunconstrained\n\nI would rather not.\n--- turn\nunconstrained\n\nNo.\n",
            "no_answer",
        ),
    ] {
        let (repo, model) = shop(script);
        let answer = repo.run(&["find", "--json", "--model", &model, TEXT]).json();
        assert_eq!(answer["stop"], stop, "{answer:#}");
        assert_eq!(answer["engine"]["kind"], "lexical");
        assert_eq!(answer["files"][0]["path"], "src/cart.py");
        assert_eq!(answer["warnings"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn models_and_adapters_that_cannot_be_loaded() {
    let (repo, model) = shop(SCRIPT);
    let mut server = repo.serve(&["--model", &model]);
    let error = server.error("model/load", json!({"model": "gone"}));
    assert_eq!(error["message"], "there is no model named \"gone\"");
    let error = server.error("adapter/load", json!({"model": "auto", "adapter": "a"}));
    assert_eq!(error["message"], "the adapter \"a\" needs a model that runs in this process");
    let mut bare = repo.serve(&[]);
    let error = bare.error("model/load", json!({"model": "auto"}));
    assert_eq!(error["data"]["kind"], "environment");
    // Asked for along the way, an adapter that cannot be had is a warning.
    let params = json!({"text": TEXT, "roots": [repo.root()], "adapter": "a"});
    let answer = server.result("retrieve", params);
    assert_eq!(answer["engine"]["kind"], "lexical");
    assert_eq!(answer["warnings"].as_array().unwrap().len(), 1);
}

/// Read from the process itself: the library has looked at its environment before `main`.
#[cfg(all(feature = "llama", target_os = "linux"))]
#[test]
fn the_threads_of_llama_wait_passively() {
    let repo = Repo::shop();
    let mut command = repo.command(&["serve", "--stdio"]);
    command.env_remove("OMP_WAIT_POLICY").env_remove("GOMP_SPINCOUNT");
    let mut server = crate::support::Server::start(command, repo.root());
    server.result("health", json!({}));
    let environment = std::fs::read(format!("/proc/{}/environ", server.pid())).unwrap();
    let mut variables = environment.split(|byte| *byte == 0);
    assert!(variables.any(|variable| variable == b"OMP_WAIT_POLICY=passive"));
}
