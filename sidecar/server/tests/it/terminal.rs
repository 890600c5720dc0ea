//! What a person at a terminal sees.
#![cfg(unix)]

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::{Repo, Silent};

/// Runs a command whose stdout and stderr are a terminal; returns all that was drawn on it.
fn drawn(mut command: std::process::Command) -> String {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let name = ptsname(&screen, Vec::new()).unwrap();
    let line: OwnedFd = rustix::fs::open(
        &name,
        rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    command.stdout(line.try_clone().unwrap()).stderr(line).env("TERM", "xterm");
    let mut child = command.spawn().unwrap();
    // The command holds the last handles on the terminal: reading ends when it does.
    drop(command);
    let mut text = Vec::new();
    // Linux says EIO where others say end of file.
    let _ = File::from(screen).read_to_end(&mut text);
    assert!(child.wait().unwrap().success());
    String::from_utf8(text).unwrap()
}

#[test]
fn answers_are_coloured() {
    let repo = Repo::shop();
    let text = drawn(repo.command(&["find", "total_price ignores the discount"]));
    assert!(text.contains("\u{1b}[1msrc/cart.py\u{1b}[0m"), "{text:?}");
    let mut plain = repo.command(&["find", "total_price ignores the discount"]);
    plain.env("NO_COLOR", "1");
    assert!(!drawn(plain).contains("\u{1b}[1m"));
}

#[test]
fn slow_work_shows_what_it_is_at_and_wipes_it_off() {
    let (repo, silent) = (Repo::shop(), Silent::new());
    let args = ["find", "--model", &silent.model(), "--budget-ms", "2000", "discount"];
    let text = drawn(repo.command(&args));
    let at = text.find("asking the model").expect("a progress line");
    let answer = text.find("src/cart.py").expect("an answer");
    assert!(at < answer, "{text:?}");
    assert!(text[at..answer].contains("\u{1b}[2K"), "{text:?}");
}
