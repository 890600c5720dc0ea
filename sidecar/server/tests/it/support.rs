//! Repositories in temporary folders, and a `codegrep serve --stdio` spoken to line by line.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// After which a test counts as hung.
pub const HUNG: Duration = Duration::from_secs(60);

/// A small repository about shopping, with a home beside it that nothing else uses.
pub struct Repo {
    dir: TempDir,
}

impl Repo {
    /// Files as text, each begun by a line `//- path`.
    pub fn new(files: &str) -> Self {
        let repo = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(repo.root()).unwrap();
        fs::create_dir(repo.home()).unwrap();
        for file in files.split("//- ").skip(1) {
            let (path, text) = file.split_once('\n').unwrap();
            repo.write(path.trim(), text.as_bytes());
        }
        repo
    }

    pub fn shop() -> Self {
        Self::new(SHOP)
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("shop")
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// `codegrep ARGS…`, in the repository, with a home of its own.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_codegrep"));
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("CODEGREP_") || name.starts_with("CLICOLOR") || name == "NO_COLOR" {
                command.env_remove(name);
            }
        }
        command
            .args(args)
            .current_dir(self.root())
            .env("HOME", self.dir.path().join("home"))
            .env("CODEGREP_HOME", self.dir.path().join("home/codegrep"))
            .env("CODEGREP_DAEMON", "false")
            .env("RUST_BACKTRACE", "0")
            // What the ranker is how sure of is tested where it is made.
            .env("CODEGREP_BAR", "0")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    pub fn serve(&self, args: &[&str]) -> Server {
        let args: Vec<&str> = ["serve", "--stdio"].iter().chain(args).copied().collect();
        Server::start(self.command(&args), self.root())
    }
}

const SHOP: &str = r#"//- .git/HEAD
ref: refs/heads/main
//- src/cart.py
class Cart:
    def __init__(self):
        self.items = []

    def total_price(self, discount):
        return sum(item.price for item in self.items) - discount
//- src/checkout.py
from cart import Cart

def checkout(cart: Cart):
    return send_invoice(cart.total_price(0))
//- src/invoice.py
def send_invoice(amount):
    print("invoice over", amount)
//- docs/guide.md
# Guide
How to buy things.
"#;

/// What a command left behind.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:#?}");
        serde_json::from_str(&self.stdout).unwrap()
    }
}

/// A server and the pipes to it.
pub struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<thread::JoinHandle<String>>,
    root: PathBuf,
    next: u64,
}

impl Server {
    pub fn start(mut command: Command, root: PathBuf) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, stderr: Some(stderr), root, next: 1 }
    }

    #[cfg(all(feature = "llama", target_os = "linux"))]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn root(&self) -> String {
        self.root.to_str().unwrap().to_owned()
    }

    /// Sends a line as it is.
    pub fn send(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_ref()).unwrap();
        stdin.write_all(b"\n").unwrap();
    }

    /// Sends a request under the next id, which is returned.
    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(message.to_string());
        id
    }

    pub fn cancel(&mut self, id: u64) {
        let method = "$/cancelRequest";
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": {"id": id}}).to_string());
    }

    /// The next line.
    pub fn receive(&mut self) -> Value {
        match self.lines.recv_timeout(HUNG) {
            Ok(line) => {
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
            }
            Err(error) => panic!("{error}; its stderr: {}", self.end_of_stderr()),
        }
    }

    /// Sends a request and returns the message that answers it; others are dropped.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer_to(id)
    }

    pub fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == json!(id) {
                return message;
            }
        }
    }

    /// The result of a request that succeeds.
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let message = self.ask(method, params);
        assert!(message.get("error").is_none(), "{message:#}");
        message["result"].clone()
    }

    /// The error of a request that fails.
    pub fn error(&mut self, method: &str, params: Value) -> Value {
        let message = self.ask(method, params);
        assert!(message.get("result").is_none(), "{message:#}");
        message["error"].clone()
    }

    /// Lines that are still unread, once the output has ended.
    pub fn rest(&mut self) -> Vec<Value> {
        let lines: Vec<String> = self.lines.iter().collect();
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn close_input(&mut self) {
        self.stdin.take();
    }

    /// Waits for the process to end by itself.
    pub fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < HUNG, "the server does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn end_of_stderr(&mut self) -> String {
        let _ = self.child.kill();
        self.stderr.take().map(|stderr| stderr.join().unwrap()).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stdin.take();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Replaces what differs from run to run, and from ranker to ranker: the folder, times,
/// probabilities.
pub fn stable(value: &Value, root: &Path) -> String {
    let text = format!("{:#}", without_figures(value));
    text.replace(root.to_str().unwrap(), "ROOT")
}

fn without_figures(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| match key.as_str() {
                "ms" | "uptimeMs" | "probability" => (key.clone(), json!("…")),
                _ => (key.clone(), without_figures(value)),
            })
            .collect(),
        Value::Array(items) => items.iter().map(without_figures).collect(),
        other => other.clone(),
    }
}

/// A model server that takes connections and never says a word. Requests that use it last until
/// their budget ends or they are cancelled.
pub struct Silent {
    listener: std::net::TcpListener,
}

impl Silent {
    pub fn new() -> Self {
        // Connections wait in the listener's backlog: accepted by the system, read by nobody.
        Self { listener: std::net::TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    /// For `--model`.
    pub fn model(&self) -> String {
        format!("http://{}/v1#silent", self.listener.local_addr().unwrap())
    }
}
