//! The client against servers that misbehave; against the real one: `sidecar/server/tests`.
#![cfg(unix)]

use std::process::Command;
use std::time::Duration;

use codegrep_plugin_sdk::{
    Client, ClientError, Health, NoParams, PeerInfo, ProgressToken, Retrieve, RetrieveParams,
};
use expect_test::expect;

/// A server that is a shell script; `$hello` answers the handshake.
fn spawn(script: &str) -> Result<Client, ClientError> {
    let hello = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"serverInfo":{"name":"sh","version":"0"},"capabilities":{"methods":[],"profiles":[],"features":[],"maxMessageBytes":0}}}"#;
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("hello", hello);
    Client::spawn(command, PeerInfo { name: "test".into(), version: "0".into() })
}

fn error(script: &str) -> String {
    spawn(script).err().expect("an error").to_string()
}

#[test]
fn a_program_that_is_missing() {
    let command = Command::new("/nonexistent/codegrep");
    let me = PeerInfo { name: "test".into(), version: "0".into() };
    expect!["/nonexistent/codegrep could not be started: No such file or directory (os error 2)"]
        .assert_eq(&Client::spawn(command, me).err().unwrap().to_string());
}

#[test]
fn a_server_that_dies_is_quoted() {
    expect![[r#"
        the server ended before it answered (exit status: 3); it said:
        no such library"#]]
    .assert_eq(&error("echo no such library >&2; exit 3"));
    expect!["the server ended before it answered (signal: 9 (SIGKILL))"]
        .assert_eq(&error("kill -9 $$"));
}

#[test]
fn a_server_that_talks_nonsense() {
    expect![[r#"the server broke the protocol: expected value at line 1 column 1, in the line "Welcome!""#]]
        .assert_eq(&error("echo Welcome!; cat >/dev/null"));
    expect![[r#"the server speaks protocol version 2, this client 1"#]].assert_eq(&error(
        r#"read l; echo "$hello" | sed s/Version\":1/Version\":2/; cat >/dev/null"#,
    ));
}

#[test]
fn a_broken_protocol_is_told_to_every_call() {
    let client = spawn(r#"read l; echo "$hello"; read l; read l; echo Oops; cat >/dev/null"#);
    let client = client.unwrap();
    let first = client.call::<Health>(&NoParams {});
    let second = client.retrieve(RetrieveParams::new("t", "/r"));
    let waited = [first.wait().unwrap_err(), second.wait().unwrap_err()];
    let late = client.call::<Health>(&NoParams {}).wait().unwrap_err();
    for error in waited.into_iter().chain([late]) {
        expect![[r#"the server broke the protocol: expected value at line 1 column 1, in the line "Oops""#]]
            .assert_eq(&error.to_string());
    }
}

#[test]
fn a_time_beyond_the_clock_is_no_deadline() {
    let client = spawn(r#"read l; echo "$hello"; read l; exit 1"#).unwrap();
    let error = client.call::<Health>(&NoParams {}).wait_timeout(Duration::MAX).unwrap_err();
    assert!(matches!(error, ClientError::Died { .. }), "{error}");
}

#[test]
fn a_flood_of_progress_does_not_outlast_the_deadline() {
    let flood = r#"{"jsonrpc":"2.0","method":"retrieve/progress","params":{"progressToken":7,"stage":"rank","turn":0,"toolCalls":0,"message":"still at it"}}"#;
    let client = spawn(&format!(
        r#"read l; echo "$hello"; read l; while :; do echo '{flood}' || exit; done"#
    ))
    .unwrap();
    let mut params = RetrieveParams::new("t", "/r");
    params.progress_token = Some(ProgressToken::Number(7));
    let mut news = 0;
    let call = client.retrieve(params);
    // News comes faster than it is taken, so the channel is never empty.
    let error = call
        .wait_with(Some(Duration::from_millis(200)), |_| {
            news += 1;
            std::thread::sleep(Duration::from_millis(5));
        })
        .unwrap_err();
    expect!["no answer within 200ms; the request was cancelled"].assert_eq(&error.to_string());
    assert!(news > 0);
}

#[test]
fn a_server_that_dies_in_the_middle_ends_every_call() {
    let client = spawn(r#"read l; echo "$hello"; read l; read l; echo bye >&2; exit 1"#).unwrap();
    let first = client.call::<Health>(&NoParams {});
    let second = client.retrieve(RetrieveParams::new("t", "/r"));
    for error in [first.wait().unwrap_err(), second.wait().unwrap_err()] {
        expect![[r#"
            the server ended before it answered (exit status: 1); it said:
            bye"#]]
        .assert_eq(&error.to_string());
    }
    // Calls after its end fail as well, and at once.
    let late = client.call::<Health>(&NoParams {}).wait().unwrap_err();
    assert!(matches!(late, ClientError::Died { .. }), "{late}");
}

#[test]
fn a_timeout_cancels_on_the_wire() {
    let client = spawn(r#"read l; echo "$hello"; while read l; do echo "$l" >&2; done"#).unwrap();
    let error = client.call::<Health>(&NoParams {}).wait_timeout(Duration::from_millis(20));
    expect!["no answer within 20ms; the request was cancelled"]
        .assert_eq(&error.unwrap_err().to_string());
    let sent = loop {
        let sent = client.stderr();
        if sent.lines().count() == 2 {
            break sent;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    expect![[r#"
        {"jsonrpc":"2.0","id":2,"method":"health","params":{}}
        {"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}"#]]
    .assert_eq(&sent);
}

#[test]
fn a_request_over_the_limit_is_not_sent() {
    let client = spawn(r#"read l; echo "$hello"; cat >/dev/null"#).unwrap();
    let params = RetrieveParams::new("x".repeat(17 << 20), "/r");
    let error = client.call::<Retrieve>(&params).wait().unwrap_err();
    assert!(matches!(error, ClientError::TooLarge(_)), "{error}");
}

#[test]
fn a_server_that_does_not_read_blocks_nobody() {
    let client = spawn(r#"read l; echo "$hello"; exec sleep 60"#).unwrap();
    let params = RetrieveParams::new("x".repeat(1 << 20), "/r");
    let calls: Vec<_> = (0..8).map(|_| client.call::<Retrieve>(&params)).collect();
    drop(calls);
}
