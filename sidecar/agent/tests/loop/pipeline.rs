use codegrep_agent::tools::Pool;
use codegrep_agent::{Engine, Engines, Model, Outcome, Request, Rules, StopReason, answer};
use codegrep_rank::{EvidenceKind, Ranker, Source, Verdict};
use codegrep_tree::{DiskTree, Watch};

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
fn an_empty_task_asks_no_model() {
    let outcome = ask(Some("--- turn\nx\n"), " \n", &Rules::default(), &Watch::idle());
    assert_eq!((outcome.stop, outcome.episode), (StopReason::NoModel, None));
    assert!(matches!(outcome.verdict, Verdict::Abstain { .. }));
}
