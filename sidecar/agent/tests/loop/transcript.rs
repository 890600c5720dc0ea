use codegrep_agent::record::Event;
use codegrep_agent::{Message, StopReason};
use expect_test::expect;

use crate::given::{ANSWER, GREP, READ, calls, run};

/// Four turns, the paper's most: three of exploration, the answer forced.
pub fn script() -> String {
    let first = calls(&[
        r#"{"name": "grep", "arguments": {"pattern": "quiet", "glob": "*.py"}}"#,
        r#"{"name": "glob", "arguments": {"pattern": "**/prog*"}}"#,
        r#"{"name": "read", "arguments": {"path": "backup/nothing.py"}}"#,
    ]);
    let (second, third) = (calls(&[GREP]), calls(&[READ]));
    format!(
        "--- turn\nasked: calls\nexpect: still prints\n\n{first}\n\
         --- turn\nasked: calls-or-answer\nexpect: backup/cli.py:5\n\n{second}\n\
         --- turn\nasked: calls-or-answer\nrefuse: Answer now\n\n{third}\n\
         --- turn\nasked: answer\nexpect: Answer now\n\n{ANSWER}\n"
    )
}

#[test]
fn a_run_of_four_turns() {
    let episode = run(&script());
    let mut out = String::new();
    for event in episode.events.iter().skip(2) {
        match event {
            Event::Ours(messages) => {
                for message in messages {
                    match message {
                        Message::Tools(results) => {
                            for result in results {
                                out += &format!("[{}]\n{}\n", result.tool, result.text);
                            }
                        }
                        Message::User(text) => out += &format!("[user]\n{text}\n"),
                        other => panic!("{other:?}"),
                    }
                }
            }
            Event::Turn(turn) => {
                out += &format!("[model, {:?}, {:?}]\n{}\n", turn.step, turn.end, turn.text);
                for call in &turn.calls {
                    let (hits, seen, shown) = (call.hits, &call.seen, &call.shown);
                    let shown: Vec<String> =
                        shown.iter().map(|s| format!("{}:{}-{}", s.path, s.start, s.end)).collect();
                    out += &format!(
                        "  {} hits {hits} error {} seen {seen:?} shown {shown:?}\n",
                        call.name, call.error
                    );
                }
            }
        }
    }
    out += &format!(
        "{:?} {:?} unknown {} hurried {} reproducible {}",
        episode.stop, episode.files, episode.unknown_paths, episode.hurried, episode.reproducible
    );
    expect![[r#"
        [model, Explore { turn: 1 }, Stop]
        <tool_call>
        {"name": "grep", "arguments": {"pattern": "quiet", "glob": "*.py"}}
        </tool_call>
        <tool_call>
        {"name": "glob", "arguments": {"pattern": "**/prog*"}}
        </tool_call>
        <tool_call>
        {"name": "read", "arguments": {"path": "backup/nothing.py"}}
        </tool_call>
          grep hits 2 error false seen ["backup/cli.py", "backup/copy.py"] shown ["backup/cli.py:5-5", "backup/copy.py:3-3"]
          glob hits 1 error false seen ["backup/progress.py"] shown []
          read hits 0 error true seen [] shown []
        [grep]
        backup/cli.py:5: parser.add_argument("--quiet", action="store_true")
        backup/copy.py:3: def copy(source, target, quiet=False):
        [glob]
        backup/progress.py
        [read]
        error: backup/nothing.py: no such file or folder
        [model, Explore { turn: 2 }, Stop]
        <tool_call>
        {"name": "grep", "arguments": {"pattern": "ProgressBar"}}
        </tool_call>
          grep hits 3 error false seen ["backup/copy.py", "backup/progress.py"] shown ["backup/copy.py:1-1", "backup/copy.py:4-4", "backup/progress.py:1-1"]
        [grep]
        backup/copy.py:1: from backup.progress import ProgressBar
        backup/copy.py:4: bar = ProgressBar(len(source))
        backup/progress.py:1: class ProgressBar:
        [model, Explore { turn: 3 }, Stop]
        <tool_call>
        {"name": "read", "arguments": {"path": "backup/copy.py"}}
        </tool_call>
          read hits 6 error false seen ["backup/copy.py"] shown ["backup/copy.py:1-6"]
        [read]
        backup/copy.py, lines 1-6 of 6:
        1: from backup.progress import ProgressBar
        2: 
        3: def copy(source, target, quiet=False):
        4:     bar = ProgressBar(len(source))
        5:     for path in source:
        6:         bar.advance()
        [user]
        No more tools. Answer now, in JSON.
        [model, Answer, Stop]
        {"files": [{"path": "backup/copy.py", "line_ranges": [[3, 6]]}]}
        Answered [Found { path: "backup/copy.py", line_ranges: [(3, 6)] }] unknown 0 hurried false reproducible true"#]].assert_eq(&out);
    assert_eq!(episode.stop, StopReason::Answered);
    assert_eq!((episode.turns().count(), episode.tool_calls()), (4, 5));
}
