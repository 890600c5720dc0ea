//! Requests that are given up, and clients that go away.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Repo, Silent};

/// Cancelling is prompt; the bound is generous for a busy machine.
const PROMPT: Duration = Duration::from_secs(5);

fn endless(repo: &Repo) -> Value {
    json!({"text": "total_price ignores the discount", "roots": [repo.root()], "budgetMs": 600_000})
}

#[test]
fn a_cancelled_request_is_answered_once_with_the_code_for_it() {
    let (repo, silent) = (Repo::shop(), Silent::new());
    let mut server = repo.serve(&["--model", &silent.model()]);
    let id = server.request("retrieve", endless(&repo));
    let running = server.result("health", json!({}))["queue"]["running"].clone();
    assert_eq!(running, 1);
    let start = Instant::now();
    server.cancel(id);
    server.cancel(id);
    let answer = server.answer_to(id);
    assert!(start.elapsed() < PROMPT);
    assert_eq!(
        answer["error"],
        json!({"code": -32800, "message": "the request was cancelled",
               "data": {"kind": "user", "hint": ""}})
    );
    // Its thread ends too, and nothing else is said about it.
    while server.result("health", json!({}))["queue"]["running"] != 0 {
        assert!(start.elapsed() < PROMPT, "the thread does not end");
        thread::sleep(Duration::from_millis(10));
    }
    server.close_input();
    assert!(server.wait().success());
    assert_eq!(server.rest(), Vec::<Value>::new());
}

#[test]
fn a_cancel_that_follows_at_once_finds_its_request() {
    let (repo, silent) = (Repo::shop(), Silent::new());
    let mut server = repo.serve(&["--model", &silent.model()]);
    let retrieve =
        json!({"jsonrpc": "2.0", "id": 1, "method": "retrieve", "params": endless(&repo)});
    let cancel = json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}});
    for _ in 0..20 {
        server.send(format!("{retrieve}\n{cancel}"));
        assert_eq!(server.receive()["error"]["code"], -32800);
    }
    server.send(json!([retrieve, cancel]).to_string());
    assert_eq!(server.receive()[0]["error"]["code"], -32800);
}

#[test]
fn a_request_is_cancelled_whatever_number_its_id_is() {
    let (repo, silent) = (Repo::shop(), Silent::new());
    let mut server = repo.serve(&["--model", &silent.model()]);
    for id in [json!(-1), json!(1.5)] {
        let params = endless(&repo);
        let retrieve = json!({"jsonrpc": "2.0", "id": id, "method": "retrieve", "params": params});
        let cancel = json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}});
        server.send(format!("{retrieve}\n{cancel}"));
        let answer = server.receive();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(-32800)));
    }
}

#[test]
fn one_cancel_leaves_the_others_alone() {
    let (repo, silent) = (Repo::shop(), Silent::new());
    let mut server = repo.serve(&["--model", &silent.model()]);
    let first = server.request("retrieve", endless(&repo));
    let second = server.request("retrieve", endless(&repo));
    server.cancel(first);
    assert_eq!(server.answer_to(first)["error"]["code"], -32800);
    assert_eq!(server.result("health", json!({}))["queue"]["waiting"], 0);
    server.cancel(second);
    assert_eq!(server.answer_to(second)["error"]["code"], -32800);
}

#[test]
fn shutdown_and_end_of_input_cancel_what_runs() {
    for by_method in [true, false] {
        let (repo, silent) = (Repo::shop(), Silent::new());
        let mut server = repo.serve(&["--model", &silent.model()]);
        let id = server.request("retrieve", endless(&repo));
        let start = Instant::now();
        if by_method {
            server.result("shutdown", json!({}));
        } else {
            server.close_input();
        }
        assert!(server.wait().success());
        assert!(start.elapsed() < PROMPT, "{:?}", start.elapsed());
        let rest = server.rest();
        assert_eq!(rest.len(), 1, "{rest:#?}");
        assert_eq!((&rest[0]["id"], &rest[0]["error"]["code"]), (&json!(id), &json!(-32800)));
    }
}

#[test]
fn a_killed_client_takes_the_server_with_it() {
    use std::io::Write;
    use std::process::Stdio;
    let (repo, silent) = (Repo::shop(), Silent::new());
    let mut command = repo.command(&["serve", "--stdio", "--model", &silent.model()]);
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, stdout) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "retrieve", "params": endless(&repo)});
    writeln!(stdin, "{request}").unwrap();
    // All that the system does to the pipes when their other end is killed.
    drop((stdin, stdout));
    let start = Instant::now();
    while server.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < PROMPT, "the server outlives its client");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_client_that_does_not_read_can_still_cancel() {
    use std::io::Write;
    use std::process::Stdio;
    let (repo, silent) = (Repo::shop(), Silent::new());
    // Long lines that match, so that answers fill the pipe.
    repo.write("src/long.py", format!("match {}\n", "x".repeat(900)).repeat(2000).as_bytes());
    let mut command = repo.command(&["serve", "--stdio", "--model", &silent.model()]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut send = |message: Value| writeln!(stdin, "{message}").unwrap();
    let grep = json!({"roots": [repo.root()], "pattern": "match", "maxMatches": 2000});
    for id in 1..=3 {
        send(json!({"jsonrpc": "2.0", "id": id, "method": "files/grep", "params": grep}));
    }
    send(json!({"jsonrpc": "2.0", "id": 4, "method": "retrieve", "params": endless(&repo)}));
    // A megabyte and more is on its way out and nobody reads; all of this is still taken.
    for _ in 0..200 {
        send(json!({"jsonrpc": "2.0", "id": 5, "method": "files/read",
                    "params": {"root": repo.root(), "path": "src/gone.py"}}));
    }
    send(json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 4}}));
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    let cancelled = answers.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let cancelled: Vec<Value> = cancelled.filter(|answer| answer["id"] == 4).collect();
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0]["error"]["code"], -32800);
}

#[test]
fn deep_open_files_hold_no_worker() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let root = server.root();
    let open = |depth: usize, count: usize| -> Vec<Value> {
        let file =
            |i| json!({"path": format!("{root}/{}f{i}.py", "a/".repeat(depth)), "text": "x"});
        (0..count).map(file).collect()
    };
    let ask = |open: &[Value]| {
        json!({"text": "total_price ignores the discount", "roots": [root], "gate": "off",
               "openFiles": open, "budgetMs": 20_000})
    };
    // As deep and as many as may be: the search has time left.
    let answer = server.result("retrieve", ask(&open(255, 1000)));
    assert_eq!((&answer["stop"], &answer["warnings"]), (&json!("no_model"), &json!([])));
    let answer = server.result("retrieve", ask(&open(256, 1)));
    let warning = format!(
        "the unsaved text of {root}/{}f0.py is not used: it lies 257 folders deep, where 256 are \
         the most",
        "a/".repeat(256)
    );
    assert_eq!(answer["warnings"], json!([warning]));
    let error = server.error("retrieve", ask(&open(1, 1001)));
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32602), &json!("openFiles holds 1001 files"))
    );
}
