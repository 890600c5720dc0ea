use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf,
};

use crate::front::testing::{Home, Peer};

/// An editor on the other end of a stream in memory.
struct Editor {
    home: Home,
    input: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
    next: u64,
    /// Messages that came while another was awaited.
    seen: Vec<Value>,
}

impl Peer for Editor {
    fn next_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    async fn send(&mut self, message: Value) {
        let body = message.to_string();
        let text = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.output.write_all(text.as_bytes()).await.unwrap();
    }
}

impl Editor {
    async fn open(home: Home, capabilities: Value, folders: Value) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        tokio::spawn(super::serve(home.service(), reader, writer));
        let (input, output) = tokio::io::split(ours);
        let mut editor =
            Self { home, input: BufReader::new(input), output, next: 0, seen: Vec::new() };
        let params = json!({
            "processId": null, "rootUri": null, "capabilities": capabilities,
            "workspaceFolders": folders,
        });
        let hello = editor.ask("initialize", params).await;
        assert_eq!(hello["result"]["serverInfo"]["name"], "codegrep", "{hello}");
        editor.seen.push(hello);
        editor.notify("initialized", json!({})).await;
        editor
    }

    async fn shop() -> Self {
        Self::open(Home::shop(), json!({}), json!(null)).await
    }

    async fn receive(&mut self) -> Value {
        tokio::time::timeout(Duration::from_secs(60), async {
            let mut length = 0;
            loop {
                let mut line = String::new();
                self.input.read_line(&mut line).await.unwrap();
                match line.trim().split_once(": ") {
                    Some(("Content-Length", value)) => length = value.parse().unwrap(),
                    Some(_) => {}
                    None => break,
                }
            }
            let mut body = vec![0; length];
            self.input.read_exact(&mut body).await.unwrap();
            serde_json::from_slice(&body).unwrap()
        })
        .await
        .expect("a message in time")
    }

    /// Waits for the answer to a request; what comes before it is kept.
    async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.seen.push(message);
        }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        self.answer(id).await
    }

    async fn command(&mut self, command: &str, arguments: Value) -> Value {
        let params = json!({"command": command, "arguments": arguments});
        self.ask("workspace/executeCommand", params).await
    }

    fn file(&self, name: &str) -> String {
        uri(&self.home.root().join(name))
    }

    async fn open_file(&mut self, name: &str, text: &str) {
        let document =
            json!({"uri": self.file(name), "languageId": "python", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({ "textDocument": document })).await;
    }

    async fn change_file(&mut self, name: &str, version: i32, text: &str) {
        let document = json!({"uri": self.file(name), "version": version});
        let changes = json!([{ "text": text }]);
        let params = json!({"textDocument": document, "contentChanges": changes});
        self.notify("textDocument/didChange", params).await;
    }
}

fn uri(path: &Path) -> String {
    url::Url::from_file_path(path).unwrap().into()
}

fn paths(answer: &Value) -> Vec<&str> {
    let files = answer["result"]["files"].as_array().unwrap_or_else(|| panic!("{answer}"));
    files.iter().map(|file| file["path"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_offered_and_the_encoding_that_the_client_prefers() {
    let general = json!({"general": {"positionEncodings": ["utf-8", "utf-16"]}});
    let editor = Editor::open(Home::shop(), general, json!(null)).await;
    let capabilities = &editor.seen[0]["result"]["capabilities"];
    assert_eq!(capabilities["positionEncoding"], "utf-8");
    assert_eq!(capabilities["textDocumentSync"]["change"], 1);
    assert_eq!(
        capabilities["executeCommandProvider"]["commands"],
        json!(["codegrep.find", "codegrep.status", "codegrep.refresh"])
    );
    let folders = json!({"supported": true, "changeNotifications": true});
    assert_eq!(capabilities["workspace"]["workspaceFolders"], folders);
    let editor = Editor::shop().await;
    assert_eq!(editor.seen[0]["result"]["capabilities"]["positionEncoding"], "utf-16");
}

#[tokio::test(flavor = "multi_thread")]
async fn find_gives_the_result_of_retrieve() {
    let mut editor = Editor::shop().await;
    let options = json!({"gate": "off", "maxFiles": 1});
    let answer = editor.command("codegrep.find", json!(["total_price is wrong", options])).await;
    assert_eq!(paths(&answer), ["cart.py"], "{answer}");
    let result: codegrep_plugin_sdk::RetrieveResponse =
        serde_json::from_value(answer["result"].clone()).unwrap();
    assert_eq!(result.stop, codegrep_plugin_sdk::Stop::NoModel);
    assert!(result.injection.unwrap().contains("- cart.py"));
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_have_the_codes_and_hints_of_the_wire() {
    let mut editor = Editor::shop().await;
    for (command, arguments, code) in [
        ("codegrep.find", json!([]), -32602),
        ("codegrep.find", json!(["  "]), -32602),
        ("codegrep.find", json!(["x", {"maxFiles": "many"}]), -32602),
        ("codegrep.find", json!(["x", {"roots": ["/"]}]), -32001),
        ("codegrep.no", json!([]), -32602),
    ] {
        let answer = editor.command(command, arguments).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_ne!(answer["error"]["data"]["hint"], "", "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unsaved_text_is_seen_and_the_highest_version_wins() {
    let mut editor = Editor::shop().await;
    editor.open_file("mail.py", "def send(): pass\n").await;
    editor.change_file("mail.py", 3, "def newest_postage(): pass\n").await;
    editor.change_file("mail.py", 2, "def stale(): pass\n").await;
    let find = json!(["newest_postage", {"gate": "off"}]);
    assert_eq!(paths(&editor.command("codegrep.find", find).await)[0], "mail.py");
    let symbols = editor.ask("workspace/symbol", json!({"query": "POSTAGE"})).await;
    assert_eq!(symbols["result"][0]["name"], "newest_postage", "{symbols}");
    let stale = editor.ask("workspace/symbol", json!({"query": "stale"})).await;
    assert_eq!(stale["result"], json!([]));
    let document = json!({"textDocument": {"uri": editor.file("mail.py")}});
    editor.notify("textDocument/didClose", document).await;
    let closed = editor.ask("workspace/symbol", json!({"query": "postage"})).await;
    assert_eq!(closed["result"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn symbols_stand_where_they_are_defined() {
    let mut editor = Editor::shop().await;
    let answer = editor.ask("workspace/symbol", json!({"query": "price"})).await;
    let range = json!({"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 15}});
    assert_eq!(
        answer["result"],
        json!([{
            "name": "total_price", "kind": 12, "containerName": "cart.py",
            "location": {"uri": editor.file("cart.py"), "range": range},
        }])
    );
    let none = editor.ask("workspace/symbol", json!({"query": "sum("})).await;
    assert_eq!(none["result"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_may_be_several_and_change() {
    let home = Home::shop();
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("parcel.py"), "def weigh_parcel(): pass\n").unwrap();
    let folder = |path: &Path| json!({"uri": uri(path), "name": "a"});
    let (shop, parcels) = (folder(&home.root()), folder(other.path()));
    let mut editor = Editor::open(home, json!({}), json!([shop])).await;
    let find = json!(["weigh_parcel", {"gate": "off"}]);
    let before = editor.command("codegrep.find", find.clone()).await;
    assert!(!paths(&before).contains(&"parcel.py"), "{before}");
    let event = json!({"event": {"added": [parcels], "removed": []}});
    editor.notify("workspace/didChangeWorkspaceFolders", event).await;
    let both = editor.command("codegrep.find", find).await;
    assert_eq!(paths(&both)[0], "parcel.py", "{both}");
    let status = editor.command("codegrep.refresh", json!([])).await;
    assert_eq!(status["result"]["roots"].as_array().unwrap().len(), 2, "{status}");
    let event = json!({"event": {"added": [], "removed": [shop]}});
    editor.notify("workspace/didChangeWorkspaceFolders", event).await;
    let status = editor.command("codegrep.status", json!([])).await;
    let root = other.path().to_str().unwrap();
    assert_eq!(status["result"]["roots"][0]["root"], root, "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn diagnostics_and_selections_offer_a_search() {
    let mut editor = Editor::shop().await;
    editor.open_file("cart.py", "def total_price(items):\n").await;
    let at = |from: u32, to: u32| json!({"start": {"line": 0, "character": from}, "end": {"line": 0, "character": to}});
    let document = json!({"uri": editor.file("cart.py")});
    let diagnostic = json!({"range": at(0, 3), "message": "items is no list"});
    let context = json!({"diagnostics": [diagnostic]});
    let params = json!({"textDocument": document, "range": at(4, 15), "context": context});
    let answer = editor.ask("textDocument/codeAction", params).await;
    let titles =
        ["CodeGrep: find files for this diagnostic", "CodeGrep: find files for this selection"];
    assert_eq!([&answer["result"][0]["title"], &answer["result"][1]["title"]], titles);
    let text = &answer["result"][0]["command"]["arguments"][0]["text"];
    let text = text.as_str().unwrap();
    assert!(text.starts_with("items is no list\n") && text.ends_with("cart.py:1"), "{text}");
    let run = &answer["result"][1]["command"];
    assert_eq!(run["arguments"][0]["text"], "total_price");
    let found = editor.command(run["command"].as_str().unwrap(), run["arguments"].clone()).await;
    assert_eq!(paths(&found)[0], "cart.py", "{found}");
    let context = json!({"diagnostics": [], "only": ["source.organizeImports"]});
    let params = json!({"textDocument": document, "range": at(4, 15), "context": context});
    assert_eq!(editor.ask("textDocument/codeAction", params).await["result"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_told_from_begin_to_end() {
    let mut editor = Editor::shop().await;
    let params = json!({
        "command": "codegrep.find", "arguments": ["total_price is wrong"], "workDoneToken": "w1",
    });
    editor.ask("workspace/executeCommand", params).await;
    let progress = editor.seen.iter().filter(|message| message["method"] == "$/progress");
    let kinds: Vec<&str> = progress
        .map(|message| {
            assert_eq!(message["params"]["token"], "w1", "{message}");
            message["params"]["value"]["kind"].as_str().unwrap()
        })
        .collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"begin"), Some(&"end")), "{kinds:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_best_file_is_shown_where_the_editor_can_and_is_asked_to() {
    let window = json!({"window": {"showDocument": {"support": true}}});
    let mut editor = Editor::open(Home::shop(), window, json!(null)).await;
    let arguments = json!([{"text": "total_price is wrong", "gate": "off", "show": true}]);
    let params = json!({"command": "codegrep.find", "arguments": arguments});
    let id = editor.request("workspace/executeCommand", params).await;
    let show = editor.receive().await;
    assert_eq!(show["method"], "window/showDocument", "{show}");
    assert_eq!(show["params"]["uri"], editor.file("cart.py"));
    editor.send(json!({"jsonrpc": "2.0", "id": show["id"], "result": {"success": true}})).await;
    assert_eq!(paths(&editor.answer(id).await)[0], "cart.py");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_pulled_and_pushed() {
    let able = json!({"workspace": {"configuration": true}});
    let mut editor = Editor::open(Home::shop(), able, json!(null)).await;
    let pull = editor.receive().await;
    assert_eq!(pull["method"], "workspace/configuration", "{pull}");
    assert_eq!(pull["params"]["items"][0]["section"], "codegrep");
    let settings = json!([{"maxFiles": 1, "gate": "off"}]);
    editor.send(json!({"jsonrpc": "2.0", "id": pull["id"], "result": settings})).await;
    let find = json!(["send the total_price"]);
    let mut found = 0;
    for _ in 0..100 {
        found = paths(&editor.command("codegrep.find", find.clone()).await).len();
        if found == 1 {
            break;
        }
    }
    assert_eq!(found, 1);
    let settings = json!({"settings": {"codegrep": {"maxFiles": 0}}});
    editor.notify("workspace/didChangeConfiguration", settings).await;
    let refused = editor.command("codegrep.find", find).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("maxFiles"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_request_stops_the_work_however_many_wait() {
    let mut editor = Editor::open(Home::with_silent_model(), json!({}), json!(null)).await;
    let params = json!({"command": "codegrep.find", "arguments": ["total_price is wrong"]});
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(editor.request("workspace/executeCommand", params.clone()).await);
    }
    for id in &ids {
        editor.notify("$/cancelRequest", json!({ "id": id })).await;
    }
    for id in ids {
        assert_eq!(editor.answer(id).await["error"]["code"], -32800);
    }
    editor.home.until_running(0).await;
}
