//! The tools as the loop calls them, on real trees.

mod answers;
#[cfg(unix)]
mod hostile;
mod limits;
mod sources;
mod time;

use codegrep_agent::tools::{Call, Observation, Pool, ToolLimits, run};
use codegrep_tree::fixture::Fixture;
use codegrep_tree::{DiskTree, Tree, Watch};
use serde_json::{Value, json};

/// A call, as `grep {"pattern": "x"}`.
fn call(name: &str, arguments: Value) -> Call {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    Call { name: name.to_owned(), arguments }
}

fn run_all(tree: &dyn Tree, calls: &[Call]) -> Vec<Observation> {
    run(calls, tree, &ToolLimits::default(), &Pool::new(2), &Watch::idle())
}

fn run_one(tree: &dyn Tree, name: &str, arguments: Value) -> Observation {
    run_all(tree, &[call(name, arguments)]).remove(0)
}

fn disk(fixture: &Fixture) -> DiskTree {
    DiskTree::open(fixture.path()).unwrap()
}

/// Each call with what it gives, as text for a snapshot. A `!` marks an error.
fn transcript(tree: &dyn Tree, calls: &[(&str, Value)]) -> String {
    let calls: Vec<Call> = calls.iter().map(|(name, args)| call(name, args.clone())).collect();
    let mut text = String::new();
    for (call, got) in calls.iter().zip(run_all(tree, &calls)) {
        let mark = if got.error { "!" } else { "" };
        let arguments = Value::Object(call.arguments.clone());
        text += &format!("> {} {arguments} [{mark}{}]\n{}\n", call.name, got.hits, got.text);
    }
    text
}

/// A small project with something hidden, something ignored and something binary.
fn project() -> Fixture {
    let fixture = Fixture::new(
        "
        //- /.gitignore
        build/
        //- /.github/workflows/ci.yml
        run: cargo test save
        //- /app/models/base.py
        class Model:
            def save(self, force=False):
                if force:
                    self.save_base()

            def save_base(self):
                pass
        //- /app/models/query.py
        class QuerySet:
            def filter(self, *args):
                return self
        //- /app/views.py
        from app.models.base import Model

        def view(request):
            Model().save(force=True)
        //- /build/out.py
        def save(): pass
        //- /docs/Save.txt
        How to SAVE.
        //- /tests/test_query.py
        def test_filter():
            pass
        ",
    );
    fixture.write("logo.png", b"\x89PNG\r\n\0\0save\0");
    fixture.write("empty.py", "");
    // Ignore files hold within a git repository.
    fixture.commit("all");
    fixture
}

#[test]
fn results_come_in_call_order_and_a_ninth_call_is_not_run() {
    let fixture = project();
    let tree = disk(&fixture);
    let mut calls = Vec::new();
    for _ in 0..3 {
        calls.push(call("grep", json!({"pattern": "class QuerySet"})));
        calls.push(call("read", json!({"path": "app/views.py", "start_line": 3, "end_line": 3})));
        calls.push(call("glob", json!({"pattern": "query.py"})));
    }
    let texts: Vec<String> = run_all(&tree, &calls).into_iter().map(|got| got.text).collect();
    let three = [
        "app/models/query.py:1: class QuerySet:",
        "app/views.py, lines 3-3 of 4:\n3: def view(request):",
        "app/models/query.py",
    ];
    let mut want = [three, three, three].concat();
    want[8] = "error: not run: 8 calls a turn";
    assert_eq!(texts, want);
    assert_eq!(run_all(&tree, &[]), []);
}
