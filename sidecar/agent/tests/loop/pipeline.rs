use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use codegrep_agent::tools::Pool;
use codegrep_agent::{Engine, Engines, Model, Outcome, Request, Rules, StopReason, answer};
use codegrep_rank::{Evidence, EvidenceKind, Ranker, Source, Verdict};
use codegrep_tree::{Blob, DiskTree, Folder, History, Kind, RepoPath, Tree, TreeError, Watch};

use crate::given::{GREP, READ, TASK, calls, repository, scripted};

fn ask(model: Option<&str>, text: &str, rules: &Rules, watch: &Watch) -> Outcome {
    let fixture = repository();
    let tree = DiskTree::open(fixture.path()).unwrap();
    let model = model.map(scripted);
    let engines = Engines {
        ranker: &Ranker::default(),
        model: model.as_ref().map(|model| model as &dyn Model),
        pool: &Pool::default(),
    };
    let request = Request { text: text.to_owned(), max_files: 3, gate: true };
    answer(&request, &tree, engines, rules, watch).unwrap()
}

fn script(answer: &str) -> String {
    format!("--- turn\n{}\n--- turn\n{answer}\n", calls(&[GREP, READ]))
}

#[test]
fn without_a_model_the_ranking_answers() {
    let outcome = ask(None, TASK, &Rules::default(), &Watch::idle());
    assert_eq!((outcome.stop, &outcome.engine), (StopReason::NoModel, &Engine::Lexical));
    assert_eq!((outcome.episode, outcome.warnings), (None, vec![]));
}

#[test]
fn the_agents_file_comes_with_the_lines_it_saw() {
    let rules = Rules { bar: Some(0.1), ..Rules::default() };
    let answer = r#"{"files": [{"path": "backup/progress.py", "line_ranges": [[1, 2]]}, {"path": "backup/copy.py", "line_ranges": [[3, 5]]}]}"#;
    let outcome = ask(Some(&script(answer)), TASK, &rules, &Watch::idle());
    assert_eq!(outcome.stop, StopReason::Answered);
    assert!(matches!(outcome.engine, Engine::Agent { .. }));
    assert!(outcome.reproducible);
    let file = outcome.files.iter().find(|f| f.path.as_str() == "backup/progress.py").unwrap();
    assert!(matches!(file.source, Source::Agent | Source::Hybrid));
    assert_eq!(file.line_ranges, [(1, 2)]);
    let evidence = file.evidence.iter().find(|e| e.kind == EvidenceKind::Match).unwrap();
    assert_eq!((evidence.line, evidence.text.as_str()), (1, "class ProgressBar:"));
    assert!(matches!(outcome.verdict, Verdict::Inject { .. }));
    let injection = outcome.injection.unwrap();
    assert!(injection.contains("- backup/progress.py\n"), "{injection}");
}

#[test]
fn a_model_that_fails_leaves_the_ranking_and_a_warning() {
    let lexical = ask(None, TASK, &Rules::default(), &Watch::idle());
    for (script, stop, warning) in [
        ("--- turn\nfail: gone\n", StopReason::ModelError, "the model script failed: gone"),
        (
            "--- turn\nunconstrained\n\nhm\n--- turn\nunconstrained\n\nhm\n",
            StopReason::NoAnswer,
            "the model script gave no readable answer",
        ),
        (
            "--- turn\nunconstrained\n\n{\"files\": [\"no.py\"]}\n",
            StopReason::Answered,
            "the model script named no file that exists (1 unknown)",
        ),
    ] {
        let outcome = ask(Some(script), TASK, &Rules::default(), &Watch::idle());
        assert_eq!((outcome.stop, &outcome.engine), (stop, &Engine::Lexical));
        assert_eq!((&outcome.files, &outcome.verdict), (&lexical.files, &lexical.verdict));
        assert!(outcome.warnings.iter().any(|w| w.starts_with(warning)), "{:?}", outcome.warnings);
    }
}

#[test]
fn what_time_or_a_failure_had_a_say_in_is_not_reproducible() {
    let idle = ask(None, TASK, &Rules::default(), &Watch::idle());
    assert!(idle.reproducible);
    let late = Watch::idle().within(Duration::ZERO);
    assert!(!ask(None, TASK, &Rules::default(), &late).reproducible);
    let failed = ask(Some("--- turn\nfail: gone\n"), TASK, &Rules::default(), &Watch::idle());
    assert_eq!((failed.stop, failed.reproducible), (StopReason::ModelError, false));
}

/// A history that there was no time to read would have had a say.
#[test]
fn without_its_history_a_ranking_is_not_reproducible() {
    let fixture = repository();
    fixture.commit("all");
    let tree = DiskTree::open(fixture.path()).unwrap();
    let request = Request { text: TASK.to_owned(), max_files: 3, gate: true };
    for (tree, reproducible) in
        [(&tree as &dyn Tree, true), (&Forgetful(&tree, AtomicBool::new(false)), false)]
    {
        let engines = Engines { ranker: &Ranker::default(), model: None, pool: &Pool::default() };
        let outcome = answer(&request, tree, engines, &Rules::default(), &Watch::idle()).unwrap();
        assert_eq!(outcome.reproducible, reproducible);
    }
}

/// A tree whose history is not there when the ranking asks, as when its time is up.
struct Forgetful<'a>(&'a DiskTree, AtomicBool);

impl Tree for Forgetful<'_> {
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
        self.0.read(path, limit)
    }
    fn history(&self) -> Option<History> {
        self.1.swap(true, Ordering::Relaxed).then(|| self.0.history()).flatten()
    }
}

/// Trimmed and cut as the ranking's lines are, numbered as the tools number them.
#[test]
fn the_agents_evidence_is_quoted_like_the_rankings() {
    let fixture = repository();
    let long = format!("    needle = \"{}\"", "x".repeat(500));
    let text = format!("\u{feff}first\n\u{a0a}\n{long}\n");
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fixture.write("wide.py", utf16);
    let tree = DiskTree::open(fixture.path()).unwrap();
    let grep = r#"{"name": "grep", "arguments": {"pattern": "needle"}}"#;
    let answer_text = r#"{"files": [{"path": "wide.py", "line_ranges": [[3, 9]]}]}"#;
    let model = scripted(&format!("--- turn\n{}\n--- turn\n{answer_text}\n", calls(&[grep])));
    let engines =
        Engines { ranker: &Ranker::default(), model: Some(&model), pool: &Pool::default() };
    let request = Request { text: TASK.to_owned(), max_files: 9, gate: false };
    let outcome = answer(&request, &tree, engines, &Rules::default(), &Watch::idle()).unwrap();
    let file = outcome.files.iter().find(|file| file.path.as_str() == "wide.py").unwrap();
    let quoted = format!("needle = \"{}", "x".repeat(190));
    assert_eq!(file.line_ranges, [(3, 3)]);
    assert_eq!(file.evidence, [Evidence { line: 3, text: quoted, kind: EvidenceKind::Match }],);
}

#[test]
fn an_empty_task_asks_no_model() {
    let outcome = ask(Some("--- turn\nx\n"), " \n", &Rules::default(), &Watch::idle());
    assert_eq!((outcome.stop, outcome.episode), (StopReason::NoModel, None));
    assert!(matches!(outcome.verdict, Verdict::Abstain { .. }));
}
