use std::collections::HashSet;

use crate::retrieval::f_beta;

/// Above so many, looking through a list is slower than hashing.
const FEW: usize = 32;

/// F_β of two sets; duplicates count once. Both empty: 1; exactly one empty: 0 (Appendix B).
pub fn f_beta_sets<'a>(
    predicted: impl Iterator<Item = &'a str>,
    target: impl Iterator<Item = &'a str>,
    beta: f64,
) -> f64 {
    let (predicted, target) = (distinct(predicted), distinct(target));
    let hits = if target.len() <= FEW {
        predicted.iter().filter(|item| target.contains(item)).count()
    } else {
        let target = target.iter().collect::<HashSet<_>>();
        predicted.iter().filter(|item| target.contains(item)).count()
    };
    of_counts(hits, predicted.len(), target.len(), beta)
}

/// F_β from how many were right, answered and wanted.
pub(super) fn of_counts(hits: usize, predicted: usize, target: usize, beta: f64) -> f64 {
    match (predicted, target) {
        (0, 0) => 1.0,
        (0, _) | (_, 0) => 0.0,
        _ => f_beta(hits as f64 / predicted as f64, hits as f64 / target as f64, beta),
    }
}

fn distinct<'a>(items: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut items = items.collect::<Vec<_>>();
    if items.len() <= FEW {
        let mut at = 0;
        while at < items.len() {
            if items[..at].contains(&items[at]) {
                items.swap_remove(at);
            } else {
                at += 1;
            }
        }
    } else {
        items.sort_unstable();
        items.dedup();
    }
    items
}
