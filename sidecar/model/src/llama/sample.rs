//! Picking a token from logits. Pure: the grammar comes in as a [`Mask`].

use codegrep_agent::Sampling;

/// What a grammar leaves of the vocabulary.
pub(super) trait Mask {
    /// For each token, whether it may come next. Cost grows with `ids`.
    fn test(&mut self, ids: &[i32]) -> Vec<bool>;
    /// All that may come next, in rising order. Dear: milliseconds.
    fn all(&mut self) -> Vec<i32>;
}

/// Everything may come next.
pub(super) struct Free;

impl Mask for Free {
    fn test(&mut self, ids: &[i32]) -> Vec<bool> {
        vec![true; ids.len()]
    }

    fn all(&mut self) -> Vec<i32> {
        Vec::new()
    }
}

/// How many single candidates are tried before the whole vocabulary is masked.
const TRIES: usize = 8;
/// How many of the best are tested at once when the very best is refused.
const NEXT_BEST: usize = 256;

/// Picks the tokens of one turn.
#[derive(Debug, Clone)]
pub(super) struct Picker {
    sampling: Sampling,
    random: Random,
}

impl Picker {
    pub fn new(sampling: Sampling) -> Self {
        Self { sampling, random: Random(sampling.seed.into()) }
    }

    /// The next token and its log-probability: log-softmax of the raw logits at the temperature
    /// (at 1 when greedy), whatever filters and mask left out. `None` when nothing can be picked:
    /// no logit is a number, or the mask allows nothing.
    pub fn pick(&mut self, logits: &[f32], mask: &mut impl Mask) -> Option<(i32, f32)> {
        let temperature = match self.sampling.temperature {
            heat if heat > 0.0 => heat,
            _ => 1.0,
        };
        let norm = log_sum_exp(logits, temperature)?;
        let id = if self.sampling.temperature > 0.0 {
            self.draw(logits, temperature, norm, mask)
        } else {
            best(logits, mask)
        }?;
        Some((id, logits[id as usize] / temperature - norm))
    }

    /// Draws in proportion to probability. Setting a refused token aside and drawing again gives
    /// exactly the distribution that masking first would give.
    fn draw(
        &mut self,
        logits: &[f32],
        temperature: f32,
        norm: f32,
        mask: &mut impl Mask,
    ) -> Option<i32> {
        let mut weights: Vec<(i32, f32)> = (0..)
            .zip(logits)
            .map(|(id, logit)| (id, (logit / temperature - norm).exp()))
            .filter(|(_, weight)| *weight > 0.0)
            .collect();
        self.filter(&mut weights);
        for _ in 0..TRIES {
            let index = self.random.weighted(&weights)?;
            if mask.test(&[weights[index].0])[0] {
                return Some(weights[index].0);
            }
            weights.swap_remove(index);
            if weights.is_empty() {
                break;
            }
        }
        let allowed = mask.all();
        weights.retain(|(id, _)| allowed.binary_search(id).is_ok());
        match self.random.weighted(&weights) {
            Some(index) => Some(weights[index].0),
            // The filters kept nothing that is allowed.
            None => greatest(logits, allowed.into_iter()),
        }
    }

    /// Top-k, then top-p over what is left.
    fn filter(&self, weights: &mut Vec<(i32, f32)>) {
        let Sampling { top_k, top_p, .. } = self.sampling;
        let by_weight = |a: &(i32, f32), b: &(i32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if let Ok(k) = usize::try_from(top_k)
            && (1..weights.len()).contains(&k)
        {
            weights.select_nth_unstable_by(k - 1, by_weight);
            weights.truncate(k);
        }
        if top_p < 1.0 {
            weights.sort_unstable_by(by_weight);
            let enough = top_p * weights.iter().map(|(_, weight)| weight).sum::<f32>();
            let mut sum = 0.0;
            let keep = weights.iter().take_while(|(_, weight)| {
                let before = sum;
                sum += weight;
                before < enough
            });
            weights.truncate(keep.count().max(1));
        }
    }
}

/// `ln Σ exp(logit / temperature)`; `None` when no logit is a finite number.
pub(super) fn log_sum_exp(logits: &[f32], temperature: f32) -> Option<f32> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if !top.is_finite() {
        return None;
    }
    // NaN is dropped by `max` and by `fold` here: it has no weight.
    let sum: f32 = logits
        .iter()
        .map(|logit| ((logit - top) / temperature).exp())
        .filter(|weight| !weight.is_nan())
        .sum();
    Some(top / temperature + sum.ln())
}

/// The allowed token with the greatest logit, the lowest id among equals.
fn best(logits: &[f32], mask: &mut impl Mask) -> Option<i32> {
    let top = greatest(logits, 0..logits.len() as i32)?;
    if mask.test(&[top])[0] {
        return Some(top);
    }
    let mut ids: Vec<i32> = (0..logits.len() as i32).collect();
    let by_logit = |a: &i32, b: &i32| {
        let value = |id: &i32| match logits[*id as usize] {
            logit if logit.is_nan() => f32::NEG_INFINITY,
            logit => logit,
        };
        value(b).total_cmp(&value(a)).then(a.cmp(b))
    };
    if ids.len() > NEXT_BEST {
        ids.select_nth_unstable_by(NEXT_BEST, by_logit);
        ids.truncate(NEXT_BEST);
    }
    ids.sort_unstable_by(by_logit);
    let tested = mask.test(&ids);
    match ids.iter().zip(tested).find(|(_, allowed)| *allowed) {
        Some((id, _)) => Some(*id),
        None => greatest(logits, mask.all().into_iter()),
    }
}

fn greatest(logits: &[f32], ids: impl Iterator<Item = i32>) -> Option<i32> {
    let mut top = (f32::NEG_INFINITY, None);
    for id in ids {
        let logit = logits[id as usize];
        if logit > top.0 || (top.1.is_none() && !logit.is_nan()) {
            top = (logit, Some(id));
        }
    }
    top.1
}

/// SplitMix64 (Steele, Lea and Flood, 2014): small, and the same on every machine.
#[derive(Debug, Clone)]
struct Random(u64);

impl Random {
    /// In [0, 1).
    fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1_u64 << 24) as f32
    }

    /// An index, drawn in proportion to the weights; `None` when there are none.
    fn weighted(&mut self, weights: &[(i32, f32)]) -> Option<usize> {
        let total: f32 = weights.iter().map(|(_, weight)| weight).sum();
        let mut left = self.unit() * total;
        let hit = weights.iter().position(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        // Rounding may leave a little: then it is the last.
        hit.or(weights.len().checked_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Allows the listed tokens and counts what was tested.
    struct Only(Vec<i32>, usize);

    impl Mask for Only {
        fn test(&mut self, ids: &[i32]) -> Vec<bool> {
            self.1 += ids.len();
            ids.iter().map(|id| self.0.contains(id)).collect()
        }

        fn all(&mut self) -> Vec<i32> {
            self.0.clone()
        }
    }

    fn sampling(temperature: f32, top_p: f32, top_k: i32) -> Sampling {
        Sampling { temperature, top_p, top_k, seed: 7 }
    }

    #[test]
    fn greedy_takes_the_greatest_and_tests_it_alone() {
        let logits = [0.0, 3.0, 1.0, 3.0];
        let mut mask = Only(vec![0, 1, 2, 3], 0);
        let (id, logprob) = Picker::new(Sampling::GREEDY).pick(&logits, &mut mask).unwrap();
        assert_eq!((id, mask.1), (1, 1));
        let sum: f32 = logits.iter().map(|l: &f32| l.exp()).sum();
        assert!((logprob - (3.0_f32.exp() / sum).ln()).abs() < 1e-6);
    }

    #[test]
    fn greedy_takes_the_greatest_that_is_allowed_however_far_down() {
        let logits: Vec<f32> = (0..1000).map(|i| -(i as f32)).collect();
        for allowed in [1, 200, 900] {
            let mut mask = Only(vec![allowed, allowed + 50], 0);
            let (id, _) = Picker::new(Sampling::GREEDY).pick(&logits, &mut mask).unwrap();
            assert_eq!(id, allowed);
        }
    }

    #[test]
    fn draws_follow_the_masked_distribution() {
        let logits: Vec<f32> = (0..40).map(|i| ((i * 7) % 11) as f32 / 3.0).collect();
        let allowed = vec![3, 17, 30];
        let mut picker = Picker::new(sampling(0.8, 1.0, 0));
        let mut counts = [0_f32; 3];
        let rounds = 20_000;
        for _ in 0..rounds {
            let (id, _) = picker.pick(&logits, &mut Only(allowed.clone(), 0)).unwrap();
            counts[allowed.iter().position(|a| *a == id).unwrap()] += 1.0;
        }
        let weights: Vec<f32> =
            allowed.iter().map(|id| (logits[*id as usize] / 0.8).exp()).collect();
        let total: f32 = weights.iter().sum();
        for (count, weight) in counts.iter().zip(weights) {
            // Five standard deviations of 20,000 draws.
            assert!((count / rounds as f32 - weight / total).abs() < 0.018, "{counts:?}");
        }
    }

    #[test]
    fn filters_keep_the_best_only() {
        let logits: Vec<f32> = (0..100).map(|i| i as f32 / 10.0).collect();
        let mut few = Picker::new(sampling(1.0, 1.0, 3));
        let mut nucleus = Picker::new(sampling(1.0, 0.05, 0));
        for _ in 0..200 {
            assert!(few.pick(&logits, &mut Free).unwrap().0 >= 97);
            assert_eq!(nucleus.pick(&logits, &mut Free).unwrap().0, 99);
        }
    }

    #[test]
    fn what_the_filters_keep_may_all_be_refused() {
        let logits: Vec<f32> = (0..100).map(|i| i as f32).collect();
        let mut picker = Picker::new(sampling(1.0, 1.0, 5));
        assert_eq!(picker.pick(&logits, &mut Only(vec![4, 9], 0)).unwrap().0, 9);
    }

    #[test]
    fn a_seed_repeats_itself() {
        let logits = [0.5; 50];
        let draw = || {
            let mut picker = Picker::new(sampling(1.0, 1.0, 0));
            (0..20).map(|_| picker.pick(&logits, &mut Free).unwrap().0).collect::<Vec<_>>()
        };
        assert_eq!(draw(), draw());
        assert!(draw().iter().any(|id| *id != draw()[0]));
    }

    #[test]
    fn logits_that_are_no_numbers_pick_nothing() {
        for sampling in [Sampling::GREEDY, sampling(1.0, 1.0, 0)] {
            let mut picker = Picker::new(sampling);
            assert_eq!(picker.pick(&[f32::NAN; 4], &mut Free), None);
            assert_eq!(picker.pick(&[1.0, 2.0], &mut Only(vec![], 0)), None);
            let (id, logprob) = picker.pick(&[f32::NAN, 1.0], &mut Free).unwrap();
            assert_eq!((id, logprob), (1, 0.0));
        }
    }
}
