//! File-level scores of one instance (papers/codegrep: §3.5 and Appendix B).

use std::collections::HashSet;
use std::hash::Hash;

/// Set scores of one prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetScores {
    pub precision: f64,
    pub recall: f64,
    pub f1: f64,
    pub f05: f64,
}

/// Precision, recall, F_1 and F_0.5 of a predicted set against the target. Duplicates count once.
/// Both empty: all 1; exactly one empty: all 0 (Appendix B).
pub fn set_scores<T: Eq + Hash>(predicted: &[T], target: &[T]) -> SetScores {
    let (predicted, target) =
        (predicted.iter().collect::<HashSet<_>>(), target.iter().collect::<HashSet<_>>());
    if predicted.is_empty() && target.is_empty() {
        return SetScores { precision: 1.0, recall: 1.0, f1: 1.0, f05: 1.0 };
    }
    if predicted.is_empty() || target.is_empty() {
        return SetScores { precision: 0.0, recall: 0.0, f1: 0.0, f05: 0.0 };
    }
    let hits = predicted.intersection(&target).count() as f64;
    let (precision, recall) = (hits / predicted.len() as f64, hits / target.len() as f64);
    SetScores {
        precision,
        recall,
        f1: f_beta(precision, recall, 1.0),
        f05: f_beta(precision, recall, 0.5),
    }
}

/// F_β = (1+β²)·P·R / (β²·P + R); 0 when both are 0.
pub fn f_beta(precision: f64, recall: f64, beta: f64) -> f64 {
    let b2 = beta * beta;
    let denominator = b2 * precision + recall;
    if denominator == 0.0 { 0.0 } else { (1.0 + b2) * precision * recall / denominator }
}

/// Whether any of the first `k` ranked files is a target: acc@k.
pub fn hit_at<T: Eq + Hash>(ranked: &[T], target: &[T], k: usize) -> bool {
    ranked.iter().take(k).any(|file| target.contains(file))
}

/// Share of the targets among the first `k` ranked files: recall@k. 0 without targets.
pub fn recall_at<T: Eq + Hash>(ranked: &[T], target: &[T], k: usize) -> f64 {
    let target = target.iter().collect::<HashSet<_>>();
    let found = ranked.iter().take(k).filter(|file| target.contains(file)).collect::<HashSet<_>>();
    if target.is_empty() { 0.0 } else { found.len() as f64 / target.len() as f64 }
}

/// 1 / rank of the first target, 0 when none is ranked. Its mean is the MRR.
pub fn reciprocal_rank<T: Eq + Hash>(ranked: &[T], target: &[T]) -> f64 {
    ranked.iter().position(|file| target.contains(file)).map_or(0.0, |at| 1.0 / (at + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appendix_b_edge_cases() {
        let none: [&str; 0] = [];
        assert_eq!(set_scores(&none, &none).f05, 1.0);
        assert_eq!(set_scores(&none, &["a"]).f05, 0.0);
        assert_eq!(set_scores(&["a"], &none).f05, 0.0);
        assert_eq!(
            set_scores(&["b"], &["a"]),
            SetScores { precision: 0.0, recall: 0.0, f1: 0.0, f05: 0.0 }
        );
    }

    #[test]
    fn hand_computed() {
        // P = 1/2, R = 1: F1 = 2/3, F0.5 = 1.25 * 0.5 / (0.125 + 1) = 5/9.
        let scores = set_scores(&["a", "b", "b"], &["a"]);
        assert_eq!((scores.precision, scores.recall), (0.5, 1.0));
        assert!((scores.f1 - 2.0 / 3.0).abs() < 1e-12);
        assert!((scores.f05 - 5.0 / 9.0).abs() < 1e-12);
    }

    #[test]
    fn ranks() {
        let (ranked, target) = (["x", "a", "y", "b"], ["a", "b"]);
        assert!(!hit_at(&ranked, &target, 1) && hit_at(&ranked, &target, 2));
        assert_eq!(recall_at(&ranked, &target, 3), 0.5);
        assert_eq!(reciprocal_rank(&ranked, &target), 0.5);
        assert_eq!(reciprocal_rank(&ranked, &["z"]), 0.0);
    }
}
