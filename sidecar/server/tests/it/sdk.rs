//! The typed client and its example against the real server.

use std::process::Command;
use std::time::Duration;

use codegrep_plugin_sdk::{
    Client, ClientError, Evidence, EvidenceKind, PeerInfo, RetrieveParams, VerdictKind, code,
};
use expect_test::expect;

use crate::support::{Ran, Repo, Silent};

fn client(repo: &Repo, args: &[&str]) -> Client {
    let args: Vec<&str> = ["serve", "--stdio"].iter().chain(args).copied().collect();
    let me = PeerInfo { name: "test".into(), version: "1".into() };
    Client::spawn(repo.command(&args), me).unwrap()
}

#[test]
fn a_typed_conversation() {
    let repo = Repo::shop();
    let client = client(&repo, &[]);
    assert_eq!(client.server().server_info.name, "codegrep");
    let params =
        RetrieveParams::new("total_price ignores the discount", repo.root().to_str().unwrap());
    let mut stages = Vec::new();
    let answer = client
        .retrieve(params)
        .wait_with(Some(Duration::from_secs(60)), |progress| stages.push(progress.stage))
        .unwrap();
    assert_eq!(answer.verdict.kind, VerdictKind::Inject);
    assert_eq!(answer.files[0].path, "src/cart.py");
    assert_eq!(
        answer.files[0].evidence[0],
        Evidence {
            line: 5,
            text: "def total_price(self, discount):".into(),
            kind: EvidenceKind::Definition
        }
    );
    assert!(!stages.is_empty());
    assert!(client.shutdown().unwrap().success());
}

/// What the guide tells people to run.
#[test]
fn the_example_finds_files() {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "codegrep-plugin-sdk", "--example", "find_files"])
        .args(["--message-format", "json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let example = String::from_utf8(built.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "find_files")
        .find_map(|message| message["executable"].as_str().map(str::to_owned))
        .unwrap();
    let repo = Repo::shop();
    // The environment of a `codegrep` of this repository, its home included.
    let codegrep = repo.command(&[]);
    let mut command = Command::new(example);
    for (name, value) in codegrep.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("CODEGREP", codegrep.get_program());
    command.arg(repo.root()).arg("total_price ignores the discount");
    let ran = Ran::of(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    // How sure the ranker is, is tested where it is made.
    let stable: Vec<String> = ran
        .stdout
        .lines()
        .map(|line| match line.split_once("  ") {
            Some((number, rest)) if number.parse::<f64>().is_ok() => format!("0.00  {rest}"),
            _ => line.to_owned(),
        })
        .collect();
    expect![[r#"
        0.00  src/cart.py
              5: def total_price(self, discount):
        worth injecting: 1 of 1 file at or above 0.00"#]]
    .assert_eq(&stable.join("\n"));
}

#[test]
fn errors_timeouts_and_cancels_are_typed() {
    let (repo, silent) = (Repo::shop(), Silent::new());
    let client = client(&repo, &["--model", &silent.model()]);
    match client.retrieve(RetrieveParams::new("", "/usr")).wait() {
        Err(ClientError::Server(error)) => assert_eq!(error.code, code::INVALID_PARAMS),
        other => panic!("{other:?}"),
    }
    let mut params = RetrieveParams::new("discount", repo.root().to_str().unwrap());
    params.budget_ms = Some(600_000);
    let call = client.retrieve(params.clone());
    let handle = call.cancel_handle();
    let cancel = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        handle.cancel();
    });
    match call.wait() {
        Err(ClientError::Server(error)) => assert_eq!(error.code, code::CANCELLED),
        other => panic!("{other:?}"),
    }
    cancel.join().unwrap();
    match client.retrieve(params).wait_timeout(Duration::from_millis(100)) {
        Err(ClientError::Timeout(_)) => {}
        other => panic!("{other:?}"),
    }
    assert!(client.shutdown().unwrap().success());
}
