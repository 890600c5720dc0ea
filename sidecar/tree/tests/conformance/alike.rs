use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use codegrep_tree::fixture::Fixture;
use codegrep_tree::{ForestTree, Scope, Tree, Watch};
use expect_test::expect;

use crate::{listed, path, portrait, sources};

fn scope(under: &str, hidden: bool, ignored: bool) -> Scope {
    let under = (!under.is_empty()).then(|| path(under));
    Scope { under, hidden, ignored }
}

#[test]
fn the_same_repository_lists_reads_and_refuses_alike() {
    let repo = Fixture::new(
        r"
        //- /.gitignore
        *.log
        !keep.log
        target/
        /only_root
        //- /.ignore
        !shown.log
        //- /.github/ci.yml
        on: push
        //- /.github/.deep/x.yml
        //- /a/.gitignore
        /only_here
        //- /a/only_here
        //- /a/only_root
        //- /a/b/only_here
        //- /a/x.log
        //- /a/keep.log
        //- /a/shown.log
        //- /only_root
        //- /target/out.rs
        fn out() {}
        //- /target/debug/deep.rs
        //- /units/a\x2db.slice
        [Slice]
        //- /a\b
        //- /c:d.txt
        //- /..\climb
        //- /-dash
        //- /sp ace/é.rs
        //- /z.rs
        fn z() {}
        ",
    );
    repo.write("invalid.txt", b"caf\xe9\n");
    repo.write("crlf.txt", b"a\r\nb\r\n");
    repo.write("empty.txt", b"");
    repo.write("new\nline.txt", b"forged");
    repo.write("sp ace/\u{2028}.txt", b"forged");
    repo.write(OsStr::from_bytes(b"bad\xff.txt"), b"unnamed");
    repo.link("to_file", "a/keep.log");
    repo.link("to_dir", "sp ace");
    repo.link("a/up", "../z.rs");
    repo.link("chain", "to_dir/é.rs");
    repo.link("loop_a", "loop_b");
    repo.link("loop_b", "loop_a");
    repo.link("self", "self/x");
    repo.link("dangling", "missing.rs");
    repo.link("abs_out", "/etc/hostname");
    repo.link("rel_out", "../../../../../etc/hostname");
    repo.link("dir_out", "../..");
    repo.link("abs_in", repo.path().join("z.rs"));
    repo.link("to_git", ".git/HEAD");
    repo.link("to_root", ".");

    let scopes = [
        scope("", false, false),
        scope("", true, true),
        scope("a", false, false),
        scope("target", false, false),
        scope("target/debug", true, true),
        scope(".github", false, false),
        scope("a/x.log", false, false),
        scope("to_dir", false, false),
        scope("to_file", false, false),
        scope("missing", false, false),
        scope("dir_out", false, false),
        scope(".git", true, true),
        scope("loop_a", false, false),
    ];
    let paths = [
        "",
        "z.rs",
        "a/b",
        "empty.txt",
        "invalid.txt",
        "crlf.txt",
        "target/out.rs",
        r"units/a\x2db.slice",
        r"./a\b",
        "./c:d.txt",
        r"sp ace\é.rs",
        "to_file",
        "to_dir",
        "to_dir/é.rs",
        "to_root/to_root/z.rs",
        "a/up",
        "chain",
        "loop_a",
        "self",
        "dangling",
        "abs_out",
        "rel_out",
        "dir_out",
        "dir_out/x",
        "abs_in",
        "to_git",
        ".git/HEAD",
        "a/.GIT/config",
        "missing",
        "missing/x",
        "z.rs/x",
        "../x",
        "/etc/hostname",
    ]
    .map(str::to_owned);

    let sources = sources(&repo);
    let (_, disk) = &sources[0];
    let expected = portrait(&**disk, &scopes, &paths);
    expect![[r#"
        walk .
          -dash 0
          ./a\b 0
          ./c:d.txt 0
          a/b/only_here 0
          a/keep.log 0
          a/only_root 0
          a/shown.log 0
          crlf.txt 6
          empty.txt 0
          invalid.txt 5
          sp ace/é.rs 0
          units/a\x2db.slice 8
          z.rs 10
          ! skipped, name is not UTF-8: bad�.txt
          ! skipped, name holds a control character: new\nline.txt, sp ace/\u{2028}.txt
          ! skipped, name reads as a path that climbs: ..\\climb
        walk . hidden ignored
          -dash 0
          ./a\b 0
          ./c:d.txt 0
          .github/.deep/x.yml 0
          .github/ci.yml 9
          .gitignore 35
          .ignore 11
          a/.gitignore 11
          a/b/only_here 0
          a/keep.log 0
          a/only_here 0
          a/only_root 0
          a/shown.log 0
          a/x.log 0
          crlf.txt 6
          empty.txt 0
          invalid.txt 5
          only_root 0
          sp ace/é.rs 0
          target/debug/deep.rs 0
          target/out.rs 12
          units/a\x2db.slice 8
          z.rs 10
          ! skipped, name is not UTF-8: bad�.txt
          ! skipped, name holds a control character: new\nline.txt, sp ace/\u{2028}.txt
          ! skipped, name reads as a path that climbs: ..\\climb
        walk a
          a/b/only_here 0
          a/keep.log 0
          a/only_root 0
          a/shown.log 0
        walk target
          target/debug/deep.rs 0
          target/out.rs 12
        walk target/debug hidden ignored
          target/debug/deep.rs 0
        walk .github
          .github/ci.yml 9
        walk a/x.log
          a/x.log 0
        walk to_dir
          sp ace/é.rs 0
          ! skipped, name holds a control character: sp ace/\u{2028}.txt
        walk to_file
          a/keep.log 0
        walk missing
          missing: no such file or folder
        walk dir_out
          dir_out: leaves the repository (a link that is absolute or points outside)
        walk .git hidden ignored
          .git: lies in git's own folder, which is not served
        walk loop_a
          loop_a: a loop of symbolic links
        .
          kind folder
          read .: is a folder, not a file
          id   .: is a folder, not a file
          real .
        z.rs
          kind file of 10
          read "fn z() {" of 10
          id   636170ec
          real z.rs
        a/b
          kind folder
          read a/b: is a folder, not a file
          id   a/b: is a folder, not a file
          real a/b
        empty.txt
          kind file of 0
          read "" of 0
          id   e69de29b
          real empty.txt
        invalid.txt
          kind file of 5
          read "caf�\n" of 5
          id   6f83395d
          real invalid.txt
        crlf.txt
          kind file of 6
          read "a\r\nb\r\n" of 6
          id   c30dea8a
          real crlf.txt
        target/out.rs
          kind file of 12
          read "fn out()" of 12
          id   07657996
          real target/out.rs
        units/a\x2db.slice
          kind file of 8
          read "[Slice]\n" of 8
          id   732f2761
          real units/a\x2db.slice
        ./a\b
          kind file of 0
          read "" of 0
          id   e69de29b
          real ./a\b
        ./c:d.txt
          kind file of 0
          read "" of 0
          id   e69de29b
          real ./c:d.txt
        sp ace/é.rs
          kind file of 0
          read "" of 0
          id   e69de29b
          real sp ace/é.rs
        to_file
          kind file of 0
          read "" of 0
          id   e69de29b
          real a/keep.log
        to_dir
          kind folder
          read to_dir: is a folder, not a file
          id   to_dir: is a folder, not a file
          real sp ace
        to_dir/é.rs
          kind file of 0
          read "" of 0
          id   e69de29b
          real sp ace/é.rs
        to_root/to_root/z.rs
          kind file of 10
          read "fn z() {" of 10
          id   636170ec
          real z.rs
        a/up
          kind file of 10
          read "fn z() {" of 10
          id   636170ec
          real z.rs
        chain
          kind file of 0
          read "" of 0
          id   e69de29b
          real sp ace/é.rs
        loop_a: a loop of symbolic links
        self: a loop of symbolic links
        dangling: no such file or folder
        abs_out: leaves the repository (a link that is absolute or points outside)
        rel_out: leaves the repository (a link that is absolute or points outside)
        dir_out: leaves the repository (a link that is absolute or points outside)
        dir_out/x: leaves the repository (a link that is absolute or points outside)
        abs_in: leaves the repository (a link that is absolute or points outside)
        to_git: lies in git's own folder, which is not served
        .git/HEAD: lies in git's own folder, which is not served
        a/.GIT/config: lies in git's own folder, which is not served
        missing: no such file or folder
        missing/x: no such file or folder
        z.rs/x: no such file or folder
        ../x: leaves the repository
        /etc/hostname: absolute paths are refused; give a path relative to the repository root
    "#]]
    .assert_eq(&expected);
    for (name, tree) in &sources {
        assert_eq!(portrait(&**tree, &scopes, &paths), expected, "{name}");
        let error = tree.list(&path("z.rs"), &Watch::idle()).unwrap_err();
        assert_eq!(error.to_string(), "z.rs: no such file or folder", "{name}");
    }
}

#[test]
fn what_a_walk_printed_can_be_read() {
    let repo = Fixture::new("");
    for name in [r"a\b", r"\x", "c:d", r"d\..x\y", r"dir/a\b", "c:dir/x", r"a\dir/sub\dir/x\y"] {
        repo.write(name, name);
    }
    for (source, tree) in sources(&repo) {
        let names = listed(&*tree, &Scope::default());
        assert_eq!(names.len(), 7, "{source}");
        for name in names {
            let blob = tree.read(&path(&name), 100).unwrap();
            let plain = name.strip_prefix("./").unwrap_or(&name);
            assert_eq!(blob.bytes, plain.as_bytes(), "{source}");
        }
    }
}

#[test]
fn an_empty_repository_is_an_empty_list() {
    let repo = Fixture::new("");
    for (source, tree) in sources(&repo) {
        let everything = scope("", true, true);
        assert_eq!(portrait(&*tree, &[everything], &[]), "walk . hidden ignored\n", "{source}");
    }
}

#[test]
fn a_forest_shows_each_tree_under_its_name() {
    let repo = Fixture::new("//- /src/a.rs\nfn a() {}\n//- /b.tmp\n//- /.gitignore\n*.tmp\n");
    let other = Fixture::new("//- /b.tmp\n");
    let mut portraits = Vec::new();
    for (source, tree) in sources(&repo) {
        let forest = ForestTree::new([
            ("app".to_owned(), tree.clone()),
            ("App".to_owned(), crate::disk(other.path())),
            (".config".to_owned(), crate::disk(other.path())),
            ("a/b".to_owned(), tree),
        ]);
        let shown = listed(&forest, &Scope::default());
        assert_eq!(
            shown,
            [".config/b.tmp", "App-2/b.tmp", "app/src/a.rs", "root/src/a.rs"],
            "{source}"
        );
        assert_eq!(listed(&forest, &scope("app/src", false, false)), ["app/src/a.rs"]);
        assert_eq!(forest.locate(&path("App-2/b.tmp")), Some((1, path("b.tmp"))));
        assert_eq!(forest.locate(&path("nowhere/b.tmp")), None);
        assert_eq!(forest.path(1, &path("b.tmp")).unwrap(), path("App-2/b.tmp"));
        let paths = ["", "app", "app/src/a.rs", "app/missing", "nowhere/x"].map(str::to_owned);
        portraits.push(portrait(&forest, &[], &paths));
    }
    expect![[r#"
        .
          kind folder
          read .: is a folder, not a file
          id   .: is a folder, not a file
          real .
        app
          kind folder
          read app: is a folder, not a file
          id   app: is a folder, not a file
          real app
        app/src/a.rs
          kind file of 10
          read "fn a() {" of 10
          id   ca05282d
          real app/src/a.rs
        app/missing: no such file or folder
        nowhere/x: no such file or folder
    "#]]
    .assert_eq(&portraits[0]);
    assert!(portraits.iter().all(|portrait| *portrait == portraits[0]));
}

#[test]
fn a_link_does_not_lead_from_one_tree_of_a_forest_to_another() {
    let repo = Fixture::new("");
    repo.link("out", "../other/secret");
    let other = Fixture::new("//- /secret\n");
    let forest = ForestTree::new([
        ("repo".to_owned(), crate::disk(repo.path())),
        ("other".to_owned(), crate::disk(other.path())),
    ]);
    let forest: Arc<dyn Tree> = Arc::new(forest);
    let error = forest.read(&path("repo/out"), 10).unwrap_err();
    assert_eq!(
        error.to_string(),
        "repo/out: leaves the repository (a link that is absolute or points outside)"
    );
}
