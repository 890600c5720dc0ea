//! `files/grep`, `files/glob` and `files/read`.

use expect_test::expect;
use serde_json::json;

use crate::support::{Repo, stable};

#[test]
fn grep_glob_and_read() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let roots = json!([server.root()]);
    let answers = json!([
        server.result(
            "files/grep",
            json!({"roots": roots, "pattern": "DEF \\w+_", "ignoreCase": true})
        ),
        server.result(
            "files/grep",
            json!({"roots": roots, "pattern": "import|def", "glob": "*.py", "maxMatches": 1})
        ),
        server.result("files/glob", json!({"roots": roots, "pattern": "src/*.py", "maxFiles": 2})),
        server.result(
            "files/read",
            json!({"root": server.root(), "path": "src/cart.py", "lineRange": [5, 6]})
        ),
    ]);
    expect![[r#"
        [
          {
            "matches": [
              {
                "root": "ROOT",
                "path": "src/cart.py",
                "line": 2,
                "text": "def __init__(self):"
              },
              {
                "root": "ROOT",
                "path": "src/cart.py",
                "line": 5,
                "text": "def total_price(self, discount):"
              },
              {
                "root": "ROOT",
                "path": "src/invoice.py",
                "line": 1,
                "text": "def send_invoice(amount):"
              }
            ],
            "truncated": false
          },
          {
            "matches": [
              {
                "root": "ROOT",
                "path": "src/cart.py",
                "line": 2,
                "text": "def __init__(self):"
              }
            ],
            "truncated": true
          },
          {
            "files": [
              {
                "root": "ROOT",
                "path": "src/cart.py"
              },
              {
                "root": "ROOT",
                "path": "src/checkout.py"
              }
            ],
            "truncated": true
          },
          {
            "text": "    def total_price(self, discount):\n        return sum(item.price for item in self.items) - discount\n",
            "lineRange": [
              5,
              6
            ],
            "totalLines": 6,
            "truncated": false
          }
        ]"#]].assert_eq(&stable(&answers, &repo.root()));
}

#[test]
fn what_cannot_be_done_is_an_error_with_a_reason() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let (root, roots) = (server.root(), json!([server.root()]));
    let errors = json!([
        server.error("files/grep", json!({"roots": roots, "pattern": "x", "path": "lib"})),
        server.error("files/read", json!({"root": root, "path": "../home"})),
        server.error("files/read", json!({"root": root, "path": "/etc/passwd"})),
        server.error("files/read", json!({"root": root, "path": "src"})),
        server.error("files/read", json!({"root": root, "path": "src/gone.py"})),
        server
            .error("files/read", json!({"root": root, "path": "src/cart.py", "lineRange": [0, 3]})),
    ]);
    expect![[r#"
        [
          {
            "code": -32602,
            "message": "lib: no such file or folder",
            "data": {
              "kind": "user",
              "hint": ""
            }
          },
          {
            "code": -32602,
            "message": "../home: leaves the repository",
            "data": {
              "kind": "user",
              "hint": ""
            }
          },
          {
            "code": -32602,
            "message": "/etc/passwd: absolute paths are refused; give a path relative to the repository root",
            "data": {
              "kind": "user",
              "hint": ""
            }
          },
          {
            "code": -32602,
            "message": "src: is a folder, not a file",
            "data": {
              "kind": "user",
              "hint": ""
            }
          },
          {
            "code": -32602,
            "message": "src/gone.py: no such file or folder",
            "data": {
              "kind": "user",
              "hint": ""
            }
          },
          {
            "code": -32602,
            "message": "lineRange [0, 3] is no range of lines",
            "data": {
              "kind": "user",
              "hint": "lines are counted from 1, and the last is not before the first"
            }
          }
        ]"#]].assert_eq(&stable(&errors, &repo.root()));
}

#[test]
fn unsaved_text_is_searched_and_read() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let path = format!("{}/src/cart.py", server.root());
    let open = json!([{"path": path, "text": "unsaved_word = 1\n"}]);
    let grep =
        json!({"roots": [server.root()], "pattern": "unsaved_word|total_price", "openFiles": open});
    let found = server.result("files/grep", grep);
    let lines: Vec<_> = found["matches"].as_array().unwrap().iter().map(|m| &m["text"]).collect();
    assert_eq!(lines, ["unsaved_word = 1", "return send_invoice(cart.total_price(0))"]);
    let read = json!({"root": server.root(), "path": "src/cart.py", "openFiles": open});
    assert_eq!(server.result("files/read", read)["text"], "unsaved_word = 1\n");
}
