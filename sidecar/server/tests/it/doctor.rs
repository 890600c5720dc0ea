//! `codegrep doctor` on machines in several states of health.

use std::io::Write;
use std::net::TcpListener;

use serde_json::Value;

use crate::support::{Ran, Repo};

/// State, message and hint of the checks of this name.
fn checks(report: &Value, name: &str) -> Vec<[String; 3]> {
    let all = report["checks"].as_array().unwrap().iter();
    all.filter(|check| check["name"] == name)
        .map(|check| ["state", "message", "hint"].map(|k| check[k].as_str().unwrap().to_owned()))
        .collect()
}

fn doctor(repo: &Repo, config: &str) -> Value {
    let folder = repo.home().join("codegrep");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), config).unwrap();
    let ran = repo.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(ran.code, Some(i32::from(report["ok"] == false)), "{ran:#?}");
    report
}

#[test]
fn a_sound_machine_is_told_so_and_left_as_it_was() {
    let repo = Repo::shop();
    let ran = repo.run(&["doctor"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
    assert!(ran.stdout.ends_with("\nWord search works here.\n"), "{ran:#?}");
    assert!(ran.stdout.contains("✓ project"), "{ran:#?}");
    assert!(ran.stdout.contains("shop: 4 files, listed in "), "{ran:#?}");
    assert_eq!(std::fs::read_dir(repo.home()).unwrap().count(), 0);
}

#[test]
fn broken_settings_are_a_failure() {
    let repo = Repo::shop();
    let report = doctor(&repo, "max_files = 3\nmodle = 'x'\n");
    assert_eq!(report["ok"], false);
    let [state, message, hint] = &checks(&report, "settings")[0];
    assert_eq!(state, "failure");
    assert!(message.contains("config.toml:2: unknown field `modle`"), "{message}");
    assert_eq!(hint, "correct the line, or delete it to return to the default");
}

#[test]
fn a_folder_that_is_no_project_is_a_warning() {
    let repo = Repo::shop();
    let mut command = repo.command(&["doctor", "--json"]);
    let ran = Ran::of(command.current_dir(std::env::temp_dir()).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let [state, _, hint] = &checks(&ran.json(), "project")[0];
    assert_eq!(
        (state.as_str(), hint.as_str()),
        ("warning", "`--repo DIR` names the folder to search")
    );
}

#[test]
fn endpoints_are_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let body = r#"{"data":[{"id":"small","max_model_len":8192},{"id":"big"}]}"#;
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let mut stream = stream.unwrap();
            let mut request = [0; 2048];
            let _ = std::io::Read::read(&mut stream, &mut request);
            let _ = stream.write_all((head + body).as_bytes());
        }
    });
    let config = ["a-big", "b-small", "c-none", "d-down"]
        .map(|name| {
            let port = if name == "d-down" { 1 } else { port };
            let model = &name[2..];
            format!(
                "[endpoints.{name}]\nbase_url = 'http://127.0.0.1:{port}/v1'\nmodel = '{model}'\n"
            )
        })
        .concat();
    let report = doctor(&Repo::shop(), &config);
    assert_eq!(report["ok"], true);
    let seen = checks(&report, "endpoint");
    let shown: Vec<[String; 3]> =
        seen.into_iter().map(|check| check.map(|s| s.replace(&port.to_string(), "PORT"))).collect();
    let want = [
        ["ok", "a-big: http://127.0.0.1:PORT/v1 answers", ""],
        [
            "warning",
            "b-small: its context has 8192 tokens, and the settings say 32768",
            "set `context_tokens = 8192`",
        ],
        [
            "warning",
            "c-none: http://127.0.0.1:PORT/v1 does not list the model \"none\"",
            "set `model` to one of: small, big",
        ],
        [
            "warning",
            "d-down: http://127.0.0.1:1 refused the connection",
            "start the model server, or correct base_url",
        ],
    ];
    assert_eq!(shown, want.map(|check| check.map(str::to_owned)));
}

#[cfg(unix)]
#[test]
fn folders_that_cannot_be_made_are_told() {
    let repo = Repo::shop();
    let mut command = repo.command(&["doctor", "--json"]);
    let ran = Ran::of(command.env("CODEGREP_HOME", "/proc/codegrep").output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let folders = checks(&ran.json(), "folder");
    assert!(folders.iter().all(|[state, ..]| state == "warning"), "{folders:#?}");
    assert!(folders[0][1].starts_with("models cannot be kept in /proc/codegrep/models: "));
}
