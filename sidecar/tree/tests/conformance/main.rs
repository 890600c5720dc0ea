//! What holds for every source of a repository's files: the same files on disk, in git objects,
//! under unsaved buffers and beside other trees list, read and refuse alike.

#![cfg(unix)]

mod alike;
mod attack;
mod disk;
mod git;
mod history;
mod overlay;
mod packs;
mod path;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use codegrep_tree::fixture::Fixture;
use codegrep_tree::{
    DiskTree, GitTree, Kind, OverlayTree, READ_LIMIT, RepoPath, Scope, Tree, TreeError, Watch,
};

/// Fails instead of waiting for ever where `act` hangs.
fn soon<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || sender.send(act()));
    match receiver.recv_timeout(std::time::Duration::from_secs(60)) {
        Ok(done) => done,
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("hangs"),
        Err(_) => std::panic::resume_unwind(thread.join().unwrap_err()),
    }
}

/// So many random cases. What fails becomes a test of its own rather than a file of seeds.
fn cases(cases: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config { cases, failure_persistence: None, ..Default::default() }
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn disk(root: &Path) -> Arc<dyn Tree> {
    Arc::new(DiskTree::open(root).unwrap())
}

/// The paths that a walk lists, as text.
fn listed(tree: &dyn Tree, scope: &Scope) -> Vec<String> {
    let listing = tree.walk(scope, &Watch::idle()).unwrap();
    assert!(listing.entries.is_sorted_by(|a, b| a.path < b.path));
    listing.entries.iter().map(|entry| entry.path.as_str().to_owned()).collect()
}

/// The repository, committed as it lies, in every source.
fn sources(repo: &Fixture) -> Vec<(&'static str, Arc<dyn Tree>)> {
    let commit = repo.commit("all");
    let on_disk = disk(repo.path());
    let in_git: Arc<dyn Tree> = Arc::new(GitTree::open(repo.path(), &commit).unwrap());

    // Another repository with a third of the files gone and a third changed, which the buffers
    // make good again.
    let other = Fixture::new("");
    copy(repo.path(), other.path());
    let everything = Scope { hidden: true, ignored: true, under: None };
    let mut buffers = Vec::new();
    for (n, name) in listed(&*on_disk, &everything).iter().enumerate() {
        let name = path(name);
        let text = on_disk.read(&name, READ_LIMIT).unwrap().bytes;
        match n % 3 {
            0 => other.remove(name.as_str()),
            1 => drop(other.write(name.as_str(), "changed")),
            _ => continue,
        }
        buffers.push((name, text));
    }
    let commit = other.commit("changed");
    let changed = Arc::new(GitTree::open(other.path(), &commit).unwrap());
    let over_git = OverlayTree::new(changed, buffers.clone()).unwrap();
    // Kept until the end of the process: a tree reads from it.
    let other = Box::leak(Box::new(other));
    let over_disk = OverlayTree::new(disk(other.path()), buffers).unwrap();

    vec![
        ("disk", on_disk),
        ("git", in_git),
        ("buffers over disk", Arc::new(over_disk)),
        ("buffers over git", Arc::new(over_git)),
    ]
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let file_type = entry.file_type().unwrap();
        if entry.file_name() == ".git" {
            continue;
        } else if file_type.is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else if file_type.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path()).unwrap(), target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Everything a tree says: its walks in `scopes` and what it does with each of `paths`.
fn portrait(tree: &dyn Tree, scopes: &[Scope], paths: &[String]) -> String {
    let mut text = String::new();
    for scope in scopes {
        let Scope { under, hidden, ignored } = scope;
        let under = under.clone().unwrap_or_else(RepoPath::root);
        let flags = format!(
            "{}{}",
            if *hidden { " hidden" } else { "" },
            if *ignored { " ignored" } else { "" }
        );
        writeln!(text, "walk {under}{flags}").unwrap();
        match tree.walk(scope, &Watch::idle()) {
            Ok(listing) => {
                for entry in listing.entries {
                    writeln!(text, "  {} {}", entry.path, entry.size).unwrap();
                }
                for warning in listing.warnings {
                    writeln!(text, "  ! {warning}").unwrap();
                }
            }
            Err(error) => writeln!(text, "  {error}").unwrap(),
        }
    }
    for name in paths {
        let path = match RepoPath::parse(name) {
            Ok(path) => path,
            Err(error) => {
                writeln!(text, "{error}").unwrap();
                continue;
            }
        };
        let said = |said: Result<String, TreeError>| said.unwrap_or_else(|e| e.to_string());
        let kind = said(tree.kind(&path).map(|kind| match kind {
            Kind::Dir => "folder".to_owned(),
            Kind::File { size } => format!("file of {size}"),
        }));
        let read =
            said(tree.read(&path, 8).map(|blob| {
                format!("{:?} of {}", String::from_utf8_lossy(&blob.bytes), blob.size)
            }));
        let id = said(tree.blob_id(&path).map(|id| id.as_str()[..8].to_owned()));
        let real = said(tree.resolve(&path).map(|real| real.to_string()));
        if [&read, &id, &real].iter().all(|it| **it == kind) {
            writeln!(text, "{kind}").unwrap();
        } else {
            writeln!(text, "{path}\n  kind {kind}\n  read {read}\n  id   {id}\n  real {real}")
                .unwrap();
        }
    }
    text
}
