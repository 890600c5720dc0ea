use std::sync::Arc;

use codegrep_agent::profiles::CodeGrep;
use codegrep_agent::prompt::Opening;
use codegrep_agent::record::Event;
use codegrep_agent::tools::Pool;
use codegrep_agent::{Episode, Limits, Message, Model, Rules, turns};
use codegrep_model::scripted::Scripted;
use codegrep_tree::fixture::Fixture;
use codegrep_tree::{DiskTree, Watch};

/// A small program with a bug.
pub fn repository() -> Fixture {
    Fixture::new(
        r#"
        //- /backup/cli.py
        import argparse
        from backup.copy import copy

        parser = argparse.ArgumentParser()
        parser.add_argument("--quiet", action="store_true")

        def main():
            args = parser.parse_args()
            copy(args.source, args.target)
        //- /backup/copy.py
        from backup.progress import ProgressBar

        def copy(source, target, quiet=False):
            bar = ProgressBar(len(source))
            for path in source:
                bar.advance()
        //- /backup/progress.py
        class ProgressBar:
            def advance(self):
                print(".", end="")
        //- /README.md
        Backs up folders.
        "#,
    )
}

pub const TASK: &str = "`backup --quiet` still prints the progress bar.";

/// Calls in the profile's syntax.
pub fn calls(calls: &[&str]) -> String {
    let call = |call: &&str| format!("<tool_call>\n{call}\n</tool_call>");
    calls.iter().map(call).collect::<Vec<_>>().join("\n")
}

pub const GREP: &str = r#"{"name": "grep", "arguments": {"pattern": "ProgressBar"}}"#;
pub const READ: &str = r#"{"name": "read", "arguments": {"path": "backup/copy.py"}}"#;
pub const ANSWER: &str = r#"{"files": [{"path": "backup/copy.py", "line_ranges": [[3, 6]]}]}"#;

pub fn scripted(script: &str) -> Scripted {
    Scripted::parse("script", script).unwrap()
}

/// Runs the script on `fixture` under `rules`; the model sees the task alone, no candidates.
pub fn run_under(fixture: &Fixture, script: &str, rules: &Rules, watch: &Watch) -> Episode {
    let tree = DiskTree::open(fixture.path()).unwrap();
    let model: &dyn Model = &scripted(script);
    turns::run(opening(TASK, rules), &tree, model, &Pool::default(), rules, watch)
}

pub fn under(limits: Limits) -> Rules {
    Rules { profile: Arc::new(CodeGrep::new(limits)), ..Rules::default() }
}

/// An opening without candidates.
pub fn opening(task: &str, rules: &Rules) -> Opening {
    Opening { messages: rules.profile.opening(task, ""), seen: Default::default() }
}

pub fn run(script: &str) -> Episode {
    run_under(&repository(), script, &Rules::default(), &Watch::idle())
}

/// The texts of ours after the opening, in order.
pub fn shown(episode: &Episode) -> Vec<String> {
    let mut out = Vec::new();
    let first_turn = episode.events.iter().position(|event| matches!(event, Event::Turn(_)));
    for event in &episode.events[first_turn.unwrap_or(episode.events.len())..] {
        if let Event::Ours(messages) = event {
            for message in messages {
                match message {
                    Message::Tools(results) => out.extend(results.iter().map(|r| r.text.clone())),
                    Message::User(text) => out.push(text.clone()),
                    other => panic!("{other:?} after the opening"),
                }
            }
        }
    }
    out
}
