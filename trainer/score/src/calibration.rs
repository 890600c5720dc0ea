//! How far probabilities can be trusted, and what a gate on them yields.

/// A bin of a reliability plot: means over the instances in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    pub predicted: f64,
    pub observed: f64,
    pub count: usize,
}

/// A point of the precision–coverage curve: with the gate at `bar`, `precision` is right files
/// over injected files, pooled, and `coverage` the share of tasks with an injection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    pub bar: f64,
    pub precision: f64,
    pub coverage: f64,
}

/// Equal-mass bins of `(probability, happened)`, lowest first; at most `bins`, none empty.
pub fn reliability(outcomes: &[(f64, bool)], bins: usize) -> Vec<Bin> {
    let mut sorted = outcomes.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = sorted.len();
    (0..bins)
        .map(|i| &sorted[i * n / bins..(i + 1) * n / bins])
        .filter(|bin| !bin.is_empty())
        .map(|bin| Bin {
            predicted: bin.iter().map(|x| x.0).sum::<f64>() / bin.len() as f64,
            observed: bin.iter().filter(|x| x.1).count() as f64 / bin.len() as f64,
            count: bin.len(),
        })
        .collect()
}

/// Expected calibration error: Σ count/n · |predicted − observed| over equal-mass bins.
pub fn expected_calibration_error(outcomes: &[(f64, bool)], bins: usize) -> f64 {
    reliability(outcomes, bins)
        .iter()
        .map(|bin| bin.count as f64 / outcomes.len() as f64 * (bin.predicted - bin.observed).abs())
        .sum()
}

/// Mean squared error of the probabilities (Brier 1950); 0 when empty.
pub fn brier(outcomes: &[(f64, bool)]) -> f64 {
    let sum = outcomes.iter().map(|&(p, hit)| (p - f64::from(u8::from(hit))).powi(2)).sum::<f64>();
    if outcomes.is_empty() { 0.0 } else { sum / outcomes.len() as f64 }
}

/// The Brier score of always answering the base rate: r·(1 − r).
pub fn brier_of_base_rate(outcomes: &[(f64, bool)]) -> f64 {
    if outcomes.is_empty() {
        return 0.0;
    }
    let rate = outcomes.iter().filter(|x| x.1).count() as f64 / outcomes.len() as f64;
    rate * (1.0 - rate)
}

/// Precision and coverage at every bar that changes them, lowest bar first. `tasks` holds each
/// task's returned files as `(probability, right)`.
pub fn precision_coverage(tasks: &[Vec<(f64, bool)>]) -> Vec<CurvePoint> {
    let mut bars = tasks.iter().flatten().map(|file| file.0).collect::<Vec<_>>();
    bars.sort_by(f64::total_cmp);
    bars.dedup();
    bars.into_iter()
        .map(|bar| {
            let injected = tasks.iter().flatten().filter(|file| file.0 >= bar);
            let (mut right, mut all) = (0usize, 0usize);
            injected.for_each(|file| {
                all += 1;
                right += usize::from(file.1);
            });
            let covered =
                tasks.iter().filter(|files| files.iter().any(|file| file.0 >= bar)).count();
            CurvePoint {
                bar,
                precision: right as f64 / all as f64,
                coverage: covered as f64 / tasks.len() as f64,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perfect_and_worst() {
        let perfect = [(0.0, false), (1.0, true)];
        assert_eq!((brier(&perfect), expected_calibration_error(&perfect, 5)), (0.0, 0.0));
        assert_eq!(brier(&[(1.0, false), (0.0, true)]), 1.0);
        assert_eq!(brier_of_base_rate(&perfect), 0.25);
    }

    #[test]
    fn bins_hold_equal_mass() {
        let outcomes = (0..10).map(|i| (f64::from(i) / 10.0, i >= 5)).collect::<Vec<_>>();
        let bins = reliability(&outcomes, 5);
        assert!(bins.iter().all(|bin| bin.count == 2));
        assert_eq!(bins[2], Bin { predicted: 0.45, observed: 0.5, count: 2 });
    }

    #[test]
    fn the_curve_by_hand() {
        let tasks = [vec![(0.9, true), (0.4, false)], vec![(0.6, false)], vec![]];
        let curve = precision_coverage(&tasks);
        let third = 1.0 / 3.0;
        assert_eq!(
            curve,
            [
                CurvePoint { bar: 0.4, precision: third, coverage: 2.0 * third },
                CurvePoint { bar: 0.6, precision: 0.5, coverage: 2.0 * third },
                CurvePoint { bar: 0.9, precision: 1.0, coverage: third },
            ]
        );
    }
}
