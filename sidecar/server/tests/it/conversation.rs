//! The protocol as its page describes it, message by message.

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::{Repo, stable};

#[test]
fn initialize_retrieve_shutdown() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let mut hello = server.result("initialize", json!({"protocolVersion": 7}));
    let built_in = hello["capabilities"].as_object_mut().unwrap().remove("features");
    let llama = built_in.unwrap().as_array().unwrap().contains(&json!("llama"));
    assert_eq!(llama, cfg!(feature = "llama"));
    expect![[r#"
        {
          "protocolVersion": 1,
          "serverInfo": {
            "name": "codegrep",
            "version": "0.1.0"
          },
          "capabilities": {
            "methods": [
              "adapter/load",
              "feedback",
              "files/glob",
              "files/grep",
              "files/read",
              "health",
              "index/refresh",
              "index/status",
              "initialize",
              "model/list",
              "model/load",
              "retrieve",
              "shutdown"
            ],
            "profiles": [
              "codegrep"
            ],
            "maxMessageBytes": 16777216
          }
        }"#]]
    .assert_eq(&stable(&hello, &repo.root()));

    let text = "total_price ignores the discount";
    let params = json!({"text": text, "roots": [server.root()], "maxFiles": 1});
    let answer = server.result("retrieve", params.clone());
    expect![[r#"
        {
          "files": [
            {
              "root": "ROOT",
              "path": "src/cart.py",
              "lineRanges": [
                [
                  1,
                  6
                ]
              ],
              "probability": "…",
              "source": "lexical",
              "evidence": [
                {
                  "line": 5,
                  "text": "def total_price(self, discount):",
                  "kind": "definition"
                }
              ]
            }
          ],
          "verdict": {
            "kind": "inject",
            "reason": "1 of 1 file at or above 0.00"
          },
          "injection": "\n\n<candidate_files>\n- src/cart.py\n</candidate_files>\n",
          "engine": {
            "kind": "lexical",
            "model": null,
            "adapter": null,
            "profile": "codegrep",
            "rulesHash": null
          },
          "stop": "no_model",
          "turns": 0,
          "toolCalls": 0,
          "tokens": {
            "in": 0,
            "out": 0
          },
          "ms": "…",
          "index": {
            "state": "ready",
            "files": 4,
            "gitSignals": false
          },
          "reproducible": true,
          "warnings": []
        }"#]]
    .assert_eq(&stable(&answer, &repo.root()));

    // The same request on the same tree gives the same answer.
    let again = server.result("retrieve", params);
    assert_eq!(stable(&again, &repo.root()), stable(&answer, &repo.root()));

    assert_eq!(server.result("shutdown", json!({})), json!({}));
    assert!(server.wait().success());
    assert_eq!(server.rest(), Vec::<Value>::new());
}

#[test]
fn a_root_may_be_a_uri_and_unsaved_text_wins() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let path = format!("{}/src/checkout.py", server.root());
    let answer = server.result(
        "retrieve",
        json!({
            "text": "frobnicate_totals crashes",
            "roots": [format!("file://{}", server.root())],
            "openFiles": [{"path": path, "text": "def frobnicate_totals():\n    pass\n"}],
            "gate": "off",
        }),
    );
    assert_eq!(answer["files"][0]["path"], "src/checkout.py", "{answer:#}");
    assert_eq!(answer["files"][0]["evidence"][0]["text"], "def frobnicate_totals():");
}

#[test]
fn several_roots_are_told_apart() {
    let (shop, other) = (Repo::shop(), Repo::new("//- lib/rocket.rs\nfn launch_rocket() {}\n"));
    let mut server = shop.serve(&[]);
    let roots = json!([shop.root(), other.root()]);
    let params = json!({"text": "launch_rocket never returns", "roots": roots, "gate": "off"});
    let answer = server.result("retrieve", params);
    assert_eq!(answer["files"][0]["root"], json!(other.root()), "{answer:#}");
    assert_eq!(answer["files"][0]["path"], "lib/rocket.rs");
}

#[test]
fn an_abstention_still_shows_its_files() {
    let repo = Repo::shop();
    repo.write(".codegrep.toml", b"bar = 1.0\nmax_files = 1\nmodel = 'evil.gguf'\n");
    let mut server = repo.serve(&[]);
    let params = json!({"text": "total_price ignores the discount", "roots": [server.root()]});
    let answer = server.result("retrieve", params);
    assert_eq!(answer["verdict"]["kind"], "abstain");
    assert_eq!(answer["injection"], Value::Null);
    assert_eq!(answer["files"].as_array().unwrap().len(), 1);
    let told = ".codegrep.toml: a repository may not set \"model\"; it is ignored";
    assert_eq!(answer["warnings"], json!([told]));
}

#[test]
fn progress_carries_the_token_and_ends_with_the_answer() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let params = json!({"text": "discount", "roots": [server.root()], "progressToken": "p1"});
    let id = server.request("retrieve", params);
    let mut stages = Vec::new();
    loop {
        let message = server.receive();
        if message["id"] == json!(id) {
            break;
        }
        assert_eq!(message["method"], "retrieve/progress");
        assert_eq!(message["params"]["progressToken"], "p1");
        stages.push(message["params"]["stage"].clone());
    }
    assert!(stages.contains(&json!("rank")), "{stages:?}");
    // Without a token there is none: the next message is the answer.
    let id = server.request("retrieve", json!({"text": "discount", "roots": [server.root()]}));
    assert_eq!(server.receive()["id"], json!(id));
}

#[test]
fn a_missing_model_is_a_warning_and_the_lexical_answer() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    // A request names models; it does not open files.
    for model in ["qwen9", "/etc/passwd", "http://127.0.0.1:1/v1"] {
        let params = json!({"text": "discount", "roots": [server.root()], "model": model});
        let answer = server.result("retrieve", params);
        assert_eq!(answer["engine"]["kind"], "lexical");
        assert_eq!(answer["stop"], "no_model");
        let warning = format!(
            "there is no model named {model:?}; `codegrep model add PATH` or `codegrep model pull` \
             gets one"
        );
        assert_eq!(answer["warnings"], json!([warning]));
    }
}

#[test]
fn health_models_index_and_feedback() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let root = server.root();
    let before = server.result("index/status", json!({"roots": [root]}));
    let after = server.result("index/refresh", json!({"roots": [root, "/nonexistent"]}));
    let known = server.result("index/status", json!({"roots": [root]}));
    let health = server.result("health", json!({}));
    let models = server.result("model/list", json!({}));
    let feedback = json!({
        "sessionId": "s",
        "files": [{"root": root, "path": "src/cart.py", "signal": "edited"}],
    });
    let stored = server.result("feedback", feedback.clone());
    let all = json!([before, after, known, health, models, stored]);
    expect![[r#"
        [
          {
            "roots": [
              {
                "root": "ROOT",
                "state": "stale",
                "files": 0,
                "gitSignals": false,
                "warnings": []
              }
            ]
          },
          {
            "roots": [
              {
                "root": "ROOT",
                "state": "ready",
                "files": 4,
                "gitSignals": false,
                "warnings": []
              },
              {
                "root": "/nonexistent",
                "state": "refused",
                "files": 0,
                "gitSignals": false,
                "warnings": [
                  "/nonexistent: no such folder"
                ]
              }
            ]
          },
          {
            "roots": [
              {
                "root": "ROOT",
                "state": "ready",
                "files": 4,
                "gitSignals": false,
                "warnings": []
              }
            ]
          },
          {
            "version": "0.1.0",
            "uptimeMs": "…",
            "queue": {
              "running": 0,
              "waiting": 0,
              "workers": 8,
              "capacity": 64
            },
            "loadedModels": []
          },
          {
            "models": [],
            "auto": null
          },
          {
            "stored": true
          }
        ]"#]]
    .assert_eq(&stable(&all, &repo.root()));
    let log = repo.home().join("codegrep/state/feedback.jsonl");
    let line: Value = serde_json::from_str(&std::fs::read_to_string(log).unwrap()).unwrap();
    assert_eq!(line["feedback"], feedback);
}

#[test]
fn end_of_input_ends_the_server() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    server.result("health", json!({}));
    server.close_input();
    assert!(server.wait().success());
}
