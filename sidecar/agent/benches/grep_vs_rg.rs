//! Eight greps of one turn, without an index, against spawning `rg` for the same eight patterns.
//!
//! `cargo bench -p codegrep-agent --bench grep_vs_rg -- FOLDER`. Both sides run once before they
//! are timed, so files come from the page cache. Our greps stop at 50 matches each, as they do in
//! use; three of the patterns have fewer and make both sides read everything.
#![allow(clippy::print_stdout, reason = "a command of its own, which reports to a person")]

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use codegrep_agent::tools::{Call, Pool, ToolLimits, run};
use codegrep_tree::{DiskTree, Scope, Tree, Watch};
use serde_json::json;

const PATTERNS: [&str; 8] = [
    r"class QuerySet",
    r"def \w+_related\(",
    r"raise (ValueError|TypeError)\(",
    r"no_such_name_anywhere",
    r"(?i)deprecat\w+ in",
    r"\bselect_for_update\b",
    r"^from .* import .*signals?$",
    r"^\s+return None$",
];
const ROUNDS: usize = 15;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if !args.iter().any(|arg| arg == "--bench") {
        // Run as a test, together with all targets.
        return ExitCode::SUCCESS;
    }
    let Some(folder) = args.iter().find(|arg| !arg.starts_with('-')) else {
        eprintln!("give a folder to search: cargo bench --bench grep_vs_rg -- FOLDER");
        return ExitCode::from(2);
    };
    let tree = match DiskTree::open(Path::new(folder)) {
        Ok(tree) => tree,
        Err(err) => {
            eprintln!("{err}");
            return ExitCode::from(2);
        }
    };
    if let Err(err) = Command::new("rg").arg("--version").stdout(Stdio::null()).status() {
        eprintln!("rg cannot be run ({err}); install it: apt-get install ripgrep");
        return ExitCode::from(2);
    }
    let listed = tree.walk(&Scope::default(), &Watch::idle()).map_or(0, |l| l.entries.len());
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    println!("{listed} files, {cores} cores; median of {ROUNDS} rounds, and the quickest");

    let pool = Pool::default();
    let calls = PATTERNS.map(|pattern| Call {
        name: "grep".to_owned(),
        arguments: [("pattern".to_owned(), json!(pattern))].into_iter().collect(),
    });
    // As written only, like rg; a second reading of what finds nothing is extra work.
    let limits = ToolLimits { forgiving: false, ..ToolLimits::default() };
    let ours = time("ours, one turn", || {
        for got in run(&calls, &tree, &limits, &pool, &Watch::idle()) {
            assert!(!got.error, "{}", got.text);
        }
    });
    let rg = |patterns: &[&str]| {
        let mut command = Command::new("rg");
        command.args(["--line-number", "--no-heading"]);
        command.args(patterns.iter().flat_map(|pattern| ["-e", pattern]));
        command.arg(".").current_dir(folder);
        command
    };
    let output = |mut command: Command| command.output().expect("rg ran before");
    let side_by_side = time("rg, eight processes side by side", || {
        std::thread::scope(|scope| {
            for pattern in PATTERNS {
                scope.spawn(move || output(rg(&[pattern])));
            }
        });
    });
    let in_turn = time("rg, eight processes one after another", || {
        for pattern in PATTERNS {
            output(rg(&[pattern]));
        }
    });
    let at_once = time("rg, one process for all, matches not told apart", || {
        output(rg(&PATTERNS));
    });
    let ratio = |other: Duration| other.as_secs_f64() / ours.as_secs_f64();
    println!(
        "ours is {:.1} times as fast as rg side by side, {:.1} one after another, {:.1} at once",
        ratio(side_by_side),
        ratio(in_turn),
        ratio(at_once)
    );
    ExitCode::SUCCESS
}

/// The median time of a round.
fn time(what: &str, round: impl Fn()) -> Duration {
    round();
    let mut times = [Duration::ZERO; ROUNDS];
    for time in &mut times {
        let began = Instant::now();
        round();
        *time = began.elapsed();
    }
    times.sort();
    let median = times[ROUNDS / 2];
    println!("{median:>9.1?} {:>9.1?}  {what}", times[0]);
    median
}
