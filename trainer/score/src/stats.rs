//! Means with bootstrap intervals, paired differences, quantiles.

/// A mean and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub mean: f64,
    pub lo: f64,
    pub hi: f64,
}

/// Resamples of a bootstrap: enough for two stable digits.
pub const RESAMPLES: usize = 2000;

/// Mean with a percentile-bootstrap 95 % interval (Efron 1979) over instances. All zero when
/// `values` is empty. The same seed gives the same interval.
pub fn bootstrap(values: &[f64], seed: u64) -> Interval {
    bootstrap_of(values.len(), seed, |sample| {
        sample.map(|at| values[at]).sum::<f64>() / values.len() as f64
    })
}

/// Like [`bootstrap`] for the ratio Σ numerator / Σ denominator of instances, such as a precision
/// pooled over tasks. A resample without denominator counts as 0.
pub fn bootstrap_ratio(pairs: &[(f64, f64)], seed: u64) -> Interval {
    bootstrap_of(pairs.len(), seed, |sample| {
        let (top, bottom) =
            sample.map(|at| pairs[at]).fold((0.0, 0.0), |(t, b), (x, y)| (t + x, b + y));
        if bottom == 0.0 { 0.0 } else { top / bottom }
    })
}

/// Mean of `a − b` over the same instances, with its interval. The difference is significant at
/// 5 % when the interval leaves 0 out. Panics when the lengths differ.
pub fn paired_difference(a: &[f64], b: &[f64], seed: u64) -> Interval {
    assert_eq!(a.len(), b.len(), "paired values come from the same instances");
    bootstrap(&a.iter().zip(b).map(|(x, y)| x - y).collect::<Vec<_>>(), seed)
}

fn bootstrap_of(
    n: usize,
    seed: u64,
    statistic: impl Fn(&mut dyn Iterator<Item = usize>) -> f64,
) -> Interval {
    if n == 0 {
        return Interval { mean: 0.0, lo: 0.0, hi: 0.0 };
    }
    let mut random = SplitMix(seed);
    let mut draws =
        (0..RESAMPLES).map(|_| statistic(&mut (0..n).map(|_| random.below(n)))).collect::<Vec<_>>();
    draws.sort_by(f64::total_cmp);
    Interval {
        mean: statistic(&mut (0..n)),
        lo: quantile_sorted(&draws, 0.025),
        hi: quantile_sorted(&draws, 0.975),
    }
}

/// The `q`-quantile by linear interpolation (Hyndman–Fan type 7, numpy's default); 0 when empty.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_sorted(&sorted, q)
}

fn quantile_sorted(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let at = q * last as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

/// SplitMix64 (Steele et al. 2014): small, seedable, the same on every machine.
pub struct SplitMix(pub u64);

impl SplitMix {
    /// 64 uniform bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `0..n`; `n` must not be 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.draw()) * n as u128) >> 64) as usize
    }

    /// Puts the items in a random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_as_numpy() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&values, 0.5), 2.5);
        assert_eq!(quantile(&values, 0.25), 1.75);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn an_interval_covers_the_normal_approximation() {
        // 200 coin flips with p = 0.3: the 95 % interval is about ±1.96·√(0.21/200) = ±0.0635.
        let values = (0..200).map(|i| f64::from(u8::from(i % 10 < 3))).collect::<Vec<_>>();
        let interval = bootstrap(&values, 7);
        assert_eq!(interval.mean, 0.3);
        assert!(
            (interval.lo - 0.2365).abs() < 0.012 && (interval.hi - 0.3635).abs() < 0.012,
            "{interval:?}"
        );
        assert_eq!(interval, bootstrap(&values, 7));
    }

    #[test]
    fn pairing_removes_what_both_share() {
        let hard = (0..100).map(|i| f64::from(i % 7) / 7.0).collect::<Vec<_>>();
        let better = hard.iter().map(|x| x + 0.05).collect::<Vec<_>>();
        let difference = paired_difference(&better, &hard, 1);
        assert!((difference.mean - 0.05).abs() < 1e-9 && difference.lo > 0.04);
    }

    #[test]
    fn a_pooled_ratio_is_not_the_mean_of_ratios() {
        assert_eq!(bootstrap_ratio(&[(1.0, 1.0), (0.0, 3.0)], 1).mean, 0.25);
        assert_eq!(bootstrap_ratio(&[(0.0, 0.0)], 1).mean, 0.0);
    }
}
