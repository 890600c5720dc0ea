use codegrep_agent::tools::{Pool, ToolLimits, run};
use codegrep_tree::Watch;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{call, disk, project, run_one, transcript};

fn check(calls: &[(&str, Value)], want: Expect) {
    want.assert_eq(&transcript(&disk(&project()), calls));
}

#[test]
fn grep() {
    check(
        &[
            ("grep", json!({"pattern": r"def save\w*\("})),
            ("grep", json!({"pattern": "save", "path": "app/views.py"})),
            ("grep", json!({"pattern": "how to save", "ignore_case": true})),
            ("grep", json!({"pattern": "filter", "glob": "test_*.py"})),
            ("grep", json!({"pattern": "filter", "path": "./app/", "glob": "models/**"})),
            ("grep", json!({"pattern": "filter", "path": "app", "glob": "app/models/*.py"})),
            ("grep", json!({"pattern": "filter", "path": "**/*.py"})),
            ("grep", json!({"pattern": "pass", "glob": "!tests/**"})),
        ],
        expect![[r#"
            > grep {"pattern":"def save\\w*\\("} [2]
            app/models/base.py:2: def save(self, force=False):
            app/models/base.py:6: def save_base(self):
            > grep {"pattern":"save","path":"app/views.py"} [1]
            app/views.py:4: Model().save(force=True)
            > grep {"pattern":"how to save","ignore_case":true} [1]
            docs/Save.txt:1: How to SAVE.
            > grep {"pattern":"filter","glob":"test_*.py"} [1]
            tests/test_query.py:1: def test_filter():
            > grep {"pattern":"filter","path":"./app/","glob":"models/**"} [1]
            app/models/query.py:2: def filter(self, *args):
            > grep {"pattern":"filter","path":"app","glob":"app/models/*.py"} [1]
            app/models/query.py:2: def filter(self, *args):
            > grep {"pattern":"filter","path":"**/*.py"} [2]
            app/models/query.py:2: def filter(self, *args):
            tests/test_query.py:1: def test_filter():
            > grep {"pattern":"pass","glob":"!tests/**"} [1]
            app/models/base.py:7: pass
        "#]],
    );
}

#[test]
fn what_is_hidden_ignored_or_binary_must_be_named() {
    check(
        &[
            ("grep", json!({"pattern": "save", "path": ".github"})),
            ("grep", json!({"pattern": "save", "glob": "build/*.py"})),
            ("grep", json!({"pattern": "save", "glob": ".github/**"})),
            ("grep", json!({"pattern": "save", "path": "logo.png"})),
            ("grep", json!({"pattern": "nothing", "path": "logo.png"})),
            ("glob", json!({"pattern": "*.yml"})),
            ("glob", json!({"pattern": ".github/**"})),
            ("glob", json!({"pattern": "out.py", "path": "build"})),
        ],
        expect![[r#"
            > grep {"pattern":"save","path":".github"} [1]
            .github/workflows/ci.yml:1: run: cargo test save
            > grep {"pattern":"save","glob":"build/*.py"} [1]
            build/out.py:1: def save(): pass
            > grep {"pattern":"save","glob":".github/**"} [1]
            .github/workflows/ci.yml:1: run: cargo test save
            > grep {"pattern":"save","path":"logo.png"} [1]
            logo.png: binary file matches
            > grep {"pattern":"nothing","path":"logo.png"} [0]
            no match for nothing in logo.png (1 file searched)
            > glob {"pattern":"*.yml"} [0]
            no file matches *.yml
            > glob {"pattern":".github/**"} [1]
            .github/workflows/ci.yml
            > glob {"pattern":"out.py","path":"build"} [1]
            build/out.py
        "#]],
    );
}

#[test]
fn grep_without_a_match() {
    check(
        &[
            ("grep", json!({"pattern": "nowhere"})),
            ("grep", json!({"pattern": "nowhere", "path": "app/models"})),
            ("grep", json!({"pattern": "save", "glob": "*.rs"})),
            ("grep", json!({"pattern": "save("})),
            ("grep", json!({"pattern": "load("})),
            ("grep", json!({"pattern": "save", "path": "app/model"})),
            ("grep", json!({"pattern": "a{1000}{1000}"})),
        ],
        expect![[r#"
            > grep {"pattern":"nowhere"} [0]
            no match for nowhere (7 files searched)
            > grep {"pattern":"nowhere","path":"app/models"} [0]
            no match for nowhere in app/models (2 files searched)
            > grep {"pattern":"save","glob":"*.rs"} [0]
            no file matches the glob *.rs
            > grep {"pattern":"save("} [2]
            app/models/base.py:2: def save(self, force=False):
            app/views.py:4: Model().save(force=True)
            (not a regular expression (unclosed group at character 5), searched as plain text)
            > grep {"pattern":"load("} [!0]
            no match for load( (7 files searched)
            (not a regular expression (unclosed group at character 5), searched as plain text)
            > grep {"pattern":"save","path":"app/model"} [!0]
            error: app/model: no such file or folder; did you mean app/models?
            > grep {"pattern":"a{1000}{1000}"} [!0]
            error: the pattern is too large; use fewer or smaller repetitions
        "#]],
    );
}

#[test]
fn a_pattern_that_finds_nothing_is_read_more_loosely() {
    check(
        &[
            ("grep", json!({"pattern": r"load\|save_base"})),
            ("grep", json!({"pattern": "save(force=True)"})),
            ("grep", json!({"pattern": "queryset"})),
            ("grep", json!({"pattern": "queryset", "glob": "*.txt"})),
        ],
        expect![[r#"
            > grep {"pattern":"load\\|save_base"} [2]
            app/models/base.py:4: self.save_base()
            app/models/base.py:6: def save_base(self):
            (no match as written; these match as plain text or ignoring case)
            > grep {"pattern":"save(force=True)"} [1]
            app/views.py:4: Model().save(force=True)
            (no match as written; these match as plain text or ignoring case)
            > grep {"pattern":"queryset"} [1]
            app/models/query.py:1: class QuerySet:
            (no match as written; these match as plain text or ignoring case)
            > grep {"pattern":"queryset","glob":"*.txt"} [0]
            no match for queryset (1 file searched)
        "#]],
    );
}

#[test]
fn a_program_gets_what_it_asks_for_and_nothing_else() {
    let fixture = project();
    let limits = ToolLimits { forgiving: false, ..ToolLimits::default() };
    let calls = [
        call("grep", json!({"pattern": "queryset"})),
        call("grep", json!({"pattern": "save("})),
        call("glob", json!({"pattern": "models"})),
    ];
    let got = run(&calls, &disk(&fixture), &limits, &Pool::default(), &Watch::idle());
    assert_eq!(
        got.iter().map(|got| (&got.text[..], got.hits)).collect::<Vec<_>>(),
        [
            ("no match for queryset (7 files searched)", 0),
            ("error: not a regular expression: unclosed group at character 5", 0),
            ("no file matches models; did you mean app/models?", 0),
        ]
    );
}

#[test]
fn glob() {
    check(
        &[
            ("glob", json!({"pattern": "*.py"})),
            ("glob", json!({"pattern": "**/{query,views}.py"})),
            ("glob", json!({"pattern": "models/*.py"})),
            ("glob", json!({"pattern": "*.py", "path": "app/models"})),
            ("glob", json!({"pattern": "models"})),
            ("glob", json!({"pattern": "save.TXT"})),
            ("glob", json!({"pattern": "querry.py"})),
            ("glob", json!({"pattern": "*.{py"})),
        ],
        expect![[r#"
            > glob {"pattern":"*.py"} [5]
            app/models/base.py
            app/models/query.py
            app/views.py
            empty.py
            tests/test_query.py
            > glob {"pattern":"**/{query,views}.py"} [2]
            app/models/query.py
            app/views.py
            > glob {"pattern":"models/*.py"} [2]
            nothing matches from the root; at any depth:
            app/models/base.py
            app/models/query.py
            > glob {"pattern":"*.py","path":"app/models"} [2]
            app/models/base.py
            app/models/query.py
            > glob {"pattern":"models"} [2]
            no such file; below folders of that name:
            app/models/base.py
            app/models/query.py
            > glob {"pattern":"save.TXT"} [1]
            nothing matches; ignoring case:
            docs/Save.txt
            > glob {"pattern":"querry.py"} [0]
            no file matches querry.py; did you mean app/models/query.py?
            > glob {"pattern":"*.{py"} [!0]
            error: *.{py: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)
        "#]],
    );
}

#[test]
fn read() {
    check(
        &[
            ("read", json!({"path": "app/models/base.py", "start_line": 2, "end_line": 4})),
            ("read", json!({"path": "app/views.py", "start_line": "[3, 9]"})),
            ("read", json!({"path": "app/views.py", "start_line": 5})),
            ("read", json!({"path": "empty.py"})),
            ("read", json!({"path": "app"})),
            ("read", json!({"path": "logo.png"})),
            ("read", json!({"path": "app/query.py"})),
            ("read", json!({"path": "/srv/app/views.py"})),
        ],
        expect![[r#"
            > read {"path":"app/models/base.py","start_line":2,"end_line":4} [3]
            app/models/base.py, lines 2-4 of 7:
            2:     def save(self, force=False):
            3:         if force:
            4:             self.save_base()
            > read {"path":"app/views.py","start_line":"[3, 9]"} [2]
            app/views.py, lines 3-4 of 4:
            3: def view(request):
            4:     Model().save(force=True)
            > read {"path":"app/views.py","start_line":5} [!0]
            error: app/views.py ends before line 5; lines: 4
            > read {"path":"empty.py"} [0]
            empty.py is empty
            > read {"path":"app"} [2]
            app is a folder; it holds:
            models/
            views.py
            > read {"path":"logo.png"} [!0]
            error: logo.png: a binary file of 13 bytes
            > read {"path":"app/query.py"} [!0]
            error: app/query.py: no such file or folder; did you mean app/models/query.py?
            > read {"path":"/srv/app/views.py"} [!0]
            error: /srv/app/views.py: absolute paths are refused; give a path relative to the repository root; did you mean app/views.py?
        "#]],
    );
}

#[test]
fn matches_and_lines_come_beside_the_text() {
    let fixture = project();
    let tree = disk(&fixture);
    let got = run_one(&tree, "grep", json!({"pattern": "self.save|class Model"}));
    let lines: Vec<_> =
        got.lines.iter().map(|l| (l.path.as_str(), l.number, &l.text[..])).collect();
    assert_eq!(
        lines,
        [("app/models/base.py", 1, "class Model:"), ("app/models/base.py", 4, "self.save_base()"),]
    );
    assert_eq!((got.hits, got.cut, got.seen.len()), (2, false, 1));
    let got = run_one(&tree, "read", json!({"path": "app/models/query.py", "start_line": 2}));
    let lines: Vec<_> = got.lines.iter().map(|l| (l.number, &l.text[..])).collect();
    assert_eq!(lines, [(2, "    def filter(self, *args):"), (3, "        return self")]);
    let got = run_one(&tree, "glob", json!({"pattern": "app/*.py"}));
    assert_eq!(got.seen.iter().map(|path| path.as_str()).collect::<Vec<_>>(), ["app/views.py"]);
}
