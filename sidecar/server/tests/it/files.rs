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

/// Programs get what they ask for: neither plain text for a broken pattern, nor another case, nor
/// another depth.
#[test]
fn nothing_else_is_tried_for_want_of_a_match() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let roots = json!([server.root()]);
    let error = server.error("files/grep", json!({"roots": roots, "pattern": "total_price("}));
    assert!(
        error["message"].as_str().unwrap().starts_with("not a regular expression: "),
        "{error}"
    );
    let none = server.result("files/grep", json!({"roots": roots, "pattern": "TOTAL_PRICE"}));
    assert_eq!(none, json!({"matches": [], "truncated": false}));
    for pattern in ["shop/*.py", "src", "SRC/*.py", "Cart.py"] {
        let none = server.result("files/glob", json!({"roots": roots, "pattern": pattern}));
        assert_eq!(none, json!({"files": [], "truncated": false}), "{pattern}");
    }
}

/// Paths and patterns are relative to each root, and answers come by root as asked.
#[test]
fn several_roots_are_each_searched_as_one_is() {
    let repo = Repo::shop();
    for (path, text) in [("src/gift.py", "def wrap_gift(): pass\n"), ("deep/src/no.py", "gift\n")] {
        let path = repo.root().parent().unwrap().join("gifts").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut server = repo.serve(&[]);
    let gifts = repo.root().parent().unwrap().join("gifts").to_str().unwrap().to_owned();
    // A root named twice counts once.
    let roots = json!([server.root(), gifts, server.root()]);
    let glob = |most: u32| json!({"roots": roots, "pattern": "src/*.py", "maxFiles": most});
    let file = |root: &str, path: &str| json!({"root": root, "path": path});
    let shop = server.root();
    let all = [
        file(&shop, "src/cart.py"),
        file(&shop, "src/checkout.py"),
        file(&shop, "src/invoice.py"),
        file(&gifts, "src/gift.py"),
    ];
    let found = server.result("files/glob", glob(4));
    assert_eq!(found, json!({"files": all, "truncated": false}));
    let found = server.result("files/glob", glob(3));
    assert_eq!(found, json!({"files": all[..3], "truncated": true}));

    // A root inside another adds what its own paths match, and no file twice.
    let inner = format!("{gifts}/deep");
    let nested = json!({"roots": [gifts, inner], "pattern": "src/*.py"});
    let both = json!([file(&gifts, "src/gift.py"), file(&inner, "src/no.py")]);
    assert_eq!(server.result("files/glob", nested)["files"], both);
    let nested = json!({"roots": [gifts, inner], "pattern": "^gift"});
    let once = server.result("files/grep", nested)["matches"].clone();
    assert_eq!(
        (once[0]["path"].as_str(), once.as_array().unwrap().len()),
        (Some("deep/src/no.py"), 1)
    );

    let mut grep = |path: &str, most: u32| {
        let asked = json!({"roots": roots, "pattern": "^def ", "path": path, "maxMatches": most});
        let found = server.result("files/grep", asked);
        let matches = found["matches"].as_array().unwrap();
        let files: Vec<_> =
            matches.iter().map(|m| m["path"].as_str().unwrap().to_owned()).collect();
        (files, found["truncated"].as_bool().unwrap())
    };
    let three = ["src/checkout.py", "src/invoice.py", "src/gift.py"].map(str::to_owned);
    assert_eq!(grep("src", 3), (three.to_vec(), false));
    assert_eq!(grep("src", 2), (three[..2].to_vec(), true));
    // Only one of the roots has it.
    assert_eq!(grep("src/gift.py", 3), (three[2..].to_vec(), false));
    let error = server.error("files/grep", json!({"roots": roots, "pattern": "x", "path": "lib"}));
    assert_eq!(error["message"], "lib: no such file or folder");
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
