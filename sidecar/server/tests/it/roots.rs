//! Several roots, roots inside one another, and roots by other names.

use serde_json::{Value, json};

use crate::support::Repo;

fn paths(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let files = answer["files"].as_array().unwrap().iter();
    files.map(|file| (text(&file["root"]), text(&file["path"]))).collect()
}

#[test]
fn the_strictest_wish_of_several_roots_holds() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let roots = [repo.root().join("src"), repo.root().join("docs")];
    let mut ask = || {
        server.result("retrieve", json!({"text": "total_price", "roots": roots, "model": "none"}))
    };
    assert_eq!(ask()["verdict"]["kind"], "inject");
    repo.write("src/.codegrep.toml", b"bar = 0.0\n");
    repo.write("docs/.codegrep.toml", b"bar = 1.0\nmodel = 'x'\n");
    let answer = ask();
    assert_eq!(answer["verdict"]["kind"], "abstain");
    let warning = "docs/.codegrep.toml: a repository may not set \"model\"; it is ignored";
    assert_eq!(answer["warnings"], json!([warning]));
    // So it does for a root that is searched as a part of another.
    let roots = [repo.root(), repo.root().join("docs")];
    let ask = json!({"text": "total_price", "roots": roots, "model": "none"});
    assert_eq!(server.result("retrieve", ask)["verdict"]["kind"], "abstain");
}

#[test]
fn a_root_inside_another_is_searched_once_with_its_unsaved_text() {
    let repo = Repo::shop();
    repo.write(".notes/plan.md", b"quagga_herd\n");
    let (root, inner) = (repo.root(), repo.root().join("src"));
    let mut server = repo.serve(&[]);
    let unsaved = json!([{"path": inner.join("cart.py"), "text": "def zebra_stripes(): pass\n"}]);
    for roots in [[&root, &inner], [&inner, &root]] {
        let answer = server.result(
            "retrieve",
            json!({"text": "zebra_stripes", "roots": roots, "openFiles": unsaved, "model": "none"}),
        );
        let want = (root.to_str().unwrap().to_owned(), "src/cart.py".to_owned());
        assert_eq!(paths(&answer), [want]);
        let (inner, root) = (inner.display(), root.display());
        let warning = format!("the root {inner} is searched as a part of the root {root}");
        assert_eq!(answer["warnings"], json!([warning]));
    }
    // What the outer one hides was named to be searched.
    let hidden = root.join(".notes");
    let ask = json!({"text": "quagga_herd", "roots": [&root, &hidden], "model": "none"});
    let answer = server.result("retrieve", ask);
    let name = hidden.to_str().unwrap().to_owned();
    assert_eq!(paths(&answer), [(name, "plan.md".to_owned())]);
    assert_eq!(answer["warnings"], json!([]));
}

#[cfg(unix)]
#[test]
fn a_linked_root_shares_the_index_and_keeps_its_name() {
    let repo = Repo::shop();
    let link = repo.home().join("linked");
    std::os::unix::fs::symlink(repo.root(), &link).unwrap();
    let mut server = repo.serve(&[]);
    server.result("index/refresh", json!({"roots": [repo.root()]}));
    let status = server.result("index/status", json!({"roots": [&link]}));
    assert_eq!(
        (&status["roots"][0]["root"], &status["roots"][0]["state"]),
        (&json!(link), &json!("ready"))
    );
    // The unsaved text of a file is found by either name of it.
    let unsaved = json!([{"path": repo.root().join("src/cart.py"), "text": "zebra_stripes = 1\n"}]);
    let answer = server.result(
        "retrieve",
        json!({"text": "zebra_stripes", "roots": [&link], "openFiles": unsaved, "model": "none"}),
    );
    let name = link.to_str().unwrap().to_owned();
    assert_eq!(paths(&answer), [(name, "src/cart.py".to_owned())]);
    // The home itself by another name is the home.
    let home = repo.root().join("src/house");
    std::os::unix::fs::symlink(repo.home(), &home).unwrap();
    let error = server.error("retrieve", json!({"text": "x", "roots": [home]}));
    assert_eq!(error["code"], -32001);
}

#[test]
fn the_index_state_follows_the_disk() {
    let repo = Repo::shop();
    let mut server = repo.serve(&[]);
    let roots = json!({"roots": [repo.root()]});
    let mut state =
        |method: &str| server.result(method, roots.clone())["roots"][0]["state"].clone();
    assert_eq!(state("index/status"), "stale");
    assert_eq!(state("index/refresh"), "ready");
    assert_eq!(state("index/status"), "ready");
    repo.write("src/new.py", b"x = 1\n");
    assert_eq!(state("index/status"), "stale");
    assert_eq!(state("index/refresh"), "ready");
}
