use super::files::of_counts;

/// Lines of a file, 1-based, both ends included. One whose end lies before its start holds none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange<'a> {
    pub file: &'a str,
    pub start: u32,
    pub end: u32,
}

impl LineRange<'_> {
    /// Whether it covers at least half of `gold` (Appendix B).
    fn covers(&self, gold: &LineRange<'_>) -> bool {
        if self.file != gold.file || gold.end < gold.start {
            return false;
        }
        let length = u64::from(gold.end) - u64::from(gold.start) + 1;
        let (start, end) = (self.start.max(gold.start), self.end.min(gold.end));
        end >= start && 2 * (u64::from(end) - u64::from(start) + 1) >= length
    }
}

/// Pairs of a predicted and a gold range: in the order of prediction, each takes the first gold
/// range still free that it covers (Appendix B).
pub fn matched<'a>(
    predicted: impl Iterator<Item = &'a LineRange<'a>>,
    gold: &[LineRange<'_>],
) -> (usize, usize) {
    let mut free = vec![true; gold.len()];
    let (mut pairs, mut count) = (0, 0);
    for range in predicted {
        count += 1;
        if let Some(at) = (0..gold.len()).find(|&at| free[at] && range.covers(&gold[at])) {
            free[at] = false;
            pairs += 1;
        }
    }
    (pairs, count)
}

/// F_β over matched ranges. Both empty: 1; exactly one empty: 0.
pub fn f_beta_lines<'a>(
    predicted: impl Iterator<Item = &'a LineRange<'a>>,
    gold: &[LineRange<'_>],
    beta: f64,
) -> f64 {
    let (pairs, count) = matched(predicted, gold);
    of_counts(pairs, count, gold.len(), beta)
}
