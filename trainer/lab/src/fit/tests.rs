use super::*;
use codegrep_score::stats::SplitMix;

/// Tasks of 10 files in `repositories` repositories. The first feature is high for the right file
/// in nine of ten; the others are noise.
fn tasks(count: usize, repositories: usize) -> Vec<Gathered> {
    let mut random = SplitMix(11);
    let task = |at: usize| {
        let mut noise = || random.below(1000) as f32 / 1000.0;
        let candidates = (0..10).map(|file| {
            let mut values: Vec<f32> = Features::NAMES.iter().map(|_| noise()).collect();
            values[0] = if file == 3 && !at.is_multiple_of(10) { 1.0 } else { values[0] * 0.8 };
            Row { path: format!("{file}.py"), values }
        });
        Gathered {
            instance_id: format!("t-{at}"),
            repo: format!("o/r{}", at % repositories),
            language: "python".into(),
            gold: vec!["3.py".into()],
            candidates: candidates.collect(),
            ..Gathered::default()
        }
    };
    (0..count).map(task).collect()
}

fn small() -> Recipe {
    let growth = Growth { trees: 20, ..Growth::default() };
    Recipe { growth, forests: 2, l2: 1.0, ablation: false, ..Recipe::default() }
}

#[test]
fn repositories_stay_together_and_folds_are_even() {
    let all = tasks(70, 7);
    let all: Vec<&Gathered> = all.iter().collect();
    let (fold_of, by_repository) = folds(&all, 3);
    assert!(by_repository);
    for (a, fold) in all.iter().zip(&fold_of) {
        for (b, other) in all.iter().zip(&fold_of) {
            assert!(a.repo != b.repo || fold == other);
        }
    }
    let sizes = counted(fold_of.iter().map(|fold| ["a", "b", "c"][*fold]));
    assert_eq!(sizes.into_values().collect::<Vec<_>>(), [30, 20, 20]);
    let (fold_of, by_repository) = folds(&all[..6], 9);
    assert!(!by_repository && fold_of.is_sorted());
}

#[test]
fn what_is_learned_holds_for_repositories_not_seen() {
    let all = tasks(200, 10);
    let (weights, report) = fit(&all, &[], &small(), &Watch::idle()).unwrap();
    let reached = &report.out_of_fold;
    assert_eq!((reached.tasks, report.folds, report.by_repository), (200, 5, true));
    assert!(reached.acc1 > 0.8, "{reached:?}");
    assert!(reached.ece < 0.1 && reached.brier < reached.brier_base_rate + 0.01, "{reached:?}");
    assert!(reached.precision >= 0.8, "{reached:?}");
    assert_eq!(report.weights[0].0, Features::NAMES[0], "it moves scores most");
    let judged = Weights::parse(&weights.to_json().unwrap()).unwrap().judge(&all[1].candidates);
    let best = (0..10).max_by(|a, b| judged[*a].score.total_cmp(&judged[*b].score));
    assert_eq!(best, Some(3));
    assert!(weights.first.weights()[0] > 0.0);
    let (again, _) = fit(&all, &[], &small(), &Watch::idle()).unwrap();
    assert_eq!(weights, again, "the same tasks give the same weights");
}

#[test]
fn few_tasks_stay_near_the_weights_they_start_from() {
    let all = tasks(30, 1);
    let start_from = Some(Weights::built_in());
    let recipe = Recipe { start_from, l2: 1e7, ..small() };
    let (weights, report) = fit(&all, &[], &recipe, &Watch::idle()).unwrap();
    assert!(!report.by_repository);
    let off = weights.second.weights().iter().zip(Weights::built_in().second.weights().to_vec());
    assert!(off.into_iter().all(|(a, b)| (a - b).abs() < 0.01));
    assert_eq!(weights.forest, Weights::built_in().forest);
}

#[test]
fn ablation_tells_what_carries() {
    let all = tasks(60, 6);
    let recipe = Recipe { forests: 0, ablation: true, ..small() };
    let (_, report) = fit(&all, &[], &recipe, &Watch::idle()).unwrap();
    let first = Features::NAMES[0].split('_').next().unwrap();
    assert_eq!(report.ablation[0].group, first);
    assert!(report.ablation[0].f1 < -0.3, "{:?}", report.ablation[0]);
    let page = markdown(&report);
    assert!(page.contains("## What carries how much") && page.contains("| o/r0 | 10 |"), "{page}");
}

#[test]
fn too_little_is_refused() {
    let all = tasks(10, 2);
    let error = fit(&all, &[], &small(), &Watch::idle()).unwrap_err().to_string();
    assert!(error.starts_with("10 usable tasks; at least 20"), "{error}");
}

#[test]
fn features_of_another_program_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("features.jsonl");
    let task = Gathered { features: vec!["aura".into()], ..tasks(1, 1).remove(0) };
    crate::jsonl::rewrite(&file, &[task]).unwrap();
    let error = gathered(&file).unwrap_err().to_string();
    assert!(error.contains("t-0 was gathered with other features"), "{error}");
}

#[test]
fn features_are_gathered_once_and_mined_commits_can_be_asked() {
    use codegrep_tree::fixture::Fixture;
    let repo =
        Fixture::new("//- /shop/cart.py\nclass Cart:\n    total = 0\n//- /shop/tax.py\nrate = 1\n");
    repo.commit("Start");
    for (round, path) in ["shop/cart.py", "shop/tax.py", "shop/cart.py"].iter().enumerate() {
        repo.write(path, format!("class Cart:\n    total = {round}\n    rate = {round}\n"));
        repo.commit("Compute total and rate of a Cart anew");
    }
    let mined = crate::mine::mine(repo.path(), 2, &Watch::idle()).unwrap();
    let gold: Vec<_> = mined.iter().flat_map(|task| &task.gold_files).collect();
    assert_eq!(gold, ["shop/cart.py", "shop/tax.py"], "newest first");

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("features.jsonl");
    let place = |_: &crate::tasks::Task| repo.path().to_owned();
    let missing = crate::tasks::Task {
        base_commit: "0".repeat(40),
        instance_id: "gone".into(),
        ..mined[0].clone()
    };
    let asked = [mined[0].clone(), missing, mined[1].clone()];
    let (first, failed) = gather(&asked, place, &file, 1, &Watch::idle()).unwrap();
    assert_eq!(first.iter().map(Gathered::found).collect::<Vec<_>>(), [1, 1]);
    assert!(failed.len() == 1 && failed[0].starts_with("gone: "), "{failed:?}");
    let nowhere = |_: &crate::tasks::Task| dir.path().join("nowhere");
    let (again, failed) = gather(&mined, nowhere, &file, 1, &Watch::idle()).unwrap();
    assert_eq!((again, failed), (first, vec![]), "nothing is read twice");
}
