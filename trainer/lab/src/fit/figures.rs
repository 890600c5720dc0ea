//! How well files are found, in the measures of the evaluation.

use codegrep_rank::{Calibration, best_prefix};
use codegrep_score::{calibration, retrieval};
use serde::Serialize;

use super::model::Seen;

/// The most files an answer holds.
const MAX_FILES: usize = 3;
/// Bins of the reliability table.
const BINS: usize = 5;
/// Precision is also told where so many tasks get an answer.
const COVERAGE: f64 = 0.6;

/// Means over tasks.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Figures {
    pub tasks: usize,
    /// Of the list that is returned, before the gate.
    pub f1: f64,
    pub f05: f64,
    pub acc1: f64,
    pub acc3: f64,
    pub acc5: f64,
    pub acc10: f64,
    pub recall10: f64,
    /// Share of the gold files that are among the candidates at all.
    pub pool: f64,
    /// Of the first file's probability.
    pub ece: f64,
    pub brier: f64,
    pub brier_base_rate: f64,
    /// `(predicted, observed, tasks)`, equal mass.
    pub reliability: Vec<(f64, f64, usize)>,
    /// With the gate at its bar.
    pub precision: f64,
    pub coverage: f64,
    /// With the gate where 60 % of the tasks get an answer.
    pub precision_at_60: f64,
}

/// Measures a ranking at a bar.
pub fn figures(seen: &[&Seen<'_>], calibration: &Calibration, bar: f64) -> Figures {
    let mut sum = Figures { tasks: seen.len(), ..Figures::default() };
    let (mut first, mut lists) = (vec![], vec![]);
    for task in seen {
        let ranking = task.ranking(calibration);
        let paths: Vec<&str> = ranking.iter().map(|file| file.0).collect();
        let gold: Vec<&str> = task.task.gold.iter().map(String::as_str).collect();
        let list = returned(task, calibration);
        let scores = retrieval::set_scores(&paths[..list.len()], &gold);
        sum.f1 += scores.f1;
        sum.f05 += scores.f05;
        let hit = |k| f64::from(u8::from(retrieval::hit_at(&paths, &gold, k)));
        sum.acc1 += hit(1);
        sum.acc3 += hit(3);
        sum.acc5 += hit(5);
        sum.acc10 += hit(10);
        sum.recall10 += retrieval::recall_at(&paths, &gold, 10);
        sum.pool += retrieval::recall_at(&paths, &gold, paths.len());
        first.extend(list.first().copied());
        lists.push(list);
    }
    let count = seen.len().max(1) as f64;
    for mean in [
        &mut sum.f1,
        &mut sum.f05,
        &mut sum.acc1,
        &mut sum.acc3,
        &mut sum.acc5,
        &mut sum.acc10,
        &mut sum.recall10,
        &mut sum.pool,
    ] {
        *mean /= count;
    }
    sum.ece = calibration::expected_calibration_error(&first, BINS);
    sum.brier = calibration::brier(&first);
    sum.brier_base_rate = calibration::brier_of_base_rate(&first);
    let bins = calibration::reliability(&first, BINS);
    sum.reliability = bins.iter().map(|b| (b.predicted, b.observed, b.count)).collect();
    let curve = calibration::precision_coverage(&lists);
    if let Some(point) = curve.iter().find(|point| point.bar >= bar) {
        (sum.precision, sum.coverage) = (point.precision, point.coverage);
    }
    if let Some(point) = curve.iter().rev().find(|point| point.coverage >= COVERAGE) {
        sum.precision_at_60 = point.precision;
    }
    sum
}

/// The lowest bar, in hundredths, at which the files let through are right as often as `wanted`;
/// `wanted` itself when no bar is.
pub fn bar(seen: &[&Seen<'_>], calibration: &Calibration, wanted: f64) -> f64 {
    let lists: Vec<_> = seen.iter().map(|task| returned(task, calibration)).collect();
    (1..100)
        .map(|bar| f64::from(bar) / 100.0)
        .find(|bar| {
            let kept: Vec<bool> =
                lists.iter().flatten().filter(|file| file.0 >= *bar).map(|file| file.1).collect();
            let right = kept.iter().filter(|right| **right).count();
            !kept.is_empty() && right as f64 >= wanted * kept.len() as f64
        })
        .unwrap_or(wanted)
}

/// The list that an answer holds before the gate: `(probability, right)`.
fn returned(task: &Seen<'_>, calibration: &Calibration) -> Vec<(f64, bool)> {
    let ranking = task.ranking(calibration);
    let probabilities: Vec<f64> = ranking.iter().map(|file| file.2).collect();
    let length = best_prefix(&probabilities, MAX_FILES);
    ranking[..length].iter().map(|(path, _, p)| (*p, task.task.is_gold(path))).collect()
}
