//! `codegrep serve --stdio` with a real model, through the client that editors and agents use.
//! The protocol itself is tested in `sidecar/server/tests`.

use std::thread;
use std::time::{Duration, Instant};

use codegrep_plugin_sdk::{
    Client, ClientError, EngineKind, Health, NoParams, PeerInfo, ProgressStage, RetrieveParams,
    RetrieveResponse, code,
};
use codegrep_tests::{Codegrep, SHOP, SHOP_REPORT, test_model};
use codegrep_tree::fixture::Fixture;

/// A server with the test model, a repository, and the home the server lives in.
struct Session {
    client: Client,
    repo: Fixture,
    _home: tempfile::TempDir,
}

impl Session {
    fn new() -> Self {
        let codegrep = Codegrep::new(["serve", "--stdio", "--model"]).arg(test_model());
        let (command, home) = codegrep.into_command();
        let me = PeerInfo { name: "tests".into(), version: "1".into() };
        let client = Client::spawn(command, me).expect("a server");
        Self { client, repo: Fixture::new(SHOP), _home: home }
    }

    fn params(&self, text: &str) -> RetrieveParams {
        let mut params = RetrieveParams::new(text, self.repo.path().to_str().unwrap());
        params.budget_ms = Some(300_000);
        params
    }
}

fn timeless(mut answer: RetrieveResponse) -> RetrieveResponse {
    answer.ms = Default::default();
    answer
}

#[test]
fn the_wire_and_the_command_line_give_the_same_answer() {
    let session = Session::new();
    let mut stages = Vec::new();
    let wire = session
        .client
        .retrieve(session.params(SHOP_REPORT))
        .wait_with(None, |progress| stages.push(progress.stage))
        .unwrap();
    assert_eq!(wire.engine.kind, EngineKind::Agent, "{wire:#?}");
    assert!(stages.contains(&ProgressStage::Model), "{stages:?}");
    let line = Codegrep::new(["find", "--json", "--budget-ms", "300000", "--model"])
        .arg(test_model())
        .arg("--repo")
        .arg(session.repo.path())
        .arg(SHOP_REPORT)
        .timeout(Duration::from_secs(310))
        .run()
        .answer();
    assert_eq!(timeless(wire), timeless(line));
    let health = session.client.call::<Health>(&NoParams {}).wait().unwrap();
    assert_eq!(health.loaded_models.len(), 1, "{health:?}");
    assert!(session.client.shutdown().unwrap().success());
}

#[test]
fn requests_at_once_share_the_model() {
    let session = Session::new();
    thread::scope(|scope| {
        let texts =
            [SHOP_REPORT, "The invoice lacks a total", "Parcels over 30 kg cost too little"];
        let calls = texts.map(|text| {
            let session = &session;
            scope.spawn(move || session.client.retrieve(session.params(text)).wait().unwrap())
        });
        for call in calls {
            let answer = call.join().unwrap();
            assert_eq!(answer.engine.kind, EngineKind::Agent, "{answer:#?}");
            assert!(answer.turns <= 4 && answer.tool_calls <= 24, "{answer:#?}");
        }
    });
}

#[test]
fn a_cancelled_request_leaves_the_model_to_the_next() {
    let session = Session::new();
    let slow = session.client.retrieve(session.params(SHOP_REPORT));
    let cancel = slow.cancel_handle();
    let mut cancelled = None;
    let result = slow.wait_with(None, |progress| {
        if progress.stage == ProgressStage::Model && cancelled.is_none() {
            cancelled = Some(Instant::now());
            cancel.cancel();
        }
    });
    match result {
        Err(ClientError::Server(error)) => assert_eq!(error.code, code::CANCELLED, "{error:?}"),
        other => panic!("{other:#?}"),
    }
    let took = cancelled.expect("the model was at work").elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    let next = session.client.retrieve(session.params(SHOP_REPORT)).wait().unwrap();
    assert_eq!(next.engine.kind, EngineKind::Agent, "{next:#?}");
}
