//! Pipes and devices where the program expects files, and a pipe that it reads.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::{Ran, Repo};

const TEXT: &str = "total_price ignores the discount";

#[test]
fn the_wait_for_stdin_is_not_the_searchs() {
    let repo = Repo::shop();
    let mut command = repo.command(&["find", "--json", "--budget-ms", "2000", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    thread::sleep(Duration::from_millis(2500));
    child.stdin.take().unwrap().write_all(TEXT.as_bytes()).unwrap();
    let answer = Ran::of(child.wait_with_output().unwrap()).json();
    assert_eq!(
        (&answer["stop"], &answer["files"][0]["path"]),
        (&"no_model".into(), &"src/cart.py".into())
    );
}

#[test]
fn pipes_and_devices_among_the_users_files_hold_up_nothing() {
    let repo = Repo::shop();
    let home = repo.home().join("codegrep");
    fs::create_dir_all(home.join("models")).unwrap();
    let pipe = |path: PathBuf| {
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    };
    let log = pipe(home.join("log"));
    let ran = repo.run(&["find", "--log-file", log.to_str().unwrap(), TEXT]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:#?}");
    assert!(ran.stderr.starts_with("error: the log cannot be written: "), "{ran:#?}");
    assert_eq!(repo.run(&["find", "--log-file", "/dev/null", TEXT]).code, Some(0));

    pipe(home.join("models/x.json"));
    let ran = repo.run(&["model", "list"]);
    assert!(ran.stdout.starts_with("✗ x  not a regular file"), "{ran:#?}");

    let config = home.join("config.toml");
    let refused = |why: &str| {
        let ran = repo.run(&["find", TEXT]);
        let want = format!("error: {} cannot be read: {why}\n", config.display());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:#?}");
        assert!(ran.stderr.starts_with(&want), "{ran:#?}");
        fs::remove_file(&config).unwrap();
    };
    pipe(config.clone());
    refused("not a regular file");
    std::os::unix::fs::symlink("/dev/zero", &config).unwrap();
    refused("not a regular file");
    fs::write(&config, " ".repeat((1 << 20) + 1)).unwrap();
    refused("larger than 1024 KiB");
}
