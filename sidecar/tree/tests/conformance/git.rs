use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use codegrep_tree::fixture::Fixture;
use codegrep_tree::{GitTree, Kind, READ_LIMIT, Scope, Tree, TreeError, Watch};
use expect_test::expect;
use git2::{ObjectType, Odb, Oid};

use crate::disk::pipe;
use crate::{listed, path, portrait, soon};

/// Git itself, without this machine's settings.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.org",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", "/nonexistent")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn repository() -> (Fixture, String) {
    let repo = Fixture::new("//- /src/a.rs\nfn a() {}\n//- /b.log\n//- /.gitignore\n*.log\n");
    let commit = repo.commit("one");
    (repo, commit)
}

fn refused(repo: &Path, rev: &str) -> String {
    match GitTree::open(repo, rev) {
        Err(TreeError::Root { message, hint }) => {
            let message = message.replace(repo.to_str().unwrap(), "…");
            format!("{message}\n  hint: {hint}\n")
        }
        Err(error) => panic!("{rev}: {error}"),
        Ok(tree) => panic!("{rev}: opened {}", tree.name()),
    }
}

/// A loose object, written as hostile as one likes.
fn write(repo: &Path, kind: ObjectType, bytes: &[u8]) -> Oid {
    let repo = git2::Repository::open(repo).unwrap();
    let odb: Odb<'_> = repo.odb().unwrap();
    odb.write(kind, bytes).unwrap()
}

fn tree_of(entries: &[(&str, &[u8], Oid)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend([mode.as_bytes(), b" ", *name, b"\0", id.as_bytes()].concat());
    }
    bytes
}

fn commit_of(repo: &Path, tree: Oid) -> String {
    let who = "A <a@example.org> 1700000000 +0000";
    let text = format!("tree {tree}\nauthor {who}\ncommitter {who}\n\nby hand\n");
    write(repo, ObjectType::Commit, text.as_bytes()).to_string()
}

fn loose(repo: &Path, id: &str) -> std::path::PathBuf {
    repo.join(".git/objects").join(&id[..2]).join(&id[2..])
}

#[test]
fn a_commit_is_found_by_every_name_it_has() {
    let (repo, first) = repository();
    git(repo.path(), &["tag", "light"]);
    git(repo.path(), &["tag", "-a", "-m", "x", "v1.0"]);
    git(repo.path(), &["tag", "-a", "-m", "x", "of-tag", "v1.0"]);
    git(repo.path(), &["branch", "feature/x"]);
    git(repo.path(), &["update-ref", "refs/remotes/origin/main", &first]);
    git(repo.path(), &["symbolic-ref", "refs/heads/alias", "refs/heads/feature/x"]);
    repo.write("second.rs", "");
    let second = repo.commit("two");
    let check = |repo: &Path| {
        for name in [
            "light",
            "v1.0",
            "of-tag",
            "feature/x",
            "origin/main",
            "alias",
            "refs/heads/feature/x",
            &first,
            &first[..7],
            &first[..39],
        ] {
            assert_eq!(GitTree::open(repo, name).unwrap().commit_id(), first, "{name}");
        }
        for name in ["HEAD", "main", &second] {
            assert_eq!(GitTree::open(repo, name).unwrap().commit_id(), second, "{name}");
        }
    };
    check(repo.path());
    let bare = Fixture::new("");
    git(bare.path(), &["clone", "-q", "--mirror", repo.path().to_str().unwrap(), "."]);
    check(bare.path());
    git(repo.path(), &["pack-refs", "--all"]);
    git(repo.path(), &["gc", "-q"]);
    check(repo.path());
    git(repo.path(), &["checkout", "-q", "--detach", &first]);
    assert_eq!(GitTree::open(repo.path(), "HEAD").unwrap().commit_id(), first);
}

#[test]
fn linked_worktrees_and_shared_clones_reach_their_objects() {
    let (repo, commit) = repository();
    let other = Fixture::new("");
    let worktree = other.path().join("worktree");
    git(repo.path(), &["worktree", "add", "-q", "--detach", worktree.to_str().unwrap()]);
    let shared = other.path().join("shared");
    let source = repo.path().to_str().unwrap();
    git(repo.path(), &["clone", "-q", "--shared", source, shared.to_str().unwrap()]);
    for root in [worktree, shared] {
        let tree = GitTree::open(&root, "HEAD").unwrap();
        assert_eq!(tree.commit_id(), commit);
        assert_eq!(listed(&tree, &Scope::default()), ["src/a.rs"]);
        assert_eq!(tree.read(&path("src/a.rs"), 100).unwrap().bytes, b"fn a() {}\n");
    }
}

#[test]
fn a_commit_that_is_lost_is_told_from_one_that_never_was() {
    let (repo, commit) = repository();
    let objects = repo.path().join(".git/objects");
    let packs =
        || std::fs::read_dir(objects.join("pack")).unwrap().map(|entry| entry.unwrap().path());
    let fail = |cause: &str| {
        let said = refused(repo.path(), "HEAD");
        assert!(!said.contains("no commit yet"), "{cause}: {said}");
        said.replace(&commit, "COMMIT")
    };
    git(repo.path(), &["gc", "-q"]);
    let pack = packs().find(|path| path.extension().is_some_and(|end| end == "pack")).unwrap();
    let aside = repo.path().join("aside");
    std::fs::rename(&pack, &aside).unwrap();
    let gone = fail("the pack is gone");
    std::fs::write(&pack, b"PACK").unwrap();
    fail("the pack is cut off");
    std::fs::remove_dir_all(objects.join("pack")).unwrap();
    expect![[r#"
        …: HEAD is the commit COMMIT, which is not there
          hint: a pack is missing or damaged: `git fsck` says more, `git fetch` may bring it back
        …: HEAD is the commit COMMIT, which is not there
          hint: a pack is missing or damaged: `git fsck` says more, `git fetch` may bring it back
    "#]]
    .assert_eq(&(gone + &fail("all packs are gone")));
    assert_eq!(refused(repo.path(), &commit).lines().count(), 2);
}

#[test]
fn what_is_no_commit_says_why_and_what_to_do() {
    let (repo, commit) = repository();
    let blob = GitTree::open(repo.path(), "HEAD").unwrap().blob_id(&path("src/a.rs")).unwrap();
    let empty = Fixture::new("");
    git(empty.path(), &["init", "-q"]);
    let mut said = String::new();
    for rev in ["nowhere", "--help", "main~1", "", "../HEAD", "0123456789", blob.as_str()] {
        said += &refused(repo.path(), rev);
    }
    said += &refused(repo.path(), &"0".repeat(40));
    said += &refused(repo.path(), &"a".repeat(64));
    said += &refused(repo.path(), &"a".repeat(41));
    said += &refused(repo.path(), &commit[..6]);
    said += &refused(empty.path(), "HEAD");
    said += &refused(&repo.path().join("src"), "HEAD");
    said += &refused(&repo.path().join("missing"), "HEAD");
    expect![[r#"
        …: no commit `nowhere`
          hint: `git log --all` lists the commits; a shallow clone may not have it
        "--help": no name of a commit
          hint: give 7 to 40 hex digits, HEAD, or the name of a branch or tag
        "main~1": no name of a commit
          hint: give 7 to 40 hex digits, HEAD, or the name of a branch or tag
        "": no name of a commit
          hint: give 7 to 40 hex digits, HEAD, or the name of a branch or tag
        "../HEAD": no name of a commit
          hint: give 7 to 40 hex digits, HEAD, or the name of a branch or tag
        …: no commit `0123456789`
          hint: `git log --all` lists the commits; a shallow clone may not have it
        …: ca05282d78fc4edbdc73e5ec2ce1fe1e16725e42 names no commit
          hint: give a commit's full id; `git fsck` says whether something is damaged
        …: no commit `0000000000000000000000000000000000000000`
          hint: `git log --all` lists the commits; a shallow clone may not have it
        aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: a SHA-256 commit
          hint: repositories in git's SHA-256 format cannot be read; check the commit out and give the folder instead
        …: no commit `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`
          hint: `git log --all` lists the commits; a shallow clone may not have it
        …: no commit `<6 digits>`
          hint: `git log --all` lists the commits; a shallow clone may not have it
        …: no commit yet
          hint: commit something, or search the folder
        …: not a git repository
          hint: give the top folder of a git worktree, or a bare repository
        …: not a git repository
          hint: give the top folder of a git worktree, or a bare repository
    "#]].assert_eq(&said.replace(&commit[..6], "<6 digits>"));
}

#[test]
fn a_hostile_configuration_has_no_effect() {
    let (repo, _) = repository();
    repo.write(".gitattributes", "* filter=evil diff=evil text eol=crlf\n*.rs export-ignore\n");
    repo.commit("two");
    let marker = repo.path().join("executed");
    let run = format!("touch {}", marker.display());
    let picture = |root: &Path| {
        let scopes = [Scope { hidden: true, ignored: true, under: None }];
        let paths = ["src/a.rs", ".gitattributes"].map(str::to_owned);
        portrait(&GitTree::open(root, "HEAD").unwrap(), &scopes, &paths)
    };
    let before = picture(repo.path());
    let include = repo.path().join(".git/include");
    pipe(&include);
    let elsewhere = Fixture::new("//- /src/a.rs\nelsewhere\n");
    let configs = [
        format!(
            "[core]\n\tfsmonitor = {run}\n\thooksPath = {0}\n\tsshCommand = {run}\n\tpager = {run}\n\
             \teditor = {run}\n\tattributesFile = {1}\n\texcludesFile = {1}\n\tworktree = {0}\n\
             [filter \"evil\"]\n\tsmudge = {run}\n\tclean = {run}\n\tprocess = {run}\n\trequired = true\n\
             [diff \"evil\"]\n\ttextconv = {run}\n\tcommand = {run}\n",
            elsewhere.path().display(),
            include.display(),
        ),
        format!("[include]\n\tpath = {}\n[includeIf \"gitdir:/\"]\n\tpath = /dev/zero\n", include.display()),
        "[core]\n\trepositoryFormatVersion = 99\n[extensions]\n\tunheard = of\n\tpartialClone = evil\n".to_owned(),
        "[[[ no configuration \0".to_owned(),
    ];
    fs::write(elsewhere.path().join("post-checkout"), format!("#!/bin/sh\n{run}\n")).unwrap();
    for config in configs {
        fs::write(repo.path().join(".git/config"), &config).unwrap();
        let root = repo.path().to_owned();
        assert_eq!(soon(move || picture(&root)), before, "{config}");
    }
    fs::remove_file(repo.path().join(".git/config")).unwrap();
    pipe(&repo.path().join(".git/config"));
    let root = repo.path().to_owned();
    assert_eq!(soon(move || picture(&root)), before);
    assert!(!marker.exists());
}

#[test]
fn pipes_among_gits_files_are_refused_and_never_waited_for() {
    let mut said = String::new();
    for place in [
        "HEAD",
        "packed-refs",
        "commondir",
        "objects/info/alternates",
        "objects/pack/pack-x.idx",
        "<commit>",
        "<blob>",
    ] {
        let (repo, commit) = repository();
        let tree = GitTree::open(repo.path(), &commit).unwrap();
        let blob = tree.blob_id(&path("src/a.rs")).unwrap();
        let target = match place {
            "<commit>" => loose(repo.path(), &commit),
            "<blob>" => loose(repo.path(), blob.as_str()),
            place => repo.path().join(".git").join(place),
        };
        let _ = fs::remove_file(&target);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        pipe(&target);
        let root = repo.path().to_owned();
        let tried = soon(move || {
            let read = |rev| {
                let tree = GitTree::open(&root, rev)?;
                tree.walk(&Scope::default(), &Watch::idle())?;
                tree.read(&path("src/a.rs"), 100).map(|_| "read".to_owned())
            };
            let shown = |error: TreeError| {
                let text = error.to_string().replace(root.to_str().unwrap(), "…");
                text.replace(&commit, "<commit>").replace(blob.as_str(), "<blob>")
            };
            ["HEAD", "nowhere"].map(|rev| read(rev).unwrap_or_else(shown))
        });
        said += &format!("{place}\n  {}\n", tried.join("\n  "));
    }
    expect![[r#"
        HEAD
          …/.git/HEAD: not a regular file
          …: no commit `nowhere`
        packed-refs
          read
          …/.git/packed-refs: not a regular file
        commondir
          …/.git/commondir: not a regular file
          …/.git/commondir: not a regular file
        objects/info/alternates
          …: objects/info/alternates: not a regular file
          …: objects/info/alternates: not a regular file
        objects/pack/pack-x.idx
          …: objects/pack holds what is not a regular file
          …: objects/pack holds what is not a regular file
        <commit>
          …: git object <commit> is damaged: not a regular file
          …: no commit `nowhere`
        <blob>
          src/a.rs: git object <blob> is damaged: not a regular file
          …: no commit `nowhere`
    "#]]
    .assert_eq(&said);
}

#[test]
fn what_a_tree_object_made_by_hand_names_stays_inside() {
    let repo = Fixture::new("//- /a\n");
    repo.commit("one");
    let file = write(repo.path(), ObjectType::Blob, b"text");
    let dir = write(repo.path(), ObjectType::Tree, &tree_of(&[("100644", b"x", file)]));
    let root = tree_of(&[
        ("40000", b"..", dir),
        ("40000", b".", dir),
        ("40000", b".git", dir),
        ("40000", b".GiT", dir),
        ("100644", b"a/b", file),
        ("100644", b"/etc/x", file),
        ("100644", b"twice", file),
        ("40000", b"twice", dir),
        ("100644", b"ok", file),
        ("120000", b"gone", Oid::from_str(&"12".repeat(20)).unwrap()),
    ]);
    let commit = commit_of(repo.path(), write(repo.path(), ObjectType::Tree, &root));
    let tree = GitTree::open(repo.path(), &commit).unwrap();
    let paths = ["ok", "twice", "twice/x", "gone", ".GiT/x"].map(str::to_owned);
    let scope = Scope { hidden: true, ignored: true, under: None };
    expect![[r#"
        walk . hidden ignored
          ok 4
          twice 4
          ! skipped, name reads as a path that climbs: ., .., /etc/x and 1 more
        ok
          kind file of 4
          read "text" of 4
          id   f3a34851
          real ok
        twice
          kind file of 4
          read "text" of 4
          id   f3a34851
          real twice
        twice/x: no such file or folder
        gone: git object 1212121212121212121212121212121212121212 is missing (a shallow or partial clone?)
        .GiT/x: lies in git's own folder, which is not served
    "#]].assert_eq(&portrait(&tree, &[scope], &paths));
}

#[test]
fn a_submodule_is_an_empty_folder() {
    let (repo, commit) = repository();
    let link = format!("160000,{commit},sub");
    git(repo.path(), &["update-index", "--add", "--cacheinfo", &link]);
    git(repo.path(), &["commit", "-q", "-m", "sub"]);
    let tree = GitTree::open(repo.path(), "HEAD").unwrap();
    assert_eq!(listed(&tree, &Scope::default()), ["src/a.rs"]);
    let under = Scope { under: Some(path("sub")), ..Scope::default() };
    assert!(listed(&tree, &under).is_empty());
    assert_eq!(tree.kind(&path("sub")).unwrap(), Kind::Dir);
    assert!(matches!(tree.read(&path("sub"), 1), Err(TreeError::IsDir { .. })));
    assert!(matches!(tree.read(&path("sub/x"), 1), Err(TreeError::NotFound { .. })));
}

#[test]
fn a_missing_object_says_which_and_why() {
    let (repo, commit) = repository();
    let tree = GitTree::open(repo.path(), &commit).unwrap();
    let blob = tree.blob_id(&path("src/a.rs")).unwrap();
    fs::remove_file(loose(repo.path(), blob.as_str())).unwrap();
    assert_eq!(listed(&tree, &Scope::default()), ["src/a.rs"]);
    let error = tree.read(&path("src/a.rs"), 10).unwrap_err().to_string();
    let text = "src/a.rs: git object <blob> is missing (a shallow or partial clone?)";
    assert_eq!(error.replace(blob.as_str(), "<blob>"), text);
}

#[test]
fn damage_is_an_error() {
    let (repo, commit) = repository();
    let tree = GitTree::open(repo.path(), &commit).unwrap();
    let blob = tree.blob_id(&path("src/a.rs")).unwrap();
    let file = loose(repo.path(), blob.as_str());
    for damage in [&b""[..], b"garbage", b"x\x9cK\xca\xc9OR04`\x00"] {
        fs::remove_file(&file).unwrap();
        fs::write(&file, damage).unwrap();
        let tree = GitTree::open(repo.path(), &commit).unwrap();
        assert!(matches!(tree.read(&path("src/a.rs"), 10), Err(TreeError::Io { .. })));
    }
    fs::write(loose(repo.path(), &commit).with_extension("x"), "").unwrap();
    fs::write(repo.path().join(".git/HEAD"), "ref: ../../../etc/passwd\n").unwrap();
    assert!(refused(repo.path(), "HEAD").contains("no commit"));
    fs::write(repo.path().join(".git/HEAD"), "ref: refs/heads/a\n").unwrap();
    fs::write(repo.path().join(".git/refs/heads/a"), "ref: refs/heads/a\n").unwrap();
    assert!(refused(repo.path(), "HEAD").contains("no commit"));
}

#[test]
fn many_threads_read_at_once() {
    let repo = Fixture::new("");
    for n in 0..200 {
        repo.write(format!("d{}/f{n}.rs", n % 7), format!("file {n}\n").repeat(n + 1));
    }
    let commit = repo.commit("one");
    git(repo.path(), &["gc", "-q"]);
    let tree = Arc::new(GitTree::open(repo.path(), &commit).unwrap());
    std::thread::scope(|threads| {
        for start in 0..8 {
            let tree = tree.clone();
            threads.spawn(move || {
                for n in (0..200).map(|n| (n + start * 25) % 200) {
                    let name = path(&format!("d{}/f{n}.rs", n % 7));
                    let blob = tree.read(&name, READ_LIMIT).unwrap();
                    assert_eq!(blob.bytes, format!("file {n}\n").repeat(n + 1).as_bytes());
                }
            });
        }
    });
}

#[test]
fn a_hundred_thousand_files_are_listed() {
    let repo = Fixture::new("//- /a\n");
    repo.commit("one");
    let file = write(repo.path(), ObjectType::Blob, b"text");
    let names: Vec<String> = (0..1000).map(|n| format!("f{n:03}")).collect();
    let files: Vec<_> = names.iter().map(|name| ("100644", name.as_bytes(), file)).collect();
    let dir = write(repo.path(), ObjectType::Tree, &tree_of(&files));
    let dirs: Vec<_> = names[..100].iter().map(|name| ("40000", name.as_bytes(), dir)).collect();
    let root = write(repo.path(), ObjectType::Tree, &tree_of(&dirs));
    let tree = GitTree::open(repo.path(), &commit_of(repo.path(), root)).unwrap();
    let listing = tree.walk(&Scope::default(), &Watch::idle()).unwrap();
    assert_eq!(listing.entries.len(), 100_000);
    assert_eq!(listing.entries[99_999].path.as_str(), "f099/f999");
}

#[test]
fn a_tree_that_unfolds_without_end_is_refused() {
    let repo = Fixture::new("//- /a\n");
    repo.commit("one");
    let file = write(repo.path(), ObjectType::Blob, b"text");
    let names: Vec<String> = (0..1000).map(|n| format!("f{n:03}")).collect();
    let mut level = ("100644", file);
    for _ in 0..4 {
        let entries: Vec<_> = names.iter().map(|it| (level.0, it.as_bytes(), level.1)).collect();
        level = ("40000", write(repo.path(), ObjectType::Tree, &tree_of(&entries)));
    }
    let tree = GitTree::open(repo.path(), &commit_of(repo.path(), level.1)).unwrap();
    let error = tree.walk(&Scope::default(), &Watch::idle()).unwrap_err();
    assert!(error.to_string().contains("more than"), "{error}");
}

#[test]
fn folders_that_are_not_yet_visited_count_too() {
    let repo = Fixture::new("//- /a\n");
    repo.commit("one");
    let names: Vec<String> = (0..100_000).map(|n| format!("d{n:05}")).collect();
    let mut level = write(repo.path(), ObjectType::Tree, &[]);
    for _ in 0..25 {
        let dirs: Vec<_> = names.iter().map(|name| ("40000", name.as_bytes(), level)).collect();
        level = write(repo.path(), ObjectType::Tree, &tree_of(&dirs));
    }
    let tree = GitTree::open(repo.path(), &commit_of(repo.path(), level)).unwrap();
    // Soon, since few of them are ever visited.
    let error = soon(move || tree.walk(&Scope::default(), &Watch::idle())).unwrap_err();
    assert!(error.to_string().contains("more than"), "{error}");
}
