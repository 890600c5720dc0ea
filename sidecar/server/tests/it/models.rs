//! `codegrep model` from an empty home to a listed model and back.

use expect_test::expect;
use serde_json::json;

use crate::support::{Ran, Repo};

#[allow(dead_code, reason = "its own tests use the rest")]
#[path = "../../../model/tests/store/gguf.rs"]
mod gguf;
#[allow(dead_code, reason = "its own tests use the rest")]
#[path = "../../../model/tests/store/hub.rs"]
mod hub;

use hub::{Plan, StubHub, sha256};

/// Without what differs from run to run.
fn stable(repo: &Repo, text: &str) -> String {
    let root = repo.root();
    text.replace(repo.home().to_str().unwrap(), "HOME").replace(root.to_str().unwrap(), "ROOT")
}

#[test]
fn a_file_is_added_listed_verified_and_removed() {
    let repo = Repo::shop();
    let none = repo.run(&["model", "list"]);
    assert_eq!((none.code, none.stderr.as_str()), (Some(0), ""));
    assert!(none.stdout.starts_with("No models yet"), "{none:#?}");
    assert_eq!(repo.run(&["model", "list", "--json"]).json(), json!({"models": []}));

    repo.write("Tiny.gguf", &gguf::model(64, 7));
    let added = repo.run(&["model", "add", "Tiny.gguf"]);
    assert_eq!((added.code, added.stderr.as_str()), (Some(0), ""), "{added:#?}");
    let hash = sha256(&gguf::model(64, 7));
    let lines: Vec<String> = stable(&repo, &added.stdout).lines().map(str::to_owned).collect();
    assert_eq!(
        lines[..2],
        [
            format!("✓ tiny: qwen2, 1 k parameters, 0.5 kB, SHA-256 {hash}"),
            "It stays at ROOT/Tiny.gguf; --copy makes a copy instead.".to_owned(),
        ]
    );
    let listed = repo.run(&["model", "list"]);
    expect!["✓ tiny       1 k     0.5 kB  qwen2  ROOT/Tiny.gguf\n"]
        .assert_eq(&stable(&repo, &listed.stdout));
    let listed = repo.run(&["model", "list", "--json"]).json();
    let entry = &listed["models"][0];
    assert_eq!(
        (&entry["name"], &entry["sha256"], &entry["broken"]),
        (&json!("tiny"), &json!(hash), &json!(null))
    );
    assert_eq!(repo.run(&["model", "verify"]).stdout, "✓ tiny\n");

    // One byte changes, the size stays.
    repo.write("Tiny.gguf", &gguf::model(64, 8));
    let broken = repo.run(&["model", "verify", "tiny"]);
    assert_eq!(broken.code, Some(1));
    assert!(broken.stdout.starts_with("✗ tiny: its SHA-256 is "), "{broken:#?}");
    let broken = repo.run(&["model", "verify", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&broken.stdout).unwrap();
    assert_eq!((broken.code, &json["models"][0]["intact"]), (Some(1), &json!(false)));
    std::fs::remove_file(repo.root().join("Tiny.gguf")).unwrap();
    let listed = repo.run(&["model", "list"]);
    expect![[r#"
        ✗ tiny  its file is gone; ROOT/Tiny.gguf
        Add what is broken again, or `codegrep model remove NAME`.
    "#]]
    .assert_eq(&stable(&repo, &listed.stdout));

    assert_eq!(repo.run(&["model", "remove", "tiny"]).stdout, "removed tiny\n");
    assert_eq!(repo.run(&["model", "list", "--json"]).json(), json!({"models": []}));
}

#[test]
fn a_download_that_broke_off_goes_on_in_the_next_run() {
    let repo = Repo::shop();
    let bytes = gguf::model(100_000, 3);
    let stub = StubHub::start(Plan {
        bytes: bytes.clone(),
        cuts: vec![200_000, 0, 0, 0, 0],
        ..Plan::default()
    });
    let pull = || {
        let mut command = repo.command(&["model", "pull", "owner/repo/tiny.gguf"]);
        command.env("HF_ENDPOINT", &stub.url).env("HF_TOKEN", "hf_secret");
        command.env_remove("HF_HOME").env_remove("HF_HUB_OFFLINE");
        Ran::of(command.output().unwrap())
    };
    let first = pull();
    assert_eq!((first.code, first.stdout.as_str()), (Some(1), ""), "{first:#?}");
    assert!(first.stderr.starts_with("error: the download stopped at 49 %: "), "{first:#?}");
    assert!(first.stderr.ends_with("hint: run the same command again: it goes on from there\n"));
    assert_eq!(repo.run(&["model", "list", "--json"]).json(), json!({"models": []}));

    let second = pull();
    assert_eq!((second.code, second.stderr.as_str()), (Some(0), ""), "{second:#?}");
    assert_eq!(stub.ranges().last().unwrap().as_deref(), Some("bytes=200000-"));
    let entry = repo.run(&["model", "list", "--json"]).json()["models"][0].clone();
    assert_eq!(entry["sha256"], sha256(&bytes));
    assert_eq!(entry["source"]["repo"], "owner/repo");
    assert_eq!(repo.run(&["model", "verify"]).code, Some(0));
    let path = entry["path"].as_str().unwrap().to_owned();
    assert_eq!(repo.run(&["model", "remove", "tiny"]).stdout, "removed tiny\n");
    assert!(!std::path::Path::new(&path).exists());
}

#[test]
fn mistakes_say_what_to_do() {
    let repo = Repo::shop();
    repo.write("text.gguf", b"no model");
    for (args, code, want) in [
        (
            &["model", "pull", "qwen"][..],
            2,
            expect![[r#"
            error: "qwen" names no file of a hub
            hint: write it like Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/qwen2.5-coder-0.5b-instruct-q4_0.gguf
        "#]],
        ),
        (
            &["model", "pull", "owner/repo/tiny.gguf"],
            1,
            expect![[r#"
                error: http://127.0.0.1:1 refused the connection
                hint: check the network and HTTPS_PROXY; or fetch http://127.0.0.1:1/owner/repo/resolve/main/tiny.gguf on another machine and run `codegrep model add FILE`
            "#]],
        ),
        (
            &["model", "add", "text.gguf"],
            1,
            expect![[r#"
                error: ROOT/text.gguf cannot be used: not a GGUF file (it does not begin with `GGUF`)
                hint: give a whole GGUF file of a model or a LoRA adapter
            "#]],
        ),
        (
            &["model", "verify", "x"],
            1,
            expect![[r#"
                error: there is no model named "x"
                hint: `codegrep model add PATH` or `codegrep model pull` gets one
            "#]],
        ),
    ] {
        let mut command = repo.command(args);
        command.env("HF_ENDPOINT", "http://127.0.0.1:1").env_remove("HF_HUB_OFFLINE");
        let ran = Ran::of(command.output().unwrap());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:#?}");
        want.assert_eq(&stable(&repo, &ran.stderr));
    }
}
