//! An evaluation from task rows to report, on real git repositories without a checkout.

use std::fs;
use std::path::Path;
use std::time::Duration;

use codegrep_lab::evaluate::engine::EngineKind;
use codegrep_lab::evaluate::{EvaluateError, Evaluation, Plan, RunError, Split, evaluate};
use codegrep_lab::jsonl::JsonlError;
use codegrep_lab::tasks::GitTemplate;
use codegrep_tree::Watch;
use codegrep_tree::fixture::Fixture;
use serde_json::{Value, json};

/// Two repositories of one language with a commit each; both files of the first repository are
/// changed afterwards, so that reading the work tree instead of the commit would show.
fn repositories() -> (Fixture, Vec<Value>) {
    let root = Fixture::new("");
    let mut rows = Vec::new();
    for (name, file, word) in
        [("one", "src/retry.py", "backoff_delay"), ("two", "app/limit.py", "quota_ceiling")]
    {
        let repo = Fixture::new(&format!(
            "
            //- /{file}
            def {word}(x):
                # {word} doubles
                return x * 2
            //- /src/other.py
            def unrelated():
                return 0
            //- /src/third.py
            VERSION = 3
            "
        ));
        let commit = repo.commit("first");
        repo.write(file, "nothing = 1\n");
        copy(repo.path(), &root.path().join(format!("team+{name}/repo")));
        for at in 0..2 {
            rows.push(json!({
                "instance_id": format!("team__{name}-{at}"), "repo": format!("team/{name}"), "language": "python",
                "base_commit": commit, "gold_files": [file],
                "problem_statement": format!("{word} is wrong\n\ncalling {word}(3) gives 6"),
            }));
        }
    }
    (root, rows)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn evaluation(root: &Fixture, rows: &[Value]) -> Evaluation {
    let lines = rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    Evaluation {
        tasks: root.write("tasks.jsonl", lines),
        split: Split::All,
        limit: None,
        plan: Plan {
            git: GitTemplate::new(&format!("{}/{{owner}}+{{name}}/repo", root.path().display()))
                .unwrap(),
            engines: vec![EngineKind::Bm25, EngineKind::Lexical],
            model: None,
            weights: codegrep_lab::Weights::built_in(),
            budget: None,
            jobs: 2,
            wrong: 3,
            seed: 1,
        },
        out: root.path().join("out"),
        resume: false,
        command: "codegrep-train eval".into(),
    }
}

#[test]
fn from_rows_to_report() {
    let (root, rows) = repositories();
    let evaluation = evaluation(&root, &rows);
    let (summary, bad) = evaluate(&evaluation, &Watch::idle()).unwrap();
    assert!(bad.is_empty());
    let (bm25, lexical) = (&summary.engines["bm25"], &summary.engines["lexical"]);
    assert_eq!((summary.tasks, bm25.all.errors, lexical.all.errors), (4, 0, 0));
    assert_eq!(
        (bm25.all.acc1.mean, lexical.all.acc1.mean),
        (1.0, 1.0),
        "read at the commit, not from the work tree"
    );
    assert_eq!(bm25.all.files, 2.0, "the paper's K");
    assert_eq!(
        lexical.abstention.unwrap().mean,
        1.0,
        "the word asked for stands nowhere in the other repository"
    );
    let written: Value =
        serde_json::from_slice(&fs::read(evaluation.out.join("summary.json")).unwrap()).unwrap();
    assert_eq!(written["engines"]["lexical"]["acc1"]["mean"], 1.0);
    for file in ["report.md", "report.html"] {
        assert!(fs::read_to_string(evaluation.out.join(file)).unwrap().contains("lexical"));
    }
}

#[test]
fn a_killed_run_goes_on_where_it_stopped() {
    let (root, rows) = repositories();
    let mut evaluation = evaluation(&root, &rows);
    let whole = evaluate(&evaluation, &Watch::idle()).unwrap().0;
    let instances = evaluation.out.join("instances.jsonl");
    let all = fs::read_to_string(&instances).unwrap();
    assert!(
        matches!(evaluate(&evaluation, &Watch::idle()), Err(EvaluateError::Used(_))),
        "nothing is overwritten"
    );

    // Killed while the fifth record was being written.
    let fifth = all.match_indices('\n').nth(4).unwrap().0;
    fs::write(&instances, &all[..fifth - 20]).unwrap();
    evaluation.resume = true;
    let resumed = evaluate(&evaluation, &Watch::idle()).unwrap().0;
    assert_eq!(fs::read_to_string(&instances).unwrap().lines().count(), all.lines().count());
    assert_eq!(resumed.engines["lexical"].all.f1, whole.engines["lexical"].all.f1);

    fs::write(&instances, format!("{{\"engine\":\n{all}")).unwrap();
    let error = evaluate(&evaluation, &Watch::idle()).unwrap_err();
    assert!(
        matches!(error, EvaluateError::Run(RunError::Jsonl(JsonlError::Record { line: 1, .. }))),
        "{error}"
    );
    assert!(
        fs::read_to_string(&instances).unwrap().ends_with(&all),
        "a file that is not ours is left alone"
    );
}

#[test]
fn a_run_goes_on_with_its_own_experiment_only() {
    let (root, rows) = repositories();
    let first = Evaluation { resume: true, ..evaluation(&root, &rows) };
    evaluate(&first, &Watch::idle()).unwrap();
    let instances = first.out.join("instances.jsonl");
    let all = fs::read_to_string(&instances).unwrap();

    // Other engines and more jobs make no other experiment.
    let mut same = first.clone();
    same.plan = Plan { engines: vec![EngineKind::Lexical], jobs: 1, ..same.plan };
    evaluate(&same, &Watch::idle()).unwrap();

    let refused = |other: Evaluation, differing: &str| {
        let error = evaluate(&other, &Watch::idle()).unwrap_err();
        assert!(matches!(error, EvaluateError::Other { .. }), "{error}");
        assert!(error.to_string().contains(differing), "{error}");
        let mut records = fs::read_to_string(&instances).unwrap().lines().count();
        records -= all.lines().count();
        assert_eq!(records, 0, "nothing was asked");
    };
    let with = |change: fn(&mut Evaluation)| {
        let mut other = first.clone();
        change(&mut other);
        other
    };
    refused(with(|other| other.plan.seed = 2), "(seed was 1 and is 2)");
    refused(with(|other| other.plan.wrong = 1), "(wrong was 3 and is 1)");
    refused(with(|other| other.limit = Some(2)), "(limit was null and is 2)");
    refused(
        with(|other| other.plan.budget = Some(Duration::from_secs(9))),
        "(budget_ms was null and is 9000)",
    );
    refused(with(|other| other.split = Split::Open), "(split was \"all\" and is \"open\")");
    let fewer = evaluation(&root, &rows[..3]);
    refused(Evaluation { resume: true, ..fewer }, "(tasks_sha256 was ");

    evaluation(&root, &rows);
    fs::remove_file(first.out.join("experiment.json")).unwrap();
    refused(first.clone(), "it does not say how its records were made");
}

#[test]
fn a_missing_repository_is_recorded_and_the_others_are_measured() {
    let (root, mut rows) = repositories();
    rows[0]["repo"] = json!("team/gone");
    rows[2]["base_commit"] = json!("0123456789012345678901234567890123456789");
    let (summary, _) = evaluate(&evaluation(&root, &rows), &Watch::idle()).unwrap();
    let lexical = &summary.engines["lexical"].all;
    assert_eq!((lexical.tasks, lexical.errors), (4, 2));
    assert_eq!(lexical.f1.mean, 0.5, "an error scores 0 and stays in the mean");
}
