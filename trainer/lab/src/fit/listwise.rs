//! A linear model over lists: the softmax of the files compared for one task, as in ListNet's
//! top-one form (Cao et al. 2007).

use codegrep_tree::{Stop, Watch};
use rayon::prelude::*;

use super::gather::Gathered;
use super::newton::{Local, minimise};

/// Tasks summed by one thread at a time; the sums are added in order, so that the result does
/// not depend on the threads.
const CHUNK: usize = 32;

/// Minimises, summed over tasks, the mean over a task's gold files of −ln(softmax), plus
/// `l2`/2 · |(w − prior) · sd|² where `sd` is each feature's standard deviation. Features outside
/// `keep` get weight 0. Tasks without a gold file among the candidates say nothing.
pub fn fit(
    tasks: &[&Gathered],
    keep: &[bool],
    l2: f64,
    prior: &[f32],
    watch: &Watch,
) -> Result<Vec<f32>, Stop> {
    let tasks: Vec<&Gathered> = tasks.iter().copied().filter(|task| task.found() > 0).collect();
    let kept: Vec<usize> = (0..keep.len()).filter(|at| keep[*at]).collect();
    let sd = deviations(&tasks, &kept);
    let start: Vec<f64> = kept.iter().zip(&sd).map(|(at, sd)| f64::from(prior[*at]) * sd).collect();
    let solved = minimise(start.clone(), |x| {
        watch.check()?;
        let parts: Vec<Local> = tasks
            .par_chunks(CHUNK)
            .map(|tasks| {
                let mut local = Local::zero(kept.len());
                tasks.iter().for_each(|task| add(&mut local, task, &kept, &sd, x));
                local
            })
            .collect();
        let mut sum = Local::zero(kept.len());
        parts.iter().for_each(|part| sum.add(part));
        sum.pull(x, &start, |_| l2);
        Ok::<_, Stop>(sum)
    })?;
    let mut weights = vec![0.0; keep.len()];
    for ((at, sd), x) in kept.iter().zip(&sd).zip(solved) {
        weights[*at] = (x / sd) as f32;
    }
    Ok(weights)
}

/// Standard deviation of each kept feature over all candidates; 1 where it never varies.
fn deviations(tasks: &[&Gathered], kept: &[usize]) -> Vec<f64> {
    let rows = || tasks.iter().flat_map(|task| &task.candidates);
    let count = rows().count().max(1) as f64;
    kept.iter()
        .map(|&at| {
            let mean = rows().map(|row| f64::from(row.values[at])).sum::<f64>() / count;
            let variance =
                rows().map(|row| (f64::from(row.values[at]) - mean).powi(2)).sum::<f64>() / count;
            if variance > 1e-12 { variance.sqrt() } else { 1.0 }
        })
        .collect()
}

/// Adds one task's loss.
fn add(local: &mut Local, task: &Gathered, kept: &[usize], sd: &[f64], x: &[f64]) {
    let width = kept.len();
    // Most features of most files are 0: only the others are kept.
    let rows: Vec<Vec<(usize, f64)>> = task
        .candidates
        .iter()
        .map(|row| {
            let values = kept.iter().zip(sd).map(|(at, sd)| f64::from(row.values[*at]) / sd);
            values.enumerate().filter(|(_, value)| *value != 0.0).collect()
        })
        .collect();
    let scores: Vec<f64> =
        rows.iter().map(|row| row.iter().map(|(i, value)| x[*i] * value).sum()).collect();
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = scores.iter().map(|score| (score - most).exp()).sum();
    let target = 1.0 / task.found() as f64;
    let mut mean = vec![0.0; width];
    for ((row, score), candidate) in rows.iter().zip(&scores).zip(&task.candidates) {
        let p = (score - most).exp() / sum;
        let y = if task.is_gold(&candidate.path) { target } else { 0.0 };
        local.loss -= y * (score - most - sum.ln());
        for (at, &(i, value)) in row.iter().enumerate() {
            local.gradient[i] += (p - y) * value;
            mean[i] += p * value;
            for &(j, other) in &row[..=at] {
                local.hessian[i * width + j] += p * value * other;
            }
        }
    }
    for i in 0..width {
        for j in 0..=i {
            local.hessian[i * width + j] -= mean[i] * mean[j];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::gather::Row;

    fn task(values: &[f32], gold: &[usize]) -> Gathered {
        let candidates: Vec<Row> = values
            .iter()
            .enumerate()
            .map(|(at, value)| Row { path: at.to_string(), values: vec![*value, 1.0] })
            .collect();
        Gathered {
            gold: gold.iter().map(usize::to_string).collect(),
            candidates,
            ..Gathered::default()
        }
    }

    #[test]
    fn two_files_by_hand() {
        // Of four tasks with two files, the one that has the feature is right in three: the
        // softmax of w against 0 is 3/4 at w = ln 3. The constant second feature carries nothing.
        let tasks: Vec<_> =
            [0, 0, 0, 1].map(|gold| task(&[1.0, 0.0], &[gold])).into_iter().collect();
        let tasks: Vec<_> = tasks.iter().collect();
        let fitted = |keep, l2, prior| fit(&tasks, keep, l2, prior, &Watch::idle()).unwrap();
        let free = fitted(&[true, true], 1e-9, &[0.0, 0.0]);
        assert!((free[0] - 3.0f32.ln()).abs() < 1e-5 && free[1].abs() < 1e-6, "{free:?}");
        assert_eq!(fitted(&[false, true], 1e-9, &[5.0, 0.0])[0], 0.0);
        let held = fitted(&[true, true], 1e9, &[-2.0, 0.5]);
        assert!((held[0] + 2.0).abs() < 1e-5 && (held[1] - 0.5).abs() < 1e-5, "{held:?}");
    }

    #[test]
    fn the_penalty_is_on_standardised_weights() {
        let small: Vec<_> =
            [0, 0, 0, 1].map(|gold| task(&[1.0, 0.0], &[gold])).into_iter().collect();
        let large: Vec<_> =
            [0, 0, 0, 1].map(|gold| task(&[100.0, 0.0], &[gold])).into_iter().collect();
        let of = |tasks: &[Gathered]| {
            let tasks: Vec<_> = tasks.iter().collect();
            fit(&tasks, &[true, true], 3.0, &[0.0; 2], &Watch::idle()).unwrap()[0]
        };
        assert!((of(&small) - 100.0 * of(&large)).abs() < 1e-5, "the unit does not matter");
    }

    #[test]
    fn a_task_without_its_gold_says_nothing() {
        let tasks = [task(&[1.0, 0.0], &[7])];
        let fitted = fit(&[&tasks[0]], &[true, true], 1.0, &[0.0; 2], &Watch::idle()).unwrap();
        assert_eq!(fitted, [0.0, 0.0]);
    }
}
