use std::time::{Duration, Instant};

use codegrep_agent::tools::{Call, Observation, Pool, ToolLimits, run};
use codegrep_tree::fixture::Fixture;
use codegrep_tree::{Blob, DiskTree, Folder, Kind, RepoPath, Tree, TreeError, Watch};
use serde_json::json;

use super::{call, disk};

/// A pattern and a text that take hours together: every byte keeps some 450 states alive.
const HARD: &str = "[ab]*a[ab]{450}c";

fn hard_files() -> Fixture {
    let fixture = Fixture::new("");
    let mut state = 1u32;
    let mut line = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'b' }
    };
    fixture.write("0", "needle c\n");
    for i in 1..40 {
        fixture
            .write(i.to_string(), (0..2_000_000).map(&mut line).collect::<String>() + "\nneedle\n");
    }
    fixture
}

fn hard_call() -> Call {
    call("grep", json!({"pattern": format!("{HARD}|needle c")}))
}

#[test]
fn a_grep_that_takes_too_long_shows_what_it_found_and_holds_up_no_other() {
    let fixture = hard_files();
    let limits = ToolLimits { grep_time: Duration::from_secs(3), ..ToolLimits::default() };
    let calls = [
        hard_call(),
        call("grep", json!({"pattern": "needle$"})),
        call("grep", json!({"pattern": "b+\\b", "glob": "0"})),
    ];
    let got = run(&calls, &disk(&fixture), &limits, &Pool::new(2), &Watch::idle());
    let slow = &got[0].text;
    assert!(slow.starts_with("0:1: needle c\n(stopped after 3s, "), "{slow}");
    assert!(slow.ends_with(" of 40 files searched; narrow path or glob)"), "{slow}");
    assert!(got[0].cut && got[0].stopped, "there may be more");
    // The slow one left no time to try what may have been meant by the third.
    assert!(!got[1].stopped && got[2].stopped);
    assert_eq!((got[1].hits, got[1].cut, got[1].text.lines().count()), (39, false, 39));
    assert_eq!(got[2].text, "no match for b+\\b (1 file searched)");
}

#[test]
fn a_cancel_ends_all_calls_at_once() {
    let fixture = hard_files();
    let tree = disk(&fixture);
    let calls: Vec<Call> = (0..8).map(|_| hard_call()).collect();
    let watch = Watch::idle();
    let pool = Pool::new(2);
    let (got, took): (Vec<Observation>, Duration) = std::thread::scope(|scope| {
        // A second request waits for the threads of the first.
        let one = scope.spawn(|| run(&calls, &tree, &ToolLimits::default(), &pool, &watch));
        let two = scope.spawn(|| run(&calls, &tree, &ToolLimits::default(), &pool, &watch));
        std::thread::sleep(Duration::from_millis(300));
        watch.cancel();
        let cancelled = Instant::now();
        let got = [one.join().unwrap(), two.join().unwrap()].concat();
        (got, cancelled.elapsed())
    });
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(got.len(), 16);
    for got in got {
        assert!(got.stopped && got.cut);
        assert!(got.text.contains("cancelled"), "{}", got.text);
    }
}

/// A folder on a disk that has to spin up first.
struct Slow(DiskTree);

impl Tree for Slow {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn list(&self, dir: &RepoPath, watch: &Watch) -> Result<Folder, TreeError> {
        self.0.list(dir, watch)
    }
    fn link(&self, path: &RepoPath) -> Result<Option<String>, TreeError> {
        self.0.link(path)
    }
    fn kind(&self, path: &RepoPath) -> Result<Kind, TreeError> {
        self.0.kind(path)
    }
    fn read(&self, path: &RepoPath, limit: u64) -> Result<Blob, TreeError> {
        std::thread::sleep(Duration::from_millis(50));
        self.0.read(path, limit)
    }
}

#[test]
fn a_read_that_takes_too_long_is_stopped() {
    let fixture = Fixture::new("");
    fixture.write("a", "text\n");
    let limits = ToolLimits { read_time: Duration::from_millis(20), ..ToolLimits::default() };
    let calls = [call("read", json!({"path": "a"}))];
    let got = run(&calls, &Slow(disk(&fixture)), &limits, &Pool::new(2), &Watch::idle()).remove(0);
    assert_eq!(got.text, "error: stopped after 20ms while reading the file");
    assert!(got.stopped && got.error && got.seen.is_empty());
}

#[test]
fn time_that_is_spent_before_the_start_is_told() {
    let fixture = hard_files();
    let calls = [
        call("grep", json!({"pattern": "needle"})),
        call("glob", json!({"pattern": "*"})),
        call("read", json!({"path": "0"})),
    ];
    let tree = disk(&fixture);
    let texts = |limits: ToolLimits, watch: Watch| -> Vec<String> {
        let got = run(&calls, &tree, &limits, &Pool::default(), &watch);
        assert!(got.iter().all(|got| got.error != (got.hits > 0)));
        got.into_iter().map(|got| got.text).collect()
    };
    let none =
        ToolLimits { grep_time: Duration::ZERO, glob_time: Duration::ZERO, ..Default::default() };
    assert_eq!(
        texts(none, Watch::idle()),
        [
            "error: stopped after 0ns while listing files",
            "error: stopped after 0ns while listing files",
            "0, lines 1-1 of 1:\n1: needle c",
        ]
    );
    let spent = Watch::new(Some(Instant::now()), None);
    assert_eq!(
        texts(ToolLimits::default(), spent),
        ["error: not run: the time budget is spent"; 3]
    );
}
