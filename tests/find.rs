//! `codegrep find` without a model, from the question to the answer. Its options and its looks are
//! tested in `sidecar/server/tests`.

use std::fs;
use std::path::Path;

use codegrep_plugin_sdk::{EngineKind, RetrieveResponse, Stop, VerdictKind};
use codegrep_tests::{Codegrep, SHOP, SHOP_REPORT, checkout, test_project};
use codegrep_tree::fixture::Fixture;

fn find(repo: &Path) -> Codegrep {
    Codegrep::new(["find", "--repo"]).arg(repo)
}

fn paths(answer: &RetrieveResponse) -> Vec<&str> {
    answer.files.iter().map(|file| file.path.as_str()).collect()
}

/// What each file's evidence promises: its text stands in the file at that line.
fn assert_verbatim(answer: &RetrieveResponse) {
    for file in &answer.files {
        let bytes = fs::read(Path::new(&file.root).join(&file.path)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for evidence in &file.evidence {
            let line = text.lines().nth(evidence.line as usize - 1);
            // Without the indentation.
            let stands = line.is_some_and(|line| line.trim() == evidence.text.trim());
            assert!(stands, "{}:{}: {evidence:?} is not {line:?}", file.path, evidence.line);
        }
        assert!((0.0..=1.0).contains(&file.probability), "{file:?}");
    }
}

#[test]
fn the_buggy_file_comes_first_with_lines_that_stand_there() {
    let repo = Fixture::new(SHOP);
    let answer = find(repo.path()).args(["--json", "--no-gate", SHOP_REPORT]).run().answer();
    assert_eq!(paths(&answer)[0], "shop/discounts.py", "{answer:#?}");
    assert!(!answer.files[0].evidence.is_empty(), "{answer:#?}");
    assert_verbatim(&answer);
    assert_eq!(answer.verdict.kind, VerdictKind::Inject);
    let injection = answer.injection.as_deref().unwrap();
    assert!(injection.starts_with("\n\n<candidate_files>\n- shop/discounts.py\n"), "{injection:?}");
    assert_eq!((answer.engine.kind, answer.stop), (EngineKind::Lexical, Stop::NoModel));
    assert_eq!((answer.turns, answer.tool_calls, answer.tokens.output), (0, 0, 0));
    assert_eq!(answer.index.files, 7);
    assert!(answer.warnings.is_empty(), "{:?}", answer.warnings);
}

#[test]
fn the_same_question_gets_the_same_answer() {
    let repo = Fixture::new(SHOP);
    let mut answers =
        [(); 2].map(|()| find(repo.path()).args(["--json", SHOP_REPORT]).run().answer());
    assert!(answers.iter().all(|answer| answer.reproducible));
    for answer in &mut answers {
        answer.ms = Default::default();
    }
    assert_eq!(answers[0], answers[1]);
}

#[test]
fn nothing_is_injected_for_a_text_about_something_else() {
    let repo = Fixture::new(SHOP);
    let text = "zeppelin quaternion gyroscope drifts";
    let answer = find(repo.path()).args(["--json", text]).run().answer();
    assert_eq!(answer.verdict.kind, VerdictKind::Abstain, "{answer:#?}");
    assert_eq!(answer.injection, None);
}

#[test]
fn files_that_git_ignores_are_not_found() {
    let repo = Fixture::new(SHOP);
    repo.write(".gitignore", "shop/discounts.py\n");
    repo.commit("Start");
    let answer = find(repo.path()).args(["--json", "--no-gate", SHOP_REPORT]).run().answer();
    assert!(!paths(&answer).contains(&"shop/discounts.py"), "{answer:#?}");
}

#[test]
fn a_real_project_of_thousands_of_files() {
    let report = fs::read(checkout().join("tests/fixtures/demo/report.txt")).unwrap();
    let answer =
        find(&test_project()).args(["--json", "--no-gate", "-"]).stdin(report).run().answer();
    assert!(!answer.files.is_empty() && answer.files.len() <= 3, "{answer:#?}");
    assert!(answer.index.files > 5_000, "{answer:#?}");
    assert_verbatim(&answer);
}
