//! The typed client and its example against the real server.

use std::time::Duration;

use codegrep_plugin_sdk::{
    Client, ClientError, Evidence, EvidenceKind, PeerInfo, RetrieveParams, VerdictKind, code,
};

use crate::support::{Repo, Silent};

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
