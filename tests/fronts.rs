//! One meaning, three fronts: the same question through JSON-RPC, MCP and LSP, on the real binary.
//! Each protocol itself is tested in `sidecar/server/src/front`, and under clients that others wrote
//! in `tests/clients`.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use codegrep_plugin_sdk::{Client, PeerInfo, RetrieveParams, RetrieveResponse};
use codegrep_tests::{Codegrep, SHOP, SHOP_REPORT};
use codegrep_tree::fixture::Fixture;
use serde_json::{Value, json};

/// A front as a client starts it.
struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    _home: tempfile::TempDir,
}

impl Process {
    fn start(front: &str, dir: &Path) -> Self {
        let codegrep = Codegrep::new(["serve", front, "--model", "none"]).dir(dir);
        let (mut command, home) = codegrep.into_command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output), _home: home }
    }

    fn write(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// One message a line.
    fn mcp(&mut self, message: &Value) -> Value {
        self.write(&format!("{message}\n"));
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn lsp_send(&mut self, message: &Value) {
        let body = message.to_string();
        self.write(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    }

    /// A head that tells the length, an empty line, the message.
    fn lsp(&mut self, message: &Value) -> Value {
        self.lsp_send(message);
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server has ended");
            match line.trim().strip_prefix("Content-Length: ") {
                Some(value) => length = value.parse().unwrap(),
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    /// Closes the input and waits; nothing else may have been said.
    fn end(mut self) {
        self.input = None;
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert_eq!((rest.as_str(), self.child.wait().unwrap().code()), ("", Some(0)));
    }
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn timeless(answer: &Value) -> RetrieveResponse {
    let mut answer: RetrieveResponse =
        serde_json::from_value(answer.clone()).unwrap_or_else(|error| panic!("{error}: {answer}"));
    answer.ms = Default::default();
    answer
}

fn over_mcp(dir: &Path) -> RetrieveResponse {
    let mut server = Process::start("--mcp", dir);
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    });
    server.mcp(&request(1, "initialize", hello));
    server.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    let call = json!({"name": "find_files", "arguments": {"text": SHOP_REPORT}});
    let answer = server.mcp(&request(2, "tools/call", call));
    server.end();
    timeless(&answer["result"]["structuredContent"])
}

fn over_lsp(dir: &Path) -> RetrieveResponse {
    let mut server = Process::start("--lsp", dir);
    let hello = json!({"processId": null, "rootUri": null, "capabilities": {}});
    server.lsp(&request(1, "initialize", hello));
    server.lsp_send(&json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
    let find = json!({"command": "codegrep.find", "arguments": [SHOP_REPORT]});
    let answer = server.lsp(&request(2, "workspace/executeCommand", find));
    let goodbye = server.lsp(&json!({"jsonrpc": "2.0", "id": 3, "method": "shutdown"}));
    assert_eq!(goodbye["result"], Value::Null);
    server.lsp_send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    server.end();
    timeless(&answer["result"])
}

#[test]
fn the_same_question_has_the_same_answer_through_every_front() {
    let repo = Fixture::new(SHOP);
    let (command, _home) =
        Codegrep::new(["serve", "--stdio", "--model", "none"]).dir(repo.path()).into_command();
    let me = PeerInfo { name: "tests".into(), version: "1".into() };
    let client = Client::spawn(command, me).unwrap();
    let params = RetrieveParams::new(SHOP_REPORT, repo.path().to_str().unwrap());
    let mut answer = client.retrieve(params).wait().unwrap();
    answer.ms = Default::default();
    assert!(!answer.files.is_empty(), "{answer:#?}");
    assert_eq!(over_mcp(repo.path()), answer);
    assert_eq!(over_lsp(repo.path()), answer);
}

#[test]
fn a_client_that_goes_away_takes_its_server_with_it() {
    let repo = Fixture::new(SHOP);
    for front in ["--mcp", "--lsp"] {
        Process::start(front, repo.path()).end();
    }
}

#[test]
fn one_front_has_to_be_chosen() {
    for args in [&["serve"][..], &["serve", "--mcp", "--lsp"]] {
        let run = Codegrep::new(args).run();
        assert_eq!(run.code, Some(2), "{run:#?}");
        assert!(run.stderr.contains("--mcp"), "{run:#?}");
    }
}
