use codegrep_agent::tools::{Observation, Pool, ToolLimits, run};
use codegrep_tree::Watch;
use codegrep_tree::fixture::Fixture;
use serde_json::json;

use super::{call, disk, run_one};

/// Pads what `ask` makes until its answer has exactly 4096 characters, and then by one.
fn at_the_edge(ask: impl Fn(usize) -> Observation) {
    let small = ask(0);
    assert!(!small.cut, "{}", small.text);
    let pad = 4096 - small.text.chars().count();
    let full = ask(pad);
    assert_eq!((full.text.chars().count(), full.cut, full.hits), (4096, false, small.hits));
    let over = ask(pad + 1);
    assert!(over.text.chars().count() <= 4096, "{}", over.text);
    assert_eq!((over.cut, over.hits), (true, small.hits - 1));
    let (last, shown) = (over.text.lines().next_back().unwrap(), over.text.lines().count());
    assert!(last.starts_with('(') && shown <= small.text.lines().count(), "{last}");
}

/// What the `i`th from the end takes of the padding, at most 100 each.
fn share(pad: usize, i: usize) -> usize {
    pad.saturating_sub(100 * i).min(100)
}

#[test]
fn a_result_of_4096_characters_is_whole_and_of_4097_is_cut() {
    at_the_edge(|pad| {
        let fixture = Fixture::new("");
        for i in 0..40 {
            fixture.write(format!("dossiér/{i:02}"), "ñ".repeat(1 + share(pad, 39 - i)));
        }
        run_one(&disk(&fixture), "grep", json!({"pattern": "ñ"}))
    });
    at_the_edge(|pad| {
        let fixture = Fixture::new("");
        for i in 0..40 {
            fixture.write(format!("dossiér/{i:02}{}", "é".repeat(share(pad, 39 - i))), "");
        }
        run_one(&disk(&fixture), "glob", json!({"pattern": "*"}))
    });
    at_the_edge(|pad| {
        let fixture = Fixture::new("");
        let lines: Vec<String> = (0..40).map(|i| "ö".repeat(1 + share(pad, 39 - i))).collect();
        fixture.write("dossiér", lines.join("\n"));
        run_one(&disk(&fixture), "read", json!({"path": "dossiér"}))
    });
}

#[test]
fn fifty_matches_are_whole_and_the_fifty_first_is_told() {
    let fixture = Fixture::new("");
    for (file, lines) in [("a", 20), ("b", 0), ("c", 29), ("d", 1)] {
        fixture.write(file, "x\ny\n".repeat(lines));
    }
    let tree = disk(&fixture);
    let got = run_one(&tree, "grep", json!({"pattern": "x"}));
    assert_eq!((got.hits, got.cut, got.lines.len()), (50, false, 50));
    assert!(got.text.ends_with("d:1: x"), "{}", got.text);

    fixture.write("e", "x");
    let got = run_one(&tree, "grep", json!({"pattern": "x"}));
    assert_eq!((got.hits, got.cut, got.lines.len()), (50, true, 50));
    let end = "d:1: x\n(50 matches shown, there are more; \
               narrow the pattern, or give path or glob)";
    assert!(got.text.ends_with(end), "{}", got.text);
}

#[test]
fn the_first_matches_are_shown_whichever_thread_is_first() {
    let fixture = Fixture::new("");
    for i in 0..400 {
        fixture.write(format!("{:02}/{i}", i % 37), "needle\n".repeat(i % 5));
    }
    let tree = disk(&fixture);
    let calls = ["needle", "n.*e", "nothing"].map(|p| call("grep", json!({"pattern": p})));
    let texts = |threads| -> Vec<String> {
        let limits = ToolLimits::default();
        let got = run(&calls, &tree, &limits, &Pool::new(threads), &Watch::idle());
        got.into_iter().map(|got| got.text).collect()
    };
    let want = texts(1);
    assert!(want[0].starts_with("00/111:1: needle\n00/148:1: needle"), "{}", want[0]);
    for _ in 0..20 {
        assert_eq!(texts(8), want);
    }
}

#[test]
fn two_hundred_lines_are_read_and_the_next_is_told() {
    let fixture = Fixture::new("");
    fixture.write("f", (1..=201).map(|i| format!("{i}\r\n")).collect::<String>());
    let tree = disk(&fixture);
    for (arguments, first, last, end) in [
        (json!({"path": "f"}), 1, 200, "200: 200\n(cut; read on with start_line 201)"),
        (json!({"path": "f", "start_line": 2}), 2, 201, "201: 201"),
        (json!({"path": "f", "start_line": 201, "end_line": 900}), 201, 201, "201: 201"),
        (json!({"path": "f", "end_line": 3}), 1, 3, "3: 3"),
    ] {
        let got = run_one(&tree, "read", arguments);
        let head = format!("f, lines {first}-{last} of 201:\n{first}: {first}");
        assert!(got.text.starts_with(&head) && got.text.ends_with(end), "{}", got.text);
        assert_eq!((got.hits, got.cut), (last - first + 1, last == 200));
    }
}

#[test]
fn other_limits_hold_as_well() {
    let fixture = Fixture::new("");
    fixture.write("f", "x\n".repeat(100));
    let tree = disk(&fixture);
    let calls = [
        call("grep", json!({"pattern": "x"})),
        call("read", json!({"path": "f"})),
        call("glob", json!({"pattern": "*"})),
    ];
    for result_chars in [0, 1, 10, 50, 100] {
        for most in [0, 1, 7] {
            let limits = ToolLimits {
                result_chars,
                grep_matches: most,
                read_lines: most,
                ..ToolLimits::default()
            };
            for got in run(&calls, &tree, &limits, &Pool::default(), &Watch::idle()) {
                assert!(got.text.chars().count() <= result_chars, "{result_chars} {}", got.text);
                assert!(got.hits <= most.max(1), "{most} {}", got.text);
            }
        }
    }
}
