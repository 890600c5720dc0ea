//! Isotonic regression by pooling adjacent violators (Ayer et al. 1955).

/// Knots `(score, probability)`, both rising, of the least-squares monotone map of
/// `(score, happened)` pairs. Each rests on at least `least` of them, so that none is the word of
/// a handful of cases.
pub fn fit(outcomes: &[(f64, bool)], least: usize) -> Vec<(f64, f64)> {
    let least = least.max(1);
    let mut sorted = outcomes.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut blocks: Vec<Block> = Vec::new();
    for chunk in sorted.chunks(least) {
        blocks.push(Block::of(chunk));
        while let [.., before, last] = blocks.as_mut_slice() {
            // A short last chunk is pooled too.
            if before.rate() < last.rate() && last.count >= least as f64 {
                break;
            }
            before.absorb(last);
            blocks.pop();
        }
    }
    let mut knots: Vec<(f64, f64)> = Vec::new();
    for block in blocks {
        let at = block.score / block.count;
        // Equal scores may fall into two blocks; one knot stands for them.
        if knots.last().is_none_or(|last| last.0 < at) {
            knots.push((at, block.rate()));
        }
    }
    knots
}

struct Block {
    score: f64,
    hits: f64,
    count: f64,
}

impl Block {
    fn of(chunk: &[(f64, bool)]) -> Self {
        Self {
            score: chunk.iter().map(|x| x.0).sum(),
            hits: chunk.iter().filter(|x| x.1).count() as f64,
            count: chunk.len() as f64,
        }
    }

    fn rate(&self) -> f64 {
        self.hits / self.count
    }

    fn absorb(&mut self, other: &Self) {
        self.score += other.score;
        self.hits += other.hits;
        self.count += other.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violators_are_pooled() {
        // scikit-learn's IsotonicRegression on y = [0, 1, 0, 1] gives [0, .5, .5, 1].
        let outcomes = [(1.0, false), (2.0, true), (3.0, false), (4.0, true)];
        assert_eq!(fit(&outcomes, 1), [(1.0, 0.0), (2.5, 0.5), (4.0, 1.0)]);
    }

    #[test]
    fn knots_rest_on_enough_cases() {
        let outcomes: Vec<_> = (0..95).map(|i| (f64::from(i), i >= 50)).collect();
        let knots = fit(&outcomes, 10);
        assert!(
            knots.len() <= 9 && knots.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1),
            "{knots:?}"
        );
        assert_eq!(fit(&[], 10), []);
        assert_eq!(fit(&[(1.0, false), (1.0, true)], 1), [(1.0, 0.0)], "equal scores, one knot");
    }
}
