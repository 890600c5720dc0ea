//! Input that no client should send, and no server should mind.

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::{Repo, stable};

/// Sends lines and returns the messages that come back, which are as many as `count`; the server
/// still answers then.
fn reply(lines: &[&[u8]], count: usize) -> Value {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    for line in lines {
        server.send(line);
    }
    let replies = (0..count).map(|_| server.receive()).collect();
    let health = server.request("health", json!({}));
    assert_eq!(server.receive()["id"], json!(health));
    Value::Array(replies)
}

fn check(lines: &[&str], count: usize, want: expect_test::Expect) {
    let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    let replies = reply(&lines, count);
    let mut shown: Vec<String> = replies.as_array().unwrap().iter().map(Value::to_string).collect();
    // Answers come as they are ready.
    shown.sort();
    want.assert_eq(&shown.join("\n"));
}

#[test]
fn lines_that_are_no_json() {
    check(
        &["garbage", "{", "", "   "],
        2,
        expect![[r#"
        {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is no JSON: EOF while parsing an object at line 1 column 1","data":{"kind":"user","hint":"send one JSON-RPC 2.0 message a line, UTF-8"}}}
        {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is no JSON: expected value at line 1 column 1","data":{"kind":"user","hint":"send one JSON-RPC 2.0 message a line, UTF-8"}}}"#]],
    );
    let replies = reply(&[b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", b"\0"], 2);
    let codes: Vec<_> = replies.as_array().unwrap().iter().map(|r| &r["error"]["code"]).collect();
    assert_eq!(codes, [-32700, -32700]);
}

#[test]
fn json_that_is_no_request() {
    check(
        &[
            "1",
            "null",
            "{}",
            r#"{"jsonrpc":"1.0","id":"a","method":"health"}"#,
            r#"{"jsonrpc":"2.0","id":"b"}"#,
            r#"{"jsonrpc":"2.0","id":"c","method":7}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"health"}"#,
            r#"{"jsonrpc":"2.0","id":true,"method":"health"}"#,
            r#"{"jsonrpc":"2.0","id":"d","id":"e","method":"health"}"#,
            // An answer to a question nobody asked.
            r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
        ],
        9,
        expect![[r#"
            {"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"`jsonrpc` must be \"2.0\"","data":{"kind":"user","hint":""}}}
            {"jsonrpc":"2.0","id":"b","error":{"code":-32600,"message":"`method` is missing","data":{"kind":"user","hint":""}}}
            {"jsonrpc":"2.0","id":"c","error":{"code":-32600,"message":"`method` must be a string","data":{"kind":"user","hint":""}}}
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"`jsonrpc` must be \"2.0\"","data":{"kind":"user","hint":""}}}
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"an id must be a string or a number","data":{"kind":"user","hint":""}}}
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"an id must be a string or a number","data":{"kind":"user","hint":""}}}
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a request: duplicate field `id`","data":{"kind":"user","hint":""}}}
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a request: invalid type: integer `1`, expected an object","data":{"kind":"user","hint":""}}}
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a request: invalid type: null, expected an object","data":{"kind":"user","hint":""}}}"#]],
    );
}

#[test]
fn methods_and_parameters_that_are_not_there() {
    check(
        &[
            r#"{"jsonrpc":"2.0","id":"a","method":"files/write","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":"b","method":"retrieve"}"#,
            r#"{"jsonrpc":"2.0","id":"c","method":"retrieve","params":["t",["/r"]]}"#,
            r#"{"jsonrpc":"2.0","id":"d","method":"retrieve","params":{"text":"t","roots":[]}}"#,
            r#"{"jsonrpc":"2.0","id":"e","method":"retrieve","params":{"text":"t","roots":["/r"],"gate":"ajar"}}"#,
            r#"{"jsonrpc":"2.0","id":"f","method":"retrieve","params":{"text":" ","roots":["/usr"]}}"#,
            r#"{"jsonrpc":"2.0","id":"g","method":"retrieve","params":{"text":"t","roots":["/usr"],"profile":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":"h","method":"retrieve","params":{"text":"t","roots":["/usr"],"maxFiles":0}}"#,
            r#"{"jsonrpc":"2.0","id":"i","method":"retrieve","params":{"text":"t","roots":["/usr"],"budgetMs":-1}}"#,
            r#"{"jsonrpc":"2.0","id":"j","method":"initialize","params":{"protocolVersion":0}}"#,
            r#"{"jsonrpc":"2.0","id":"k","method":"$/cancelRequest","params":{}}"#,
        ],
        11,
        expect![[r#"
            {"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"there is no method \"files/write\"","data":{"kind":"user","hint":"there are adapter/load, feedback, files/glob, files/grep, files/read, health, index/refresh, index/status, initialize, model/list, model/load, retrieve, shutdown"}}}
            {"jsonrpc":"2.0","id":"b","error":{"code":-32602,"message":"params: missing field `text`","data":{"kind":"user","hint":"`codegrep schema` prints what each method takes"}}}
            {"jsonrpc":"2.0","id":"c","error":{"code":-32602,"message":"params must be an object, with parameters by name","data":{"kind":"user","hint":""}}}
            {"jsonrpc":"2.0","id":"d","error":{"code":-32602,"message":"roots is empty","data":{"kind":"user","hint":"name at least one workspace root"}}}
            {"jsonrpc":"2.0","id":"e","error":{"code":-32602,"message":"params: unknown variant `ajar`, expected `on` or `off`","data":{"kind":"user","hint":"`codegrep schema` prints what each method takes"}}}
            {"jsonrpc":"2.0","id":"f","error":{"code":-32602,"message":"the task text is empty","data":{"kind":"user","hint":"say in a few words what is wrong or what is to be done"}}}
            {"jsonrpc":"2.0","id":"g","error":{"code":-32602,"message":"there is no profile \"x\"","data":{"kind":"user","hint":"there are codegrep"}}}
            {"jsonrpc":"2.0","id":"h","error":{"code":-32602,"message":"maxFiles must be 1 to 100","data":{"kind":"user","hint":""}}}
            {"jsonrpc":"2.0","id":"i","error":{"code":-32602,"message":"params: invalid value: integer `-1`, expected u64","data":{"kind":"user","hint":"`codegrep schema` prints what each method takes"}}}
            {"jsonrpc":"2.0","id":"j","error":{"code":-32602,"message":"there is no protocol version 0","data":{"kind":"user","hint":"this server speaks version 1"}}}
            {"jsonrpc":"2.0","id":"k","error":{"code":-32602,"message":"params: missing field `id`","data":{"kind":"user","hint":"`codegrep schema` prints what each method takes"}}}"#]],
    );
}

#[test]
fn every_number_is_an_id() {
    check(
        &[
            r#"{"jsonrpc":"2.0","id":-1,"method":"shutdown","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1.50,"method":"shutdown","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"nope"}"#,
            r#"{"jsonrpc":"2.0","id":-0,"method":"$/cancelRequest","params":{"id":-7.5}}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"$/cancelRequest","params":{"id":[]}}"#,
        ],
        5,
        expect![[r#"
            {"jsonrpc":"2.0","id":"x","error":{"code":-32602,"message":"params: an id must be a string or a number","data":{"kind":"user","hint":""}}}
            {"jsonrpc":"2.0","id":-0.0,"result":{}}
            {"jsonrpc":"2.0","id":-1,"error":{"code":-32602,"message":"params must be an object, with parameters by name","data":{"kind":"user","hint":""}}}
            {"jsonrpc":"2.0","id":1.2345678901234568e+29,"error":{"code":-32601,"message":"there is no method \"nope\"","data":{"kind":"user","hint":"there are adapter/load, feedback, files/glob, files/grep, files/read, health, index/refresh, index/status, initialize, model/list, model/load, retrieve, shutdown"}}}
            {"jsonrpc":"2.0","id":1.5,"error":{"code":-32602,"message":"params must be an object, with parameters by name","data":{"kind":"user","hint":""}}}"#]],
    );
}

#[test]
fn a_refused_shutdown_ends_nothing() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    assert_eq!(server.error("shutdown", json!([]))["code"], -32602);
    server.result("health", json!({}));
    server.result("shutdown", json!({}));
    assert!(server.wait().success());
}

#[test]
fn null_is_the_default_of_what_may_be_left_out() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let root = server.root();
    let text = "total_price ignores the discount";
    let bare = server.result("retrieve", json!({"text": text, "roots": [root]}));
    let nulls = json!({
        "text": text, "roots": [root], "openFiles": null, "budgetMs": null, "maxFiles": null,
        "gate": null, "profile": null, "model": null, "adapter": null, "context": null,
        "sessionId": null, "progressToken": null,
    });
    assert_eq!(
        stable(&server.result("retrieve", nulls), &repo.root()),
        stable(&bare, &repo.root())
    );
    let nulls = json!({
        "roots": [root], "pattern": "class", "path": null, "glob": null, "ignoreCase": null,
        "maxMatches": null, "openFiles": null, "budgetMs": null,
    });
    assert_eq!(server.result("files/grep", nulls)["matches"].as_array().unwrap().len(), 1);
    let nulls = json!({
        "root": root, "path": "src/cart.py", "lineRange": null, "openFiles": null,
    });
    server.result("files/read", nulls);
    server.result("feedback", json!({"sessionId": null, "files": null, "note": null}));
    let nulls = json!({"protocolVersion": 1, "clientInfo": {"name": "x", "version": null}});
    server.result("initialize", nulls);
}

#[test]
fn notifications_are_never_answered() {
    check(
        &[
            r#"{"jsonrpc":"2.0","method":"health"}"#,
            r#"{"jsonrpc":"2.0","method":"files/write"}"#,
            r#"{"jsonrpc":"2.0","method":"retrieve","params":{"text":7}}"#,
            r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":99}}"#,
            r#"{"jsonrpc":"2.0","method":"$/cancelRequest"}"#,
        ],
        0,
        expect![[""]],
    );
}

#[test]
fn batches_are_answered_together() {
    check(
        &[
            "[]",
            "[1,2]",
            r#"[{"jsonrpc":"2.0","method":"health"}]"#,
            r#"[{"jsonrpc":"2.0","id":"a","method":"shut"},{"jsonrpc":"2.0","method":"health"},7]"#,
        ],
        3,
        expect![[r#"
            [{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"there is no method \"shut\"","data":{"kind":"user","hint":"there are adapter/load, feedback, files/glob, files/grep, files/read, health, index/refresh, index/status, initialize, model/list, model/load, retrieve, shutdown"}}},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a request: invalid type: integer `7`, expected an object","data":{"kind":"user","hint":""}}}]
            [{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a request: invalid type: integer `1`, expected an object","data":{"kind":"user","hint":""}}},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a request: invalid type: integer `2`, expected an object","data":{"kind":"user","hint":""}}}]
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a batch: 0 calls, where 1 to 1000 may stand","data":{"kind":"user","hint":""}}}"#]],
    );
    let many = format!("[{}0]", "0,".repeat(5000));
    let replies = reply(&[many.as_bytes()], 1);
    assert_eq!(replies[0]["error"]["code"], -32600);
}

#[test]
fn a_batch_waits_for_its_slowest() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let retrieve = json!({"jsonrpc": "2.0", "id": "r", "method": "retrieve",
                          "params": {"text": "discount", "roots": [server.root()]}});
    let health = json!({"jsonrpc": "2.0", "id": "h", "method": "health"});
    server.send(json!([retrieve, health]).to_string());
    let replies = server.receive();
    let ids: Vec<_> = replies.as_array().unwrap().iter().map(|reply| &reply["id"]).collect();
    assert_eq!(ids, ["r", "h"]);
    assert!(replies[0]["result"]["files"].is_array());
}

#[test]
fn nesting_without_end() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":"a","method":"health","params":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let replies = reply(&[deep.as_bytes()], 1);
    assert_eq!(replies[0]["error"]["code"], -32602, "{replies:#}");
}

#[test]
fn a_message_over_the_limit_is_refused_and_the_next_is_served() {
    let text = "x".repeat(17 << 20);
    let message = json!({"jsonrpc": "2.0", "id": "big", "method": "retrieve",
                         "params": {"text": text, "roots": ["/r"]}});
    let replies = reply(&[message.to_string().as_bytes()], 1);
    expect![[r#"{"jsonrpc":"2.0","id":"big","error":{"code":-32002,"message":"the message is longer than 16777216 bytes","data":{"kind":"user","hint":"send less text, or fewer open files"}}}"#]].assert_eq(&replies[0].to_string());
}

#[test]
fn errors_do_not_quote_without_end() {
    let method = "x".repeat(1 << 20);
    let message = json!({"jsonrpc": "2.0", "id": "a", "method": method}).to_string();
    let replies = reply(&[message.as_bytes()], 1);
    assert_eq!(replies[0]["error"]["code"], -32601);
    assert!(replies.to_string().len() < 5000);
}

#[test]
fn a_task_of_a_megabyte_is_answered() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let text = format!("total_price ignores discount {}", "lorem ipsum dolor ".repeat(60_000));
    let answer = server.result("retrieve", json!({"text": text, "roots": [server.root()]}));
    assert!(answer["files"].is_array());
}

#[test]
fn roots_that_may_not_be_searched() {
    let repo = Repo::shop();
    let file = repo.root().join("src/cart.py");
    let (home, empty) = (repo.home(), repo.home().join("empty"));
    std::fs::create_dir(&empty).unwrap();
    let mut server = repo.serve(&[]);
    let above = home.parent().unwrap().to_owned();
    let errors: Vec<Value> = [
        json!("relative/path"),
        json!("ftp://host/x"),
        json!("file://host/x"),
        json!("/nonexistent/shop"),
        json!(file),
        json!("/"),
        json!(home),
        json!(above),
        json!("/usr\u{0}x"),
    ]
    .into_iter()
    .map(|root| server.error("retrieve", json!({"text": "t", "roots": [root]})))
    .collect();
    expect![[r#"
        [
          {
            "code": -32602,
            "message": "the root \"relative/path\" is no absolute path and no file:// URI",
            "data": {
              "kind": "user",
              "hint": "give each root as an absolute path"
            }
          },
          {
            "code": -32602,
            "message": "the root \"ftp://host/x\" is no absolute path and no file:// URI",
            "data": {
              "kind": "user",
              "hint": "give each root as an absolute path"
            }
          },
          {
            "code": -32602,
            "message": "the root \"file://host/x\" is no absolute path and no file:// URI",
            "data": {
              "kind": "user",
              "hint": "give each root as an absolute path"
            }
          },
          {
            "code": -32001,
            "message": "/nonexistent/shop: no such folder",
            "data": {
              "kind": "user",
              "hint": "check the path for a typing error, and who may read it"
            }
          },
          {
            "code": -32001,
            "message": "ROOT/shop/src/cart.py: not a folder",
            "data": {
              "kind": "user",
              "hint": "give the folder that holds the code"
            }
          },
          {
            "code": -32001,
            "message": "/: a home folder, or one above it, is not searched",
            "data": {
              "kind": "user",
              "hint": "give the folder of one project; `--any-root` allows it all the same"
            }
          },
          {
            "code": -32001,
            "message": "ROOT/home: a home folder, or one above it, is not searched",
            "data": {
              "kind": "user",
              "hint": "give the folder of one project; `--any-root` allows it all the same"
            }
          },
          {
            "code": -32001,
            "message": "ROOT: a home folder, or one above it, is not searched",
            "data": {
              "kind": "user",
              "hint": "give the folder of one project; `--any-root` allows it all the same"
            }
          },
          {
            "code": -32001,
            "message": "/usr\u0000x: file name contained an unexpected NUL byte",
            "data": {
              "kind": "user",
              "hint": "check the path for a typing error, and who may read it"
            }
          }
        ]"#]]
    .assert_eq(&stable(&json!(errors), home.parent().unwrap()));
    // An empty folder is no error: there is nothing in it.
    let answer = server.result("retrieve", json!({"text": "discount", "roots": [empty]}));
    assert_eq!(answer["verdict"]["kind"], "abstain");
    assert_eq!(answer["files"], json!([]));
}

#[cfg(unix)]
#[test]
fn a_tree_of_traps_is_searched_like_any_other() {
    use std::os::unix::fs::symlink;
    let repo = Repo::shop();
    let at = |path: &str| repo.root().join(path);
    symlink("..", at("loop")).unwrap();
    symlink("/etc/passwd", at("src/passwd.py")).unwrap();
    symlink("src/gone.py", at("dangling.py")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("src/socket.py")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(at("src/fifo.py")).status().unwrap();
    assert!(fifo.success());
    repo.write("src/discount\u{1b}[31m.py", b"discount = 1\n");
    repo.write("src/binary.py", b"\x7fELF\0\0discount");
    repo.write("src/latin.py", b"# discount caf\xe9\n");
    let huge = std::fs::File::create(at("src/huge.py")).unwrap();
    huge.set_len(2 << 30).unwrap();

    let mut server = repo.serve(&[]);
    let params = json!({"text": "total_price ignores the discount", "roots": [server.root()]});
    let answer = server.result("retrieve", params);
    assert_eq!(answer["files"][0]["path"], "src/cart.py", "{answer:#}");
    for path in ["src/fifo.py", "src/socket.py", "src/passwd.py", "loop/home", "src/huge.py"] {
        let read = server.ask("files/read", json!({"root": server.root(), "path": path}));
        let text = read["result"]["text"].as_str().unwrap_or_default();
        assert!(!text.contains("root:"), "{path}: {read:#}");
    }
}

#[test]
fn an_id_in_flight_is_not_taken_twice() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let health = json!({"jsonrpc": "2.0", "id": "same", "method": "health"});
    let batch = json!([health, health]);
    server.send(batch.to_string());
    let replies = server.receive();
    assert!(replies[0]["result"].is_object());
    assert_eq!(replies[1]["error"]["code"], -32600, "{replies:#}");
    // Once answered, it is free again.
    server.send(health.to_string());
    assert!(server.receive()["result"].is_object());
}
