//! The ranker's two halves fitted on some tasks, and what they say about others.

use codegrep_rank::{Calibration, Features, Forest, Linear, SECOND_ONLY, Standing, columns};
use codegrep_tree::Watch;

use super::boost::{self, Rows};
use super::gather::Gathered;
use super::{FitError, Recipe, isotonic, listwise, logistic};

/// Files of each task that calibration looks at: the others are never shown.
const SHOWN: usize = 20;
/// Almost no penalty: four numbers from thousands of files.
const CALIBRATION_L2: f64 = 0.01;
/// With weights to start from, so much keeps the calibration near theirs.
const CALIBRATION_HOLD: f64 = 3.0;
/// Files that one knot of a monotone map rests on.
const KNOT: usize = 100;
/// A monotone map stays only when it makes the squared error of first files so much smaller.
const KNOTS_PAY: f64 = 0.002;

/// What orders the candidates.
pub struct Model {
    pub second: Linear,
    pub forest: Option<Forest>,
}

/// A task as a model sees it.
pub struct Seen<'a> {
    pub task: &'a Gathered,
    pub fold: usize,
    /// In order of its candidates: the standing, and the forest's log-odds.
    pub files: Vec<(Standing, f64)>,
}

/// The first model, which knows nothing of what reading the candidates tells.
pub fn first(tasks: &[&Gathered], recipe: &Recipe, watch: &Watch) -> Result<Linear, FitError> {
    let keep: Vec<bool> = Features::NAMES.iter().map(|name| !SECOND_ONLY.contains(name)).collect();
    let prior = recipe.start_from.as_ref().map(|weights| &weights.first);
    linear(tasks, &keep, prior, recipe, watch)
}

/// Fits the linear model and grows trees on top of it; with weights to start from, their trees
/// are kept.
pub fn model(tasks: &[&Gathered], recipe: &Recipe, watch: &Watch) -> Result<Model, FitError> {
    let keep = vec![true; Features::NAMES.len()];
    let prior = recipe.start_from.as_ref().map(|weights| &weights.second);
    let second = linear(tasks, &keep, prior, recipe, watch)?;
    let forest = match &recipe.start_from {
        Some(weights) => weights.forest.clone(),
        None if recipe.forests == 0 => None,
        None => Some(forest(tasks, &second, recipe, watch)?),
    };
    Ok(Model { second, forest })
}

/// A listwise linear model on the features of `keep`.
pub fn linear(
    tasks: &[&Gathered],
    keep: &[bool],
    prior: Option<&Linear>,
    recipe: &Recipe,
    watch: &Watch,
) -> Result<Linear, FitError> {
    let none = Linear::new(vec![]);
    let prior = prior.unwrap_or(&none).weights();
    let weights = listwise::fit(tasks, keep, recipe.l2, prior, watch)?;
    // Four digits are what is known of them, and read better in a file.
    let rounded = |weight: f32| format!("{weight:.3e}").parse().unwrap_or(weight);
    Ok(Linear::new(weights.into_iter().map(rounded).collect()))
}

/// The mean of several forests, each from its own seed.
fn forest(
    tasks: &[&Gathered],
    second: &Linear,
    recipe: &Recipe,
    watch: &Watch,
) -> Result<Forest, FitError> {
    let mut rows = Rows { width: columns().count(), ..Rows::default() };
    for task in tasks {
        for (candidate, standing) in task.candidates.iter().zip(second.standings(&task.candidates))
        {
            rows.values.extend(standing.row);
            rows.labels.push(task.is_gold(&candidate.path));
            rows.weights.push(1.0);
        }
    }
    let (mut base, mut trees) = (0.0, vec![]);
    for at in 0..recipe.forests {
        let seed = recipe.seed.wrapping_add(at as u64);
        let grown = boost::grow(&rows, &boost::Growth { seed, ..recipe.growth }, watch)?;
        base = grown.base;
        trees.extend(grown.trees);
    }
    for tree in &mut trees {
        for (output, left) in tree.threshold.iter_mut().zip(&tree.left) {
            if *left == 0 {
                *output /= recipe.forests as f32;
            }
        }
    }
    Forest::new(base, trees).map_err(FitError::Unsound)
}

impl Model {
    pub fn see<'a>(&self, task: &'a Gathered, fold: usize) -> Seen<'a> {
        let standings = self.second.standings(&task.candidates);
        let files = standings.into_iter().map(|file| {
            let trees = self.forest.as_ref().map_or(0.0, |f| f64::from(f.predict(&file.row)));
            (file, trees)
        });
        Seen { task, fold, files: files.collect() }
    }
}

impl Seen<'_> {
    /// `(path, log-odds, probability)`, best first.
    pub fn ranking(&self, calibration: &Calibration) -> Vec<(&str, f64, f64)> {
        let mut ranking: Vec<_> = self
            .task
            .candidates
            .iter()
            .zip(&self.files)
            .map(|(row, (file, trees))| {
                let odds = calibration.log_odds(file, *trees);
                (row.path.as_str(), odds, calibration.probability(odds))
            })
            .collect();
        ranking.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranking
    }
}

/// Fits the calibration on tasks seen by models that were not fitted on them. Whether a monotone
/// map is added is decided on folds that it was not fitted on.
pub fn calibrate(seen: &[Seen<'_>], held: Option<&Calibration>) -> Calibration {
    let mut rows = vec![];
    for task in seen {
        let mut files: Vec<_> = task.task.candidates.iter().zip(&task.files).collect();
        files.sort_by(|(_, a), (_, b)| b.0.score.total_cmp(&a.0.score));
        for (row, (file, trees)) in files.into_iter().take(SHOWN) {
            let values = [file.score, file.lead, file.share, *trees];
            rows.push((values, task.task.is_gold(&row.path)));
        }
    }
    let prior = held.map(|c| [c.bias, c.score, c.lead, c.share, c.forest]);
    let l2 = if held.is_some() { CALIBRATION_HOLD } else { CALIBRATION_L2 };
    let fitted = logistic::fit(&rows, l2, prior.as_ref().map(|prior| prior.as_slice()));
    let rounded: Vec<f64> =
        fitted.iter().map(|x| format!("{x:.4e}").parse().unwrap_or(*x)).collect();
    let [bias, score, lead, share, forest] = rounded[..] else { return Calibration::default() };
    let platt = Calibration { bias, score, lead, share, forest, knots: vec![] };
    // From few tasks, a map would learn their accidents.
    let folds = seen.iter().map(|task| task.fold + 1).max().unwrap_or(0);
    if held.is_some() || folds < 2 {
        return platt;
    }
    let mut errors = [0.0, 0.0];
    for fold in 0..folds {
        let others = seen.iter().filter(|task| task.fold != fold);
        let mapped = Calibration { knots: knots(others, &platt), ..platt.clone() };
        for task in seen.iter().filter(|task| task.fold == fold) {
            for (calibration, error) in [&platt, &mapped].into_iter().zip(&mut errors) {
                if let Some((path, _, p)) = task.ranking(calibration).first() {
                    *error += (p - f64::from(u8::from(task.task.is_gold(path)))).powi(2);
                }
            }
        }
    }
    if errors[0] - errors[1] < KNOTS_PAY * seen.len() as f64 {
        return platt;
    }
    Calibration { knots: knots(seen.iter(), &platt), ..platt }
}

fn knots<'a>(seen: impl Iterator<Item = &'a Seen<'a>>, platt: &Calibration) -> Vec<(f64, f64)> {
    let outcomes: Vec<(f64, bool)> = seen
        .flat_map(|task| {
            let shown = task.ranking(platt).into_iter().take(SHOWN);
            shown.map(|(path, odds, _)| (odds, task.task.is_gold(path))).collect::<Vec<_>>()
        })
        .collect();
    let knots = isotonic::fit(&outcomes, KNOT);
    // Nothing is certain.
    knots.into_iter().map(|(odds, p)| (odds, p.clamp(0.001, 0.99))).collect()
}
