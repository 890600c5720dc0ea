//! Fits the lexical engine's weights: a listwise linear model over its features, boosted trees on
//! top of it, and the calibration of both on tasks of repositories that they were not fitted on.

mod boost;
mod figures;
mod gather;
mod isotonic;
mod listwise;
mod logistic;
mod model;
mod newton;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use codegrep_rank::{Features, Weights};
use codegrep_tree::Watch;

pub use boost::Growth;
pub use figures::Figures;
pub use gather::{Gathered, Row, gather, gathered};
pub use report::{Ablation, Report, markdown};

use model::{Seen, calibrate};

/// Tasks whose fix edits more files say little about which one a text is about.
pub const MOST_GOLD: usize = 6;
/// Fewer tasks than this teach nothing.
const FEWEST: usize = 20;

/// How to fit.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// Tasks are split in so many parts, by repository; each is judged by what the others taught.
    pub folds: usize,
    pub seed: u64,
    /// Penalty on standardised weights.
    pub l2: f64,
    pub growth: Growth,
    /// How many forests are grown and averaged; 0 for none.
    pub forests: usize,
    /// Weights to stay near instead of 0, where tasks are few. Their forest is kept.
    pub start_from: Option<Weights>,
    /// Share of the injected files that shall be right: sets the bar.
    pub precision: f64,
    /// Whether to measure what each group of features carries.
    pub ablation: bool,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            folds: 5,
            seed: 1,
            l2: 100.0,
            growth: Growth::default(),
            forests: 0,
            start_from: None,
            precision: 0.8,
            ablation: true,
        }
    }
}

/// Why nothing was fitted.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    #[error(transparent)]
    Jsonl(#[from] crate::jsonl::JsonlError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Stopped(#[from] codegrep_tree::Stop),
    #[error(transparent)]
    Tree(#[from] codegrep_tree::TreeError),
    #[error("cannot start the jobs: {0}")]
    Pool(#[from] rayon::ThreadPoolBuildError),
    #[error(
        "{file}: {task} was gathered with other features than this program has; \
         delete the file, or choose another --out"
    )]
    Stale { file: PathBuf, task: String },
    #[error(
        "{found} usable tasks; at least {FEWEST} are needed, each with a file of its fix among the candidates"
    )]
    TooFew { found: usize },
    #[error("the trees are not sound: {0}")]
    Unsound(String),
}

/// Fits weights on `tasks`. The bar is set on `bar_tasks`, or on the tasks out of fold where
/// there are none.
///
/// Deterministic: the same tasks in the same order give the same weights.
pub fn fit(
    tasks: &[Gathered],
    bar_tasks: &[Gathered],
    recipe: &Recipe,
    watch: &Watch,
) -> Result<(Weights, Report), FitError> {
    let start = Instant::now();
    let usable: Vec<&Gathered> =
        tasks.iter().filter(|task| (1..=MOST_GOLD).contains(&task.gold.len())).collect();
    let found = usable.iter().filter(|task| task.found() > 0).count();
    if found < FEWEST {
        return Err(FitError::TooFew { found });
    }
    let (fold_of, by_repository) = folds(&usable, recipe.folds.max(2));
    let folds = fold_of.iter().max().map_or(0, |most| most + 1);
    let mut seen: Vec<Seen<'_>> = vec![];
    for fold in 0..folds {
        let model = model::model(&others(&usable, &fold_of, fold), recipe, watch)?;
        let own = usable.iter().zip(&fold_of).filter(|(_, of)| **of == fold);
        seen.extend(own.map(|(task, _)| model.see(task, fold)));
    }
    let held = recipe.start_from.as_ref().map(|weights| &weights.calibration);
    let calibration = calibrate(&seen, held);

    let model = model::model(&usable, recipe, watch)?;
    let first = model::first(&usable, recipe, watch)?;
    let bar_seen: Vec<Seen<'_>> = bar_tasks.iter().map(|task| model.see(task, 0)).collect();
    let seen: Vec<&Seen<'_>> = seen.iter().collect();
    let bar_seen: Vec<&Seen<'_>> = bar_seen.iter().collect();
    let choosing = if bar_seen.is_empty() { &seen } else { &bar_seen };
    let bar = figures::bar(choosing, &calibration, recipe.precision);

    let mut report = Report {
        tasks: tasks.len(),
        usable: usable.len(),
        found,
        repositories: counted(usable.iter().map(|task| task.repo.as_str())),
        languages: counted(usable.iter().map(|task| task.language.as_str())),
        folds,
        by_repository,
        recipe: report::recipe(recipe),
        out_of_fold: figures::figures(&seen, &calibration, bar),
        bar_tasks: (!bar_seen.is_empty()).then(|| figures::figures(&bar_seen, &calibration, bar)),
        before: before(&usable, &recipe.start_from.clone().unwrap_or_else(Weights::built_in)),
        bar,
        weights: report::weights(&usable, &first, &model.second),
        forest: model.forest.as_ref().map_or(vec![], report::forest),
        ablation: vec![],
        milliseconds: 0,
    };
    if recipe.ablation {
        report.ablation = ablation(&usable, &fold_of, recipe, watch)?;
    }
    let weights = Weights {
        version: Weights::VERSION,
        provenance: report.provenance(),
        bar,
        first,
        second: model.second,
        forest: model.forest,
        calibration,
    };
    report.milliseconds = start.elapsed().as_millis() as u64;
    Ok((weights, report))
}

/// What weights that were not fitted here reach on the same tasks.
fn before(tasks: &[&Gathered], weights: &Weights) -> Figures {
    let model = model::Model { second: weights.second.clone(), forest: weights.forest.clone() };
    let seen: Vec<Seen<'_>> = tasks.iter().map(|task| model.see(task, 0)).collect();
    figures::figures(&seen.iter().collect::<Vec<_>>(), &weights.calibration, weights.bar)
}

/// How much worse the linear model is without each group of features. A group is what its names
/// begin with, up to the first `_`.
fn ablation(
    tasks: &[&Gathered],
    fold_of: &[usize],
    recipe: &Recipe,
    watch: &Watch,
) -> Result<Vec<Ablation>, FitError> {
    let group = |name: &'static str| name.split('_').next().unwrap_or(name);
    let groups: BTreeSet<&str> = Features::NAMES.iter().map(|name| group(name)).collect();
    let folds = fold_of.iter().max().map_or(0, |most| most + 1);
    let prior = recipe.start_from.as_ref().map(|weights| &weights.second);
    let without = |dropped: Option<&str>| {
        let keep: Vec<bool> =
            Features::NAMES.iter().map(|name| Some(group(name)) != dropped).collect();
        let mut seen = vec![];
        for fold in 0..folds {
            let train = others(tasks, fold_of, fold);
            let second = model::linear(&train, &keep, prior, recipe, watch)?;
            let model = model::Model { second, forest: None };
            let own = tasks.iter().zip(fold_of).filter(|(_, of)| **of == fold);
            seen.extend(own.map(|(task, _)| model.see(task, fold)));
        }
        let calibration = calibrate(&seen, None);
        Ok::<_, FitError>(figures::figures(&seen.iter().collect::<Vec<_>>(), &calibration, 0.0))
    };
    let all = without(None)?;
    let bar = crate::progress(groups.len());
    let mut rows = vec![];
    for dropped in groups {
        bar.set_message(format!("without {dropped}"));
        let figures = without(Some(dropped))?;
        rows.push(Ablation {
            group: dropped.to_owned(),
            f1: figures.f1 - all.f1,
            acc1: figures.acc1 - all.acc1,
            precision_at_60: figures.precision_at_60 - all.precision_at_60,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    rows.sort_by(|a, b| a.f1.total_cmp(&b.f1));
    Ok(rows)
}

fn others<'a>(tasks: &[&'a Gathered], fold_of: &[usize], fold: usize) -> Vec<&'a Gathered> {
    tasks.iter().zip(fold_of).filter(|(_, of)| **of != fold).map(|(task, _)| *task).collect()
}

/// The fold of each task, all tasks of a repository in one: the largest repositories first, each
/// to the fold with the fewest tasks. With fewer repositories than folds, tasks are split in runs
/// of neighbours instead, and the second value is false.
fn folds(tasks: &[&Gathered], folds: usize) -> (Vec<usize>, bool) {
    let counts = counted(tasks.iter().map(|task| task.repo.as_str()));
    if counts.len() < folds {
        let fold = |at: usize| at * folds / tasks.len().max(1);
        return ((0..tasks.len()).map(fold).collect(), false);
    }
    let mut order: Vec<(&String, &usize)> = counts.iter().collect();
    order.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let mut sizes = vec![0; folds];
    let mut of = BTreeMap::new();
    for (repo, count) in order {
        let smallest = (0..folds).min_by_key(|fold| sizes[*fold]).unwrap_or(0);
        sizes[smallest] += count;
        of.insert(repo.as_str(), smallest);
    }
    (tasks.iter().map(|task| of[task.repo.as_str()]).collect(), true)
}

fn counted<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    names.for_each(|name| *counts.entry(name.to_owned()).or_default() += 1);
    counts
}

#[cfg(test)]
mod tests;
