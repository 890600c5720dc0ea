use std::sync::Arc;
use std::time::Duration;

use codegrep_tree::{ForestTree, OverlayTree, RepoPath, Tree, TreeError, Watch};
use serde_json::{Value, json};

use super::{Call, Pool, ToolLimits, run};

/// Files that every kind of result can be had from.
const FILES: [(&str, &[u8]); 5] = [
    ("data.bin", b"one\0"),
    ("empty.py", b""),
    ("src/lib/two_words_that_make_the_name_of_this_file_long.py", b"two = 2\n"),
    ("src/one.py", b"def one():\n    return 1\n"),
    ("src/uno.py", b"from one import one\n"),
];

/// What the tools say under `limits`, one result of each kind but those of files over the limit on
/// size: whoever changes a text changes what a model was trained on.
pub(crate) fn samples(limits: &ToolLimits) -> Vec<String> {
    // Of files in memory only; there is no place for it to fail.
    let Ok(tree) = tree() else { return Vec::new() };
    let hour = Duration::from_secs(3600);
    let whole = ToolLimits {
        calls_a_turn: 1,
        grep_time: hour,
        glob_time: hour,
        read_time: hour,
        ..limits.clone()
    };
    let narrow = ToolLimits { grep_matches: 1, read_lines: 1, ..whole.clone() };
    let short = ToolLimits { result_chars: 90, ..whole.clone() };
    let (grep, glob, read) = ("grep", "glob", "read");
    let asked = [
        (&whole, grep, json!({"pattern": "one"})),
        (&whole, grep, json!({"pattern": "one", "path": "data.bin"})),
        (&whole, grep, json!({"pattern": "three"})),
        (&whole, grep, json!({"pattern": "RETURN"})),
        (&whole, grep, json!({"pattern": "one("})),
        (&whole, grep, json!({"pattern": "two[0]("})),
        (&whole, grep, json!({"pattern": "one", "glob": "*.rs"})),
        (&whole, grep, json!({"pattern": "one", "glob": "/*"})),
        (&whole, grep, json!({"pattern": "one", "path": "srx/one.py"})),
        (&whole, grep, json!({"pattern": ""})),
        (&whole, grep, json!({})),
        (&whole, grep, json!({"regex": "one"})),
        (&narrow, grep, json!({"pattern": "one"})),
        (&whole, glob, json!({"pattern": "src/*.py"})),
        (&whole, glob, json!({"pattern": "lib/*.py"})),
        (&whole, glob, json!({"pattern": "lib"})),
        (&whole, glob, json!({"pattern": "ONE.py"})),
        (&whole, glob, json!({"pattern": "SRC"})),
        (&whole, glob, json!({"pattern": "src/three.py"})),
        (&short, glob, json!({"pattern": "**/*"})),
        (&whole, read, json!({"path": "src/one.py"})),
        (&whole, read, json!({"path": "src/one.py", "start_line": 9})),
        (&whole, read, json!({"path": "src"})),
        (&whole, read, json!({"path": "empty.py"})),
        (&whole, read, json!({"path": "data.bin"})),
        (&whole, read, json!({"path": "/src/one.py"})),
        (&narrow, read, json!({"path": "src/one.py"})),
        (&whole, "find", json!({})),
    ];
    let pool = Pool::new(1);
    let ask = |limits: &ToolLimits, name: &str, arguments: Value, watch: &Watch| {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let call = Call { name: name.to_owned(), arguments };
        run(&[call], &tree, limits, &pool, watch).into_iter().map(|got| got.text)
    };
    let mut texts: Vec<String> = asked
        .into_iter()
        .flat_map(|(limits, name, arguments)| ask(limits, name, arguments, &Watch::idle()))
        .collect();
    let none = ToolLimits { grep_time: Duration::ZERO, ..whole.clone() };
    texts.extend(ask(&none, grep, json!({"pattern": "one"}), &Watch::idle()));
    let spent = Watch::idle().within(Duration::ZERO);
    texts.extend(ask(&whole, grep, json!({"pattern": "one"}), &spent));
    texts
}

fn tree() -> Result<OverlayTree, TreeError> {
    let empty: Arc<dyn Tree> = Arc::new(ForestTree::new([]));
    let mut files = Vec::new();
    for (path, bytes) in FILES {
        files.push((RepoPath::parse(path)?, bytes.to_owned()));
    }
    OverlayTree::new(empty, files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn every_kind_of_result_is_sampled() {
        let texts = samples(&ToolLimits::default());
        expect![[r#"
            src/one.py:1: def one():
            src/uno.py:1: from one import one
            ---
            data.bin: binary file matches
            ---
            no match for three (5 files searched)
            ---
            src/one.py:2: return 1
            (no match as written; these match as plain text or ignoring case)
            ---
            src/one.py:1: def one():
            (not a regular expression (unclosed group at character 4), searched as plain text)
            ---
            no match for two[0]( (5 files searched)
            (not a regular expression (unclosed group at character 7), searched as plain text)
            ---
            no file matches the glob *.rs
            ---
            error: /*: a glob is relative and stays in the repository
            ---
            error: srx/one.py: no such file or folder; did you mean src/one.py?
            ---
            error: the pattern is empty
            ---
            error: pattern is missing; grep takes pattern, path, glob, ignore_case
            ---
            error: there is no argument "regex"; grep takes pattern, path, glob, ignore_case
            ---
            src/one.py:1: def one():
            (1 matches shown, there are more; narrow the pattern, or give path or glob)
            ---
            src/one.py
            src/uno.py
            ---
            nothing matches from the root; at any depth:
            src/lib/two_words_that_make_the_name_of_this_file_long.py
            ---
            no such file; below folders of that name:
            src/lib/two_words_that_make_the_name_of_this_file_long.py
            ---
            nothing matches; ignoring case:
            src/one.py
            ---
            no such file; below folders of that name, ignoring case:
            src/lib/two_words_that_make_the_name_of_this_file_long.py
            src/one.py
            src/uno.py
            ---
            no file matches src/three.py
            ---
            data.bin
            empty.py
            (2 of 5 paths shown; narrow the pattern or give path to see the rest)
            ---
            src/one.py, lines 1-2 of 2:
            1: def one():
            2:     return 1
            ---
            error: src/one.py ends before line 9; lines: 2
            ---
            src is a folder; it holds:
            lib/
            one.py
            uno.py
            ---
            empty.py is empty
            ---
            error: data.bin: a binary file of 4 bytes
            ---
            error: /src/one.py: absolute paths are refused; give a path relative to the repository root; did you mean src/one.py?
            ---
            src/one.py, lines 1-1 of 2:
            1: def one():
            (cut; read on with start_line 2)
            ---
            error: there is no tool "find"; there are grep, glob and read
            ---
            no match for one (0 files searched)
            (stopped after 0ns, 0 of 5 files searched; narrow path or glob)
            ---
            error: not run: the time budget is spent"#]].assert_eq(&texts.join("\n---\n"));
    }
}
