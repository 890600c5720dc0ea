//! Gradient boosting of regression trees on the logistic loss (Friedman 2001), leaf by leaf over
//! histograms, with second-order leaf values as in XGBoost (Chen & Guestrin 2016, eq. 5–7).

use codegrep_rank::Tree;
use codegrep_score::stats::SplitMix;
use rayon::prelude::*;

/// Rows of features with a 0/1 label and a weight each.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Features a row.
    pub width: usize,
    /// Row-major, `width` values a row, all finite.
    pub values: Vec<f32>,
    pub labels: Vec<bool>,
    pub weights: Vec<f32>,
}

impl Rows {
    fn len(&self) -> usize {
        self.labels.len()
    }

    fn row(&self, at: usize) -> &[f32] {
        &self.values[at * self.width..(at + 1) * self.width]
    }
}

/// Trees whose features are numbered as the rows'.
#[derive(Debug, Clone, PartialEq)]
pub struct Grown {
    /// Log-odds before any tree.
    pub base: f32,
    pub trees: Vec<Tree>,
}

/// How to grow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    pub trees: usize,
    pub leaves: usize,
    pub rate: f32,
    /// Least sum of hessians in a leaf.
    pub min_hessian: f32,
    pub l2: f32,
    /// Share of rows and of features that each tree sees.
    pub row_share: f32,
    pub feature_share: f32,
    pub seed: u64,
}

impl Default for Growth {
    fn default() -> Self {
        Self {
            trees: 150,
            leaves: 8,
            rate: 0.05,
            min_hessian: 2.0,
            l2: 5.0,
            row_share: 0.8,
            feature_share: 0.3,
            seed: 1,
        }
    }
}

const BINS: usize = 64;

/// Grows a forest whose sum is the log-odds of the label.
pub fn grow(
    rows: &Rows,
    growth: &Growth,
    watch: &codegrep_tree::Watch,
) -> Result<Grown, codegrep_tree::Stop> {
    let binned = Binned::new(rows);
    let positive = weighted(rows, |label| label).max(1e-6);
    let negative = weighted(rows, |label| !label).max(1e-6);
    let mut forest = Grown { base: (positive / negative).ln() as f32, trees: Vec::new() };
    let mut scores = vec![forest.base; rows.len()];
    let mut random = SplitMix(growth.seed);
    for _ in 0..growth.trees {
        watch.check()?;
        let gradients = (0..rows.len())
            .map(|at| {
                let p = 1.0 / (1.0 + (-scores[at]).exp());
                let label = f32::from(u8::from(rows.labels[at]));
                let weight = rows.weights[at];
                (weight * (p - label), weight * (p * (1.0 - p)).max(1e-6))
            })
            .collect::<Vec<_>>();
        let sample = (0..rows.len() as u32)
            .filter(|_| (random.draw() >> 40) as f32 / (1u64 << 24) as f32 <= growth.row_share)
            .collect::<Vec<_>>();
        let mut features = (0..rows.width).collect::<Vec<_>>();
        random.shuffle(&mut features);
        features.truncate(((rows.width as f32 * growth.feature_share).ceil() as usize).max(1));
        let tree = grow_tree(&binned, &gradients, sample, &features, growth);
        scores
            .par_iter_mut()
            .enumerate()
            .for_each(|(at, score)| *score += tree.predict(|feature| rows.row(at)[feature]));
        forest.trees.push(tree);
    }
    Ok(forest)
}

fn weighted(rows: &Rows, keep: impl Fn(bool) -> bool) -> f64 {
    rows.labels
        .iter()
        .zip(&rows.weights)
        .filter(|(l, _)| keep(**l))
        .map(|(_, w)| f64::from(*w))
        .sum()
}

/// Every feature cut at quantiles: `codes` is feature-major.
struct Binned {
    codes: Vec<Vec<u8>>,
    /// The lower edge of every bin but the first.
    edges: Vec<Vec<f32>>,
}

impl Binned {
    fn new(rows: &Rows) -> Self {
        let columns = (0..rows.width).into_par_iter().map(|feature| {
            let column = (0..rows.len()).map(|at| rows.row(at)[feature]).collect::<Vec<_>>();
            let mut sorted = column.clone();
            sorted.sort_by(f32::total_cmp);
            let mut edges = (1..BINS).map(|i| sorted[i * sorted.len() / BINS]).collect::<Vec<_>>();
            // Rare values of a feature that is mostly 0 fall between quantiles; keep one edge there.
            edges.extend(sorted.iter().copied().find(|x| *x > sorted[0]));
            edges.sort_by(f32::total_cmp);
            edges.dedup();
            edges.retain(|edge| *edge > sorted[0]);
            let codes =
                column.iter().map(|x| edges.partition_point(|edge| edge <= x) as u8).collect();
            (codes, edges)
        });
        let (codes, edges) = columns.collect::<Vec<_>>().into_iter().unzip();
        Self { codes, edges }
    }
}

/// A leaf that may still be split.
struct Leaf {
    node: usize,
    rows: Vec<u32>,
    best: Option<Split>,
}

#[derive(Clone, Copy)]
struct Split {
    gain: f32,
    feature: usize,
    /// Rows with a code above this go right.
    code: u8,
}

fn grow_tree(
    binned: &Binned,
    gradients: &[(f32, f32)],
    sample: Vec<u32>,
    features: &[usize],
    growth: &Growth,
) -> Tree {
    let mut tree = Tree::default();
    let push = |tree: &mut Tree, rows: Vec<u32>| {
        let (g, h) = sums(&rows, gradients);
        tree.feature.push(0);
        tree.threshold.push((-g / (h + f64::from(growth.l2))) as f32 * growth.rate);
        tree.left.push(0);
        let best = best_split(binned, gradients, &rows, features, growth);
        Leaf { node: tree.left.len() - 1, rows, best }
    };
    let mut leaves = vec![push(&mut tree, sample)];
    while leaves.len() < growth.leaves {
        let gain = |leaf: &Leaf| leaf.best.map_or(0.0, |split| split.gain);
        let Some(at) =
            (0..leaves.len()).max_by(|a, b| gain(&leaves[*a]).total_cmp(&gain(&leaves[*b])))
        else {
            break;
        };
        let Some(split) = leaves[at].best else { break };
        let leaf = leaves.swap_remove(at);
        let codes = &binned.codes[split.feature];
        let (right, left) =
            leaf.rows.into_iter().partition(|row| codes[*row as usize] > split.code);
        tree.feature[leaf.node] = split.feature as u16;
        tree.threshold[leaf.node] = binned.edges[split.feature][usize::from(split.code)];
        tree.left[leaf.node] = tree.left.len() as u16;
        let children = [push(&mut tree, left), push(&mut tree, right)];
        leaves.extend(children);
    }
    tree
}

fn sums(rows: &[u32], gradients: &[(f32, f32)]) -> (f64, f64) {
    rows.iter().fold((0.0, 0.0), |(g, h), row| {
        let (dg, dh) = gradients[*row as usize];
        (g + f64::from(dg), h + f64::from(dh))
    })
}

fn best_split(
    binned: &Binned,
    gradients: &[(f32, f32)],
    rows: &[u32],
    features: &[usize],
    growth: &Growth,
) -> Option<Split> {
    let (all_g, all_h) = sums(rows, gradients);
    let l2 = f64::from(growth.l2);
    let worth = |g: f64, h: f64| g * g / (h + l2);
    features
        .par_iter()
        .filter_map(|&feature| {
            let mut histogram = [(0.0f64, 0.0f64); BINS + 1];
            let codes = &binned.codes[feature];
            for row in rows {
                let (g, h) = gradients[*row as usize];
                let bin = &mut histogram[usize::from(codes[*row as usize])];
                bin.0 += f64::from(g);
                bin.1 += f64::from(h);
            }
            let (mut g, mut h) = (0.0, 0.0);
            let mut best: Option<Split> = None;
            for (code, bin) in histogram[..binned.edges[feature].len()].iter().enumerate() {
                g += bin.0;
                h += bin.1;
                if h.min(all_h - h) < f64::from(growth.min_hessian) {
                    continue;
                }
                let gain = (worth(g, h) + worth(all_g - g, all_h - h) - worth(all_g, all_h)) as f32;
                if gain > best.map_or(1e-3, |best| best.gain) {
                    best = Some(Split { gain, feature, code: code as u8 });
                }
            }
            best
        })
        // Ties go to the first feature, whatever the thread.
        .reduce_with(|a, b| match a.gain.total_cmp(&b.gain) {
            std::cmp::Ordering::Less => b,
            std::cmp::Ordering::Greater => a,
            std::cmp::Ordering::Equal => {
                if a.feature <= b.feature {
                    a
                } else {
                    b
                }
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegrep_tree::Watch;

    /// Two features whose XOR is the label: no linear model can tell it, two levels of splits can.
    fn xor(rows: usize) -> Rows {
        let mut random = SplitMix(3);
        let mut made = Rows { width: 3, ..Rows::default() };
        for _ in 0..rows {
            let (a, b) = (random.below(1000) as f32 / 1000.0, random.below(1000) as f32 / 1000.0);
            made.values.extend([a, b, 0.0]);
            made.labels.push((a > 0.5) != (b > 0.3));
            made.weights.push(1.0);
        }
        made
    }

    fn predict(grown: &Grown, row: &[f32]) -> f32 {
        grown.base + grown.trees.iter().map(|tree| tree.predict(|at| row[at])).sum::<f32>()
    }

    #[test]
    fn one_stump_by_hand() {
        // Four rows, half of them true, told apart by the feature: from log-odds 0 every gradient
        // is ∓1/2 and every hessian 1/4, so a leaf of two gives rate · 1 / (1/2 + l2).
        let rows = Rows {
            width: 1,
            values: vec![0.0, 0.0, 1.0, 1.0],
            labels: vec![false, false, true, true],
            weights: vec![1.0; 4],
        };
        let growth = Growth {
            trees: 1,
            leaves: 2,
            rate: 0.5,
            min_hessian: 0.1,
            l2: 0.5,
            row_share: 1.0,
            feature_share: 1.0,
            seed: 1,
        };
        let grown = grow(&rows, &growth, &Watch::idle()).unwrap();
        assert_eq!((grown.base, grown.trees.len()), (0.0, 1));
        assert_eq!((predict(&grown, &[0.0]), predict(&grown, &[1.0])), (-0.5, 0.5));
    }

    #[test]
    fn an_interaction_is_learned() {
        let growth =
            Growth { trees: 60, leaves: 8, rate: 0.3, feature_share: 1.0, ..Growth::default() };
        let (train, test) = (xor(2000), xor(500));
        let grown = grow(&train, &growth, &Watch::idle()).unwrap();
        let right = (0..test.len())
            .filter(|&at| (predict(&grown, test.row(at)) > 0.0) == test.labels[at])
            .count();
        assert!(right > 480, "{right} of 500");
        let again = grow(&train, &growth, &Watch::idle()).unwrap();
        assert_eq!(grown, again, "the same seed grows the same forest");
    }

    #[test]
    fn without_a_signal_it_stays_at_the_base_rate() {
        let mut rows = xor(400);
        rows.values.fill(1.0);
        let growth = Growth { trees: 5, ..Growth::default() };
        let grown = grow(&rows, &growth, &Watch::idle()).unwrap();
        let rate = rows.labels.iter().filter(|l| **l).count() as f32 / 400.0;
        let p = 1.0 / (1.0 + (-predict(&grown, &[1.0, 1.0, 1.0])).exp());
        assert!((p - rate).abs() < 0.02, "{p} {rate}");
    }
}
