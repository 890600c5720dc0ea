use serde::{Deserialize, Serialize};

use crate::weights::Standing;

/// From a file's scores to the probability that the fix edits it.
///
/// Platt scaling (Platt 1999) over the [`Standing`] that the linear model gives and the forest's
/// log-odds; then, where it was found to help, a monotone map.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    pub bias: f64,
    pub score: f64,
    pub lead: f64,
    #[serde(default)]
    pub share: f64,
    /// 0 without a forest.
    #[serde(default)]
    pub forest: f64,
    /// `(log-odds, probability)`, both rising; linear between, flat beyond. Without any, the
    /// logistic function.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knots: Vec<(f64, f64)>,
}

impl Calibration {
    /// What files are ordered by.
    pub fn log_odds(&self, file: &Standing, forest: f64) -> f64 {
        self.bias
            + self.score * file.score
            + self.lead * file.lead
            + self.share * file.share
            + self.forest * forest
    }

    /// The probability of what [`Calibration::log_odds`] gave.
    pub fn probability(&self, log_odds: f64) -> f64 {
        let above = self.knots.partition_point(|knot| knot.0 <= log_odds);
        let below = above.checked_sub(1).map(|at| self.knots[at]);
        match (below, self.knots.get(above)) {
            (None, None) => 1.0 / (1.0 + (-log_odds).exp()),
            (None, Some(&(_, p))) | (Some((_, p)), None) => p,
            (Some((x0, p0)), Some(&(x1, p1))) => p0 + (p1 - p0) * (log_odds - x0) / (x1 - x0),
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let numbers = [self.bias, self.score, self.lead, self.share, self.forest];
        let finite = numbers.iter().all(|x| x.is_finite());
        let rising = self.knots.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1);
        let probable = |knot: &(f64, f64)| knot.0.is_finite() && (0.0..=1.0).contains(&knot.1);
        if finite && rising && self.knots.iter().all(probable) {
            return Ok(());
        }
        Err("calibration: its numbers must be finite, its knots rise, from 0 to 1".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logistic_without_knots_and_linear_between_them() {
        let platt = Calibration {
            bias: -1.0,
            score: 2.0,
            lead: 1.0,
            share: 0.25,
            forest: 0.5,
            knots: vec![],
        };
        let file = Standing { score: 1.0, lead: -2.0, share: -4.0, row: vec![] };
        assert_eq!(platt.log_odds(&file, 4.0), 0.0);
        assert_eq!(platt.probability(0.0), 0.5);
        let knots = Calibration { knots: vec![(-1.0, 0.25), (1.0, 0.75)], ..platt.clone() };
        let at = [-9.0, -1.0, 0.0, 1.0, 9.0].map(|x| knots.probability(x));
        assert_eq!(at, [0.25, 0.25, 0.5, 0.75, 0.75]);
        assert!(knots.check().is_ok());
        for bad in [vec![(0.0, 0.5), (0.0, 0.6)], vec![(0.0, 0.5), (1.0, 0.4)], vec![(0.0, 1.5)]] {
            assert!(Calibration { knots: bad, ..platt.clone() }.check().is_err());
        }
    }
}
