//! Budgets, queues, and many requests at once.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Repo, Silent};

fn retrieve(repo: &Repo, budget_ms: u64) -> Value {
    let text = "total_price ignores the discount";
    json!({"text": text, "roots": [repo.root()], "budgetMs": budget_ms})
}

#[test]
fn a_budget_is_kept_and_the_words_answer_for_the_model() {
    let (repo, silent) = (Repo::shop(), Silent::new());
    let mut server = repo.serve(&["--model", &silent.model()]);
    // The index is warm for the one that counts.
    server.result("index/refresh", json!({"roots": [repo.root()]}));
    let start = Instant::now();
    let answer = server.result("retrieve", retrieve(&repo, 2_000));
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(answer["stop"], "deadline", "{answer:#}");
    assert_eq!(answer["engine"]["kind"], "lexical");
    assert_eq!(answer["reproducible"], false);
    assert_eq!(answer["files"][0]["path"], "src/cart.py");
    assert_eq!(answer["warnings"].as_array().unwrap().len(), 1);
}

#[test]
fn no_time_at_all_is_still_an_answer() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let answer = server.result("retrieve", retrieve(&repo, 0));
    assert_eq!(answer["stop"], "deadline", "{answer:#}");
    assert_eq!(answer["verdict"]["kind"], "abstain");
}

#[test]
fn a_full_queue_refuses_and_a_busy_one_does_so_in_time() {
    let (repo, silent) = (Repo::shop(), Silent::new());
    let model = silent.model();
    let mut server = repo.serve(&["--model", &model, "--workers", "1", "--queue", "1"]);
    let runs = server.request("retrieve", retrieve(&repo, 600_000));
    let waits = server.request("retrieve", retrieve(&repo, 300));
    let refused = server.error("retrieve", retrieve(&repo, 600_000));
    assert_eq!(
        refused,
        json!({"code": -32003, "message": "overloaded: 1 requests run and the queue is full",
               "data": {"kind": "environment",
                        "hint": "send it again when other requests have been answered"}})
    );
    let late = server.answer_to(waits);
    assert_eq!(
        (&late["error"]["code"], &late["error"]["message"]),
        (&json!(-32003), &json!("overloaded: no worker came free within the time budget"))
    );
    // Health never waits, and the queue is free again.
    let queue = server.result("health", json!({}))["queue"].clone();
    assert_eq!(queue, json!({"running": 1, "waiting": 0, "workers": 1, "capacity": 1}));
    server.cancel(runs);
    assert_eq!(server.answer_to(runs)["error"]["code"], -32800);
    assert!(
        server.result(
            "retrieve",
            json!({"text": "discount", "roots": [repo.root()], "model": "none"})
        )["files"]
            .is_array()
    );
}

#[test]
fn many_requests_at_once_are_all_answered_alike() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let mut open: Vec<u64> =
        (0..40).map(|_| server.request("retrieve", retrieve(&repo, 60_000))).collect();
    let mut files = Vec::new();
    while !open.is_empty() {
        let answer = server.receive();
        let id = answer["id"].as_u64().unwrap();
        let at = open.iter().position(|open| *open == id).expect("answered once");
        open.remove(at);
        files.push(answer["result"]["files"].clone());
    }
    files.dedup();
    assert_eq!(files.len(), 1, "{files:#?}");
    assert_eq!(files[0][0]["path"], "src/cart.py");
}
