use std::fs;
use std::os::unix::net::UnixListener;

use codegrep_tree::fixture::Fixture;
use expect_test::expect;
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use super::{disk, project, run_one, transcript};

#[test]
fn what_is_no_file_of_the_repository_is_refused() {
    let outside = Fixture::new("");
    fs::create_dir(outside.path().join("repo")).unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    let root = outside.path().join("repo");
    fs::write(root.join("file"), "secret?\n").unwrap();
    for (link, target) in [("out", "../secret"), ("up", ".."), ("loop", "loop"), ("in", "file")] {
        std::os::unix::fs::symlink(target, root.join(link)).unwrap();
    }
    mknodat(CWD, root.join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(root.join(".git/config"), "secret").unwrap();
    let tree = codegrep_tree::DiskTree::open(&root).unwrap();
    let paths = ["../secret", "/etc/passwd", "C:\\secret", "out", "up/secret", "loop"];
    let calls: Vec<(&str, Value)> = paths
        .iter()
        .chain(&["pipe", "socket", ".git/config", "in", "a\nb", "a\0"])
        .map(|path| ("read", json!({"path": path})))
        .collect();
    let more = [
        ("grep", json!({"pattern": "secret"})),
        ("grep", json!({"pattern": "secret", "path": "up"})),
        ("grep", json!({"pattern": "secret", "path": "pipe"})),
        ("grep", json!({"pattern": "secret", "glob": "../*"})),
        ("grep", json!({"pattern": "secret", "glob": ".git/*"})),
        ("glob", json!({"pattern": "/etc/*"})),
        ("glob", json!({"pattern": "up/*"})),
        ("glob", json!({"pattern": "*"})),
    ];
    let text: String = calls.chunks(6).chain([&more[..]]).map(|c| transcript(&tree, c)).collect();
    expect![[r#"
        > read {"path":"../secret"} [!0]
        error: ../secret: leaves the repository
        > read {"path":"/etc/passwd"} [!0]
        error: /etc/passwd: absolute paths are refused; give a path relative to the repository root
        > read {"path":"C:\\secret"} [!0]
        error: C:\secret: absolute paths are refused; give a path relative to the repository root
        > read {"path":"out"} [!0]
        error: out: leaves the repository (a link that is absolute or points outside)
        > read {"path":"up/secret"} [!0]
        error: up/secret: leaves the repository (a link that is absolute or points outside)
        > read {"path":"loop"} [!0]
        error: loop: a loop of symbolic links
        > read {"path":"pipe"} [!0]
        error: pipe: not a regular file (a pipe, socket or device)
        > read {"path":"socket"} [!0]
        error: socket: not a regular file (a pipe, socket or device)
        > read {"path":".git/config"} [!0]
        error: .git/config: lies in git's own folder, which is not served
        > read {"path":"in"} [1]
        file, lines 1-1 of 1:
        1: secret?
        > read {"path":"a\nb"} [!0]
        error: "a\nb": a path may not hold a NUL, control or line-separator character
        > read {"path":"a\u0000"} [!0]
        error: "a\0": a path may not hold a NUL, control or line-separator character
        > grep {"pattern":"secret"} [1]
        file:1: secret?
        > grep {"pattern":"secret","path":"up"} [!0]
        error: up: leaves the repository (a link that is absolute or points outside)
        > grep {"pattern":"secret","path":"pipe"} [!0]
        error: pipe: not a regular file (a pipe, socket or device)
        > grep {"pattern":"secret","glob":"../*"} [!0]
        error: ../*: a glob is relative and stays in the repository
        > grep {"pattern":"secret","glob":".git/*"} [0]
        no file matches the glob .git/*
        > glob {"pattern":"/etc/*"} [!0]
        error: /etc/*: a glob is relative and stays in the repository
        > glob {"pattern":"up/*"} [0]
        no file matches up/*
        > glob {"pattern":"*"} [1]
        file
    "#]]
    .assert_eq(&text);
}

#[test]
fn odd_contents_are_shown_as_text() {
    let fixture = Fixture::new("");
    fixture.write("latin1", b"caf\xE9 needle\n");
    fixture.write("escape", "\x1b[2Jneedle\x07\u{85} a\tb\n");
    fixture.write("return", "needle\rover\r\nneedle$\r\n");
    let utf16: Vec<u8> =
        "\u{FEFF}ünï needle\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fixture.write("utf16", utf16);
    fixture.write("long", format!("{} needle {}\n", "a".repeat(3 << 20), "b".repeat(3 << 20)));
    fixture.write("late", [&b"needle\n".repeat(2000)[..], b"\0"].concat());
    let calls = [
        ("grep", json!({"pattern": "needle", "glob": "!late"})),
        ("grep", json!({"pattern": "needle$", "glob": "!late"})),
        ("grep", json!({"pattern": "^ünï"})),
        ("read", json!({"path": "escape"})),
        ("read", json!({"path": "utf16"})),
        ("read", json!({"path": "late", "end_line": 1})),
    ];
    let text = transcript(&disk(&fixture), &calls);
    expect![[r#"
        > grep {"pattern":"needle","glob":"!late"} [6]
        escape:1: �[2Jneedle�� a	b
        latin1:1: caf� needle
        long:1: …aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa needle bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…
        return:1: needle�over
        return:2: needle$
        utf16:1: ünï needle
        > grep {"pattern":"needle$","glob":"!late"} [2]
        latin1:1: caf� needle
        utf16:1: ünï needle
        > grep {"pattern":"^ünï"} [1]
        utf16:1: ünï needle
        > read {"path":"escape"} [1]
        escape, lines 1-1 of 1:
        1: �[2Jneedle�� a	b
        > read {"path":"utf16"} [1]
        utf16, lines 1-1 of 1:
        1: ünï needle
        > read {"path":"late","end_line":1} [1]
        late, lines 1-1 of 2,001:
        1: needle
    "#]].assert_eq(&text);
    let long = run_one(&disk(&fixture), "read", json!({"path": "long"})).text;
    assert!(long.starts_with("long, lines 1-1 of 1:\n1: aaa") && long.ends_with("aaa…"));
    assert_eq!(long.chars().count(), 1026);
}

#[test]
fn two_gigabytes_do_not_stall() {
    let fixture = Fixture::new("");
    fixture.write("needle.txt", "needle\n");
    let holes = fs::File::create(fixture.path().join("holes")).unwrap();
    holes.set_len(2 << 30).unwrap();
    fixture.write("big.log", "some line of a log file\n".repeat(1000));
    let log = fs::OpenOptions::new().write(true).open(fixture.path().join("big.log")).unwrap();
    log.set_len(2 << 30).unwrap();
    let calls = [
        ("grep", json!({"pattern": "needle"})),
        ("grep", json!({"pattern": "needle", "path": "holes"})),
        ("grep", json!({"pattern": "needle", "path": "big.log"})),
        ("read", json!({"path": "holes"})),
        ("read", json!({"path": "big.log", "start_line": 900, "end_line": 901})),
        ("read", json!({"path": "big.log", "start_line": 100_000_000})),
    ];
    let text = transcript(&disk(&fixture), &calls);
    expect![[r#"
        > grep {"pattern":"needle"} [1]
        needle.txt:1: needle
        (big.log: only its first 16 MB searched)
        > grep {"pattern":"needle","path":"holes"} [0]
        no match for needle in holes (1 file searched)
        (holes: only its first 16 MB searched)
        > grep {"pattern":"needle","path":"big.log"} [0]
        no match for needle in big.log (1 file searched)
        (big.log: only its first 16 MB searched)
        > read {"path":"holes"} [!0]
        error: holes: a binary file of 2,147,483,648 bytes
        > read {"path":"big.log","start_line":900,"end_line":901} [2]
        big.log, lines 900-901 of 1,001 in its first 16 MB:
        900: some line of a log file
        901: some line of a log file
        > read {"path":"big.log","start_line":100000000} [!0]
        error: big.log ends before line 100,000,000; lines: 1,001 in its first 16 MB
    "#]]
    .assert_eq(&text);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_call_is_answered(
        name in "grep|glob|read",
        pattern in prop_oneof![any::<String>(), r"[()\[\]{}|*+?.\\^$a-f!/,0-9-]{0,30}"],
        path in prop_oneof![Just(None), any::<String>().prop_map(Some), "[./a-e*{}]{0,12}".prop_map(Some)],
        glob in prop_oneof![Just(None), r"[!*?{}\[\],./a-e\\-]{0,20}".prop_map(Some)],
        line in any::<i64>(),
    ) {
        thread_local!(static PROJECT: Fixture = project());
        let arguments = match &name[..] {
            "read" => json!({"path": path.unwrap_or(pattern), "start_line": line}),
            "glob" => json!({"pattern": pattern, "path": path}),
            _ => json!({"pattern": pattern, "path": path, "glob": glob}),
        };
        let got = PROJECT.with(|project| run_one(&disk(project), &name, arguments));
        prop_assert!(!got.text.is_empty() && got.text.chars().count() <= 4096);
        prop_assert!(!got.text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{:?}", got.text);
        prop_assert!(!got.error || got.hits == 0);
    }
}
