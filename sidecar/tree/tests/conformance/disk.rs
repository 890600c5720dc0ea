use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;

use codegrep_tree::fixture::Fixture;
use codegrep_tree::{DiskTree, READ_LIMIT, Scope, Stop, TreeError, Watch};
use expect_test::expect;
use rustix::fs::{CWD, Mode};

use crate::{disk, listed, path, portrait, soon};

pub fn pipe(at: &Path) {
    rustix::fs::mkfifoat(CWD, at, Mode::from_raw_mode(0o644)).unwrap();
}

/// Runs `act` as a user who may not read everything, as root may.
fn unprivileged<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|threads| {
        let run = || {
            #[cfg(target_os = "linux")]
            if rustix::process::geteuid().is_root() {
                let nobody = rustix::thread::Uid::from_raw(65_534);
                // Of this thread only, and of those that it starts.
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            act()
        };
        threads.spawn(run).join().unwrap()
    })
}

fn forbid(at: &Path) {
    fs::set_permissions(at, Permissions::from_mode(0o000)).unwrap();
}

#[test]
fn pipes_and_sockets_are_skipped_and_never_waited_for() {
    let repo = Fixture::new("//- /a.rs\n//- /dir/b.rs\n");
    pipe(&repo.path().join("pipe"));
    pipe(&repo.path().join("dir/.gitignore"));
    let _socket = UnixListener::bind(repo.path().join("socket")).unwrap();
    repo.link("to_pipe", "pipe");
    let root = repo.path().to_owned();
    let said = soon(move || {
        let scope = Scope { hidden: true, ..Scope::default() };
        let paths = ["pipe", "socket", "to_pipe", "pipe/x"].map(str::to_owned);
        portrait(&*disk(&root), &[scope], &paths)
    });
    expect![[r#"
        walk . hidden
          a.rs 0
          dir/b.rs 0
        pipe
          kind pipe: not a regular file (a pipe, socket or device)
          read pipe: not a regular file (a pipe, socket or device)
          id   pipe: not a regular file (a pipe, socket or device)
          real pipe
        socket
          kind socket: not a regular file (a pipe, socket or device)
          read socket: not a regular file (a pipe, socket or device)
          id   socket: not a regular file (a pipe, socket or device)
          real socket
        to_pipe
          kind to_pipe: not a regular file (a pipe, socket or device)
          read to_pipe: not a regular file (a pipe, socket or device)
          id   to_pipe: not a regular file (a pipe, socket or device)
          real pipe
        pipe/x: no such file or folder
    "#]]
    .assert_eq(&said);
}

#[test]
fn a_pipe_for_a_gitignore_above_the_root_is_not_waited_for() {
    let repo = Fixture::new("//- /.git/HEAD\n//- /sub/.keep\n//- /sub/a.rs\n");
    pipe(&repo.path().join(".gitignore"));
    let root = repo.path().join("sub");
    assert_eq!(soon(move || listed(&*disk(&root), &Scope::default())), ["a.rs"]);
}

#[test]
fn what_may_not_be_read_is_said_and_the_rest_is_listed() {
    let repo = Fixture::new(
        "
        //- /a.rs
        //- /closed.rs
        secret
        //- /dir/b.rs
        //- /rules/.gitignore
        *.rs
        //- /rules/c.rs
        //- /shut/d.rs
        ",
    );
    for name in ["closed.rs", "rules/.gitignore", "shut"] {
        forbid(&repo.path().join(name));
    }
    fs::set_permissions(repo.path(), Permissions::from_mode(0o755)).unwrap();
    let said = unprivileged(|| {
        let paths = ["closed.rs", "shut", "shut/d.rs", "shut/missing"].map(str::to_owned);
        portrait(&*disk(repo.path()), &[Scope::default()], &paths)
    });
    expect![[r#"
        walk .
          a.rs 0
          closed.rs 7
          dir/b.rs 0
          rules/c.rs 0
          ! not searched, folder may not be read (permission denied): shut
          ! ignore rules not applied, file could not be read: rules/.gitignore
        closed.rs
          kind file of 7
          read closed.rs: permission denied
          id   closed.rs: permission denied
          real closed.rs
        shut
          kind folder
          read shut: permission denied
          id   shut: permission denied
          real shut
        shut/d.rs: permission denied
        shut/missing: permission denied
    "#]]
    .assert_eq(&said);
}

#[test]
fn a_root_that_cannot_serve_says_why_and_what_to_do() {
    let repo = Fixture::new("//- /file\n//- /shut/a.rs\n//- /listed_only/a.rs\n");
    fs::set_permissions(repo.path(), Permissions::from_mode(0o755)).unwrap();
    forbid(&repo.path().join("shut"));
    repo.link("dangling", "nowhere");
    let mut said = String::new();
    for name in ["missing", "file", "shut", "dangling", "file/x"] {
        let opened = unprivileged(|| DiskTree::open(&repo.path().join(name)));
        let Err(TreeError::Root { message, hint }) = opened else { panic!("{name}: {opened:?}") };
        let message = message.replace(repo.path().to_str().unwrap(), "…");
        said.push_str(&format!("{message}\n  hint: {hint}\n"));
    }
    expect![[r#"
        …/missing: no such folder
          hint: check the path for a typing error
        …/file: not a folder
          hint: give the folder that holds the code
        …/shut: permission denied
          hint: run as a user who may read it, or give that user read permission
        …/dangling: no such folder
          hint: check the path for a typing error
        …/file/x: not a folder
          hint: give the folder that holds the code
    "#]]
    .assert_eq(&said);
}

#[test]
fn a_root_may_be_reached_through_a_link_and_have_any_name() {
    let base = Fixture::new("");
    let odd = OsStr::from_bytes(b"caf\xe9\n");
    base.write(Path::new(odd).join("a.rs"), "");
    base.link("link", odd);
    for root in [base.path().join(odd), base.path().join("link")] {
        assert_eq!(listed(&*disk(&root), &Scope::default()), ["a.rs"]);
    }
}

#[test]
fn a_large_file_is_cut_and_not_hashed() {
    let repo = Fixture::new("");
    let file = File::create(repo.path().join("large.bin")).unwrap();
    file.set_len(2 << 30).unwrap();
    let tree = disk(repo.path());
    let name = path("large.bin");
    let blob = tree.read(&name, READ_LIMIT).unwrap();
    assert_eq!((blob.bytes.len() as u64, blob.size), (READ_LIMIT, 2 << 30));
    assert_eq!(tree.read(&name, 10).unwrap().bytes, [0; 10]);
    let error = tree.blob_id(&name).unwrap_err();
    assert!(matches!(error, TreeError::TooLarge { size, .. } if size == 2 << 30), "{error}");
}

#[test]
fn more_ignore_rules_than_a_repository_has_are_applied_in_part_and_said() {
    let repo = Fixture::new("");
    for dir in ["", "a/", "a/b/"] {
        repo.write(format!("{dir}first.rs"), "");
        repo.write(format!("{dir}last.rs"), "");
        let filler = "# filler\n".repeat(20_000);
        repo.write(format!("{dir}.gitignore"), format!("/first.rs\n{filler}/last.rs\n"));
    }
    let scope = Scope::default();
    expect![[r#"
        walk .
          a/b/first.rs 0
          a/b/last.rs 0
          a/last.rs 0
          ! ignore rules applied in part, more than 256 KiB of them: a/.gitignore, a/b/.gitignore
    "#]]
    .assert_eq(&portrait(&*disk(repo.path()), &[scope], &[]));
}

#[test]
fn a_folder_of_a_repository_keeps_the_rules_from_above() {
    let repo = Fixture::new(
        "
        //- /.git/HEAD
        //- /.gitignore
        *.log
        /packages/app/out
        //- /packages/.gitignore
        /app/gen
        //- /packages/app/a.rs
        //- /packages/app/a.log
        //- /packages/app/gen/x.rs
        //- /packages/app/out/x.rs
        //- /packages/app/src/out/x.rs
        ",
    );
    let app = repo.path().join("packages/app");
    assert_eq!(listed(&*disk(&app), &Scope::default()), ["a.rs", "src/out/x.rs"]);
    // Where no repository begins above, nobody meant the rules for this folder.
    fs::remove_dir_all(repo.path().join(".git")).unwrap();
    assert_eq!(listed(&*disk(&app), &Scope::default()).len(), 5);
}

#[test]
fn a_root_that_the_repository_above_ignores_is_searched_all_the_same() {
    let home = Fixture::new(
        "
        //- /.git/HEAD
        //- /.gitignore
        *
        //- /projects/app/a.rs
        ",
    );
    let app = home.path().join("projects/app");
    assert_eq!(listed(&*disk(&app), &Scope::default()), ["a.rs"]);
}

#[test]
fn a_stamp_changes_with_the_file() {
    let repo = Fixture::new("//- /a.rs\none\n");
    let stamp = || {
        let listing = disk(repo.path()).walk(&Scope::default(), &Watch::idle()).unwrap();
        listing.entries[0].stamp
    };
    let before = stamp();
    assert_eq!(stamp(), before);
    // As editors save: a new file takes the place of the old one.
    let modified = fs::metadata(repo.path().join("a.rs")).unwrap().modified().unwrap();
    let new = repo.write(".a.rs.new", "two\n");
    File::open(&new).unwrap().set_modified(modified).unwrap();
    fs::rename(new, repo.path().join("a.rs")).unwrap();
    assert_ne!(stamp(), before);
}

#[test]
fn a_cancelled_walk_stops() {
    let repo = Fixture::new("//- /a/b/c.rs\n");
    let watch = Watch::idle();
    watch.cancel();
    let stopped = disk(repo.path()).walk(&Scope::default(), &watch);
    assert!(matches!(stopped, Err(TreeError::Stopped(Stop::Cancelled))));
}

#[test]
fn a_folder_is_known_however_it_is_named() {
    let fixture = Fixture::new("//- /a/x\n//- /b/y\n");
    let (a, moved) = (fixture.path().join("a"), fixture.path().join("moved"));
    let tree = DiskTree::open(&a).unwrap();
    fixture.link("link", &a);
    assert!(tree.is_at(&a) && tree.is_at(&fixture.path().join("link")));
    assert!(!tree.is_at(fixture.path()) && !tree.is_at(Path::new("/nowhere")));
    // Another folder takes its place; what was opened stays what it was.
    fs::rename(&a, &moved).unwrap();
    fs::rename(fixture.path().join("b"), &a).unwrap();
    assert!(tree.is_at(&moved) && !tree.is_at(&a));
}

#[test]
fn a_walk_reaches_what_nothing_hides() {
    let fixture = Fixture::new(
        "//- /.gitignore\nout\n//- /a/b/x\n//- /a/out/x\n//- /a/.b/c/x\n//- /.git/x\n",
    );
    let tree = disk(fixture.path());
    for (folder, want) in [
        ("", true),
        ("a/b", true),
        ("a/out", false),
        ("a/.b/c", false),
        ("a/none", false),
        ("a/b/x", false),
    ] {
        let reached = codegrep_tree::reaches(&*tree, &path(folder), &Watch::idle()).unwrap();
        assert_eq!(reached, want, "{folder}");
    }
}
