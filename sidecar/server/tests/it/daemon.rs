//! The daemon that a user's clients share.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::support::{HUNG, Ran, Repo, Server, Silent};

/// A client that may share.
fn client(repo: &Repo, args: &[&str]) -> Server {
    let args: Vec<&str> = ["serve"].iter().chain(args).copied().collect();
    Server::start(sharing(repo.command(&args)), repo.root())
}

fn sharing(mut command: Command) -> Command {
    command.env_remove("CODEGREP_DAEMON").env_remove("CODEGREP_BAR");
    command
}

fn status(repo: &Repo) -> String {
    repo.run(&["daemon", "status"]).stdout
}

/// The process of the daemon that runs.
fn pid(repo: &Repo) -> Option<u32> {
    let text = status(repo);
    let (_, rest) = text.split_once("process ")?;
    rest.split(',').next()?.parse().ok()
}

fn retrieve(server: &Server) -> Value {
    json!({"text": "total_price ignores the discount", "roots": [server.root()], "gate": "off"})
}

fn paths(answer: &Value) -> Vec<String> {
    let files = answer["files"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
    files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < HUNG, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn clients_share_one_daemon_and_each_is_answered() {
    let repo = Repo::shop();
    assert_eq!(repo.run(&["daemon", "status"]).code, Some(1));
    let mut first = client(&repo, &["--stdio"]);
    let params = retrieve(&first);
    let answer = first.result("retrieve", params.clone());
    assert_eq!(paths(&answer)[0], "src/cart.py", "{answer:#}");
    // From another folder: what belongs to it is the same, so it shares.
    let mut command = sharing(repo.command(&["serve", "--stdio"]));
    command.current_dir(repo.home());
    let mut second = Server::start(command, repo.root());
    assert_eq!(paths(&second.result("retrieve", params.clone())), paths(&answer));
    let text = status(&repo);
    assert!(text.contains("clients: 2\nsets of settings held: 1\n"), "{text}");
    // Other settings are served apart.
    let mut third = client(&repo, &["--stdio", "--workers", "2"]);
    assert_eq!(third.result("health", json!({}))["queue"]["workers"], 2);
    assert!(status(&repo).contains("sets of settings held: 2"), "{}", status(&repo));
    assert_eq!(first.result("shutdown", json!({})), json!({}));
    assert!(first.wait().success());
    assert_eq!(paths(&second.result("retrieve", params)), paths(&answer));
    let stopped = repo.run(&["daemon", "stop"]);
    assert_eq!(stopped.stdout, "stopped\n", "{stopped:#?}");
}

#[test]
fn editors_and_agents_are_served_over_it() {
    let repo = Repo::shop();
    let mut agent = client(&repo, &["--mcp"]);
    agent.send(
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}})
        .to_string(),
    );
    let hello = agent.answer_to(1);
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "{hello:#}");
    agent.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
    agent.send(
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "grep", "arguments": {"pattern": "total_price"}}})
        .to_string(),
    );
    // Its working folder came along.
    let found = agent.answer_to(2).to_string();
    assert!(found.contains("src/cart.py"), "{found}");

    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"capabilities": {}}})
    .to_string();
    let mut command = sharing(repo.command(&["serve", "--lsp"]));
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("input");
    fs::write(&input, format!("Content-Length: {}\r\n\r\n{body}", body.len())).unwrap();
    let editor = Ran::of(command.stdin(fs::File::open(&input).unwrap()).output().unwrap());
    assert!(editor.stdout.contains("workspaceSymbolProvider"), "{editor:#?}");
    assert!(pid(&repo).is_some());
    repo.run(&["daemon", "stop"]);
}

#[test]
fn a_killed_daemon_ends_its_clients_and_the_next_one_starts_another() {
    let (repo, silent) = (Repo::shop(), Silent::new());
    let mut first = client(&repo, &["--stdio", "--model", &silent.model()]);
    first.result("health", json!({}));
    let params = retrieve(&first);
    first.request("retrieve", params);
    let daemon = pid(&repo).expect("a daemon");
    let killed = Command::new("kill").args(["-9", &daemon.to_string()]).status().unwrap();
    assert!(killed.success());
    // No answer can come any more: an end with an error, not a wait.
    assert_eq!(first.wait().code(), Some(1));
    let mut second = client(&repo, &["--stdio"]);
    second.result("health", json!({}));
    assert_ne!(pid(&repo).expect("another daemon"), daemon);
    repo.run(&["daemon", "stop"]);
}

#[test]
fn a_newer_program_takes_over_and_no_request_is_dropped() {
    let (repo, silent) = (Repo::shop(), Silent::new());
    let mut old = client(&repo, &["--stdio", "--model", &silent.model()]);
    old.result("health", json!({}));
    let first = pid(&repo).unwrap();
    let mut params = retrieve(&old);
    params["budgetMs"] = json!(4000);
    let open = old.request("retrieve", params);
    let newer = repo.home().join("codegrep-newer");
    fs::copy(env!("CARGO_BIN_EXE_codegrep"), &newer).unwrap();
    let copy = fs::File::options().append(true).open(&newer).unwrap();
    copy.set_modified(SystemTime::now() + Duration::from_secs(60)).unwrap();
    drop(copy);
    let like = sharing(repo.command(&["serve", "--stdio"]));
    let mut command = Command::new(&newer);
    command.args(like.get_args()).current_dir(repo.root());
    for (name, value) in like.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut new = Server::start(command, repo.root());
    new.result("health", json!({}));
    assert_ne!(pid(&repo).unwrap(), first);
    let answer = old.answer_to(open);
    assert_eq!(paths(&answer["result"])[0], "src/cart.py", "{answer:#}");
    repo.run(&["daemon", "stop"]);
}

#[test]
fn where_no_socket_can_be_had_it_serves_alone() {
    let repo = Repo::shop();
    let run = repo.home().join("codegrep/run");
    fs::create_dir_all(&run).unwrap();
    // A folder that others may enter could hold somebody else's socket.
    fs::set_permissions(&run, PermissionsExt::from_mode(0o777)).unwrap();
    let mut server = client(&repo, &["--stdio"]);
    let params = retrieve(&server);
    assert_eq!(paths(&server.result("retrieve", params))[0], "src/cart.py");
    assert!(!run.join("daemon.sock").exists());
}

#[test]
fn a_daemon_whose_home_is_deleted_ends() {
    let repo = Repo::shop();
    let mut server = client(&repo, &["--stdio"]);
    server.result("health", json!({}));
    let daemon = pid(&repo).unwrap();
    let gone = || !Path::new(&format!("/proc/{daemon}")).exists();
    if !Path::new("/proc/self").exists() {
        return assert_eq!(repo.run(&["daemon", "stop"]).code, Some(0));
    }
    drop(server);
    assert!(!gone());
    drop(repo);
    until("the daemon does not end", gone);
}
