use std::path::Path;
use std::time::Duration;

use codegrep_plugin_sdk::ErrorKind;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use super::roots::Roots;
use crate::front::testing::{Home, Peer};

/// A client on the other end of a stream in memory.
struct Client {
    home: Home,
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: Option<WriteHalf<DuplexStream>>,
    served: tokio::task::JoinHandle<Result<(), crate::failure::Failure>>,
    next: u64,
}

impl Peer for Client {
    fn next_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.output.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
    }
}

impl Client {
    fn start(home: Home) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        let served = tokio::spawn(super::serve(home.service(), reader, writer));
        let (input, output) = tokio::io::split(ours);
        let lines = BufReader::new(input).lines();
        Self { home, lines, output: Some(output), served, next: 0 }
    }

    async fn initialized(version: &str, capabilities: Value) -> Self {
        Self::initialized_at(Home::shop(), version, capabilities).await
    }

    async fn initialized_at(home: Home, version: &str, capabilities: Value) -> Self {
        let mut client = Self::start(home);
        let hello = client.hello(version, capabilities).await;
        assert_eq!(hello["result"]["protocolVersion"], version, "{hello}");
        client.notify("notifications/initialized", json!({})).await;
        client
    }

    async fn hello(&mut self, version: &str, capabilities: Value) -> Value {
        let info = json!({"name": "tests", "version": "1"});
        let params = json!({
            "protocolVersion": version, "capabilities": capabilities, "clientInfo": info,
        });
        self.ask("initialize", params).await
    }

    async fn receive(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(60), self.lines.next_line());
        let line = line.await.expect("an answer in time").unwrap().expect("an open stream");
        serde_json::from_str(&line).unwrap()
    }

    /// The answer to a request, with no other message before it.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await;
        answer["result"].clone()
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_negotiated() {
    for (asked, given) in
        [("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")]
    {
        let mut client = Client::start(Home::shop());
        let hello = client.hello(asked, json!({})).await;
        assert_eq!(hello["result"]["protocolVersion"], given, "{hello}");
        assert_eq!(hello["result"]["serverInfo"]["name"], "codegrep");
        assert!(hello["result"]["instructions"].as_str().unwrap().contains("find_files"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discovering_client_is_answered_and_may_initialize_afterwards() {
    let mut client = Client::start(Home::shop());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.ask("server/discover", json!({ "_meta": meta })).await;
    let versions = found["result"]["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!("2025-11-25")), "{found}");
    let hello = client.hello("2025-11-25", json!({})).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25", "{hello}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_described_and_read_only() {
    let mut client = Client::initialized("2025-06-18", json!({})).await;
    let listed = client.ask("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["find_files", "grep", "glob", "read"]);
    for tool in tools {
        assert!(tool["description"].as_str().unwrap().len() > 100, "{tool}");
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        assert_eq!(tool["annotations"]["openWorldHint"], false, "{tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        for (name, property) in properties {
            // Some clients take no lists of types and no tuples.
            assert!(property["type"].is_string(), "{name}: {property}");
            assert!(property["description"].is_string(), "{name}: {property}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tool_answers_with_structure_and_text() {
    let mut client = Client::initialized("2025-11-25", json!({})).await;
    let found = client.call("find_files", json!({"text": "total_price is wrong"})).await;
    assert_eq!(found["structuredContent"]["files"][0]["path"], "cart.py", "{found}");
    assert!(text(&found).contains("- cart.py ("), "{found}");
    let lines = client.call("grep", json!({"pattern": "def \\w+", "ignoreCase": null})).await;
    assert_eq!(text(&lines), "cart.py:1: def total_price(items):\nmail.py:1: def send(): pass\n");
    assert_eq!(lines["structuredContent"]["truncated"], false, "{lines}");
    let files = client.call("glob", json!({"pattern": "*.py"})).await;
    assert_eq!(text(&files), "cart.py\nmail.py\n");
    let read = client.call("read", json!({"path": "cart.py", "firstLine": 2})).await;
    assert_eq!(text(&read), "2\t    return sum(items)\n");
    let first = client.call("read", json!({"path": "cart.py", "lastLine": 1})).await;
    assert!(text(&first).ends_with("There is more: the file has 2 lines; firstLine=2.\n"));
    let none = client.call("grep", json!({"pattern": "nothing like it"})).await;
    assert_eq!((text(&none), &none["isError"]), ("No line matches.\n", &json!(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abstention_is_an_answer() {
    let mut client = Client::initialized("2025-06-18", json!({})).await;
    let answer = client.call("find_files", json!({"text": "zzyzx"})).await;
    assert_eq!(answer["isError"], false, "{answer}");
    assert_eq!(answer["structuredContent"]["verdict"]["kind"], "abstain", "{answer}");
    assert!(text(&answer).contains("Search with grep and glob"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_tool_errors_with_a_hint_and_the_session_lives() {
    let mut client = Client::initialized("2025-06-18", json!({})).await;
    for (tool, arguments, word) in [
        ("find_files", json!({}), "missing field `text`"),
        ("find_files", json!({"text": " "}), "the task text is empty"),
        ("grep", json!({"pattern": "("}), "not a regular expression"),
        ("read", json!({"path": "../secret"}), ".."),
        ("read", json!({"path": "/etc/passwd"}), "outside of the workspace"),
        ("grep", json!({"pattern": "x", "root": "/"}), "none of the workspace roots"),
        ("read", json!({"path": "absent.py"}), "absent.py"),
    ] {
        let answer = client.call(tool, arguments).await;
        assert_eq!(answer["isError"], true, "{tool} {word}: {answer}");
        assert!(text(&answer).contains(word), "{tool} {word}: {answer}");
    }
    let unknown = client.ask("tools/call", json!({"name": "rm", "arguments": {}})).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let method = client.ask("no/such", json!({})).await;
    assert_eq!(method["error"]["code"], -32601, "{method}");
    let files = client.call("glob", json!({"pattern": "*.py"})).await;
    assert_eq!(text(&files), "cart.py\nmail.py\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clients_roots_win_over_the_working_folder() {
    let capabilities = json!({"roots": {"listChanged": true}});
    let mut client = Client::initialized("2025-06-18", capabilities).await;
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("other.rs"), "fn other() {}\n").unwrap();
    let glob = json!({"name": "glob", "arguments": {"pattern": "**/*.*"}});
    for (root, file) in [(other.path(), "other.rs\n"), (&*client.home.root(), "cart.py\nmail.py\n")]
    {
        // A notification and the call after it are taken up side by side.
        let mut id = client.request("tools/call", glob.clone()).await;
        let mut asked = client.receive().await;
        for _ in 0..100 {
            if asked["id"] != id || asked.get("method").is_some() {
                break;
            }
            id = client.request("tools/call", glob.clone()).await;
            asked = client.receive().await;
        }
        assert_eq!(asked["method"], "roots/list", "{asked}");
        let roots = json!({"roots": [{"uri": uri(root)}]});
        client.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": roots})).await;
        let answer = client.receive().await;
        assert_eq!(answer["id"], id, "{answer}");
        assert_eq!(text(&answer["result"]), file);
        // Known from now on.
        assert_eq!(text(&client.call("glob", json!({"pattern": "**/*.*"})).await), file);
        client.notify("notifications/roots/list_changed", json!({})).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_goes_to_the_token_and_grows() {
    let mut client = Client::initialized("2025-06-18", json!({})).await;
    let id = client
        .request(
            "tools/call",
            json!({"name": "find_files", "arguments": {"text": "total_price is wrong"},
                   "_meta": {"progressToken": "p1"}}),
        )
        .await;
    let mut steps = Vec::new();
    loop {
        let message = client.receive().await;
        if message["id"] == id {
            break;
        }
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(message["params"]["progressToken"], "p1", "{message}");
        steps.push(message["params"]["progress"].as_f64().unwrap());
    }
    assert!(!steps.is_empty() && steps.is_sorted(), "{steps:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_stops_the_work() {
    let home = Home::with_silent_model();
    let mut client = Client::initialized_at(home, "2025-06-18", json!({})).await;
    let arguments = json!({"text": "total_price is wrong"});
    let call = json!({"name": "find_files", "arguments": arguments});
    let id = client.request("tools/call", call).await;
    client.home.until_running(1).await;
    client.notify("notifications/cancelled", json!({"requestId": id})).await;
    client.home.until_running(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_input_ends_the_service() {
    let mut client = Client::initialized("2025-06-18", json!({})).await;
    client.output.take().unwrap().shutdown().await.unwrap();
    drop(client.lines);
    let served = tokio::time::timeout(Duration::from_secs(20), client.served).await;
    served.expect("ends").unwrap().unwrap();
}

#[test]
fn an_absolute_path_finds_its_root_and_none_but_the_roots_are_read() {
    let roots = Roots::of(&["/a", "/a/inner", "/b"]);
    let place = |path| roots.place(None, path);
    assert_eq!(place("/a/x/y.rs").unwrap(), (vec!["/a".into()], "x/y.rs".into()));
    assert_eq!(place("/a/inner/y.rs").unwrap(), (vec!["/a/inner".into()], "y.rs".into()));
    assert_eq!(place("y.rs").unwrap().0.len(), 3);
    assert_eq!(roots.only(Some("/b"), "y.rs").unwrap(), ("/b".into(), "y.rs".into()));
    for refused in [place("/etc/passwd"), place("/ab/c"), roots.place(Some("/c"), "y.rs")] {
        let failure = refused.unwrap_err();
        assert_eq!(failure.kind, ErrorKind::User);
        assert!(failure.hint.contains("/a, /a/inner, /b"), "{failure:?}");
    }
    assert!(roots.only(None, "y.rs").unwrap_err().hint.contains("root"));
}

fn uri(folder: &Path) -> String {
    url::Url::from_file_path(folder).unwrap().into()
}
