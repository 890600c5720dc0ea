use crate::Candidate;

/// Weight of recall against precision in the F-measure: 0.5 counts precision double.
const BETA2: f64 = 0.25;
/// Candidates beyond this rank are too unlikely to change the expectation.
const TAIL: usize = 64;

/// How many files to return: the prefix of `candidates` (best first), at most `max_files` long,
/// with the highest expected F_0.5 when each probability is right and files are independent.
///
/// Under independence the best set of any size is a prefix of the ranking (Lewis, SIGIR 1995), so
/// only prefixes are compared; ties go to the shorter one. At least one file is returned when
/// there is any and `max_files` allows it: dropping unlikely ones is the gate's part.
pub fn cut(candidates: &[Candidate], max_files: usize) -> Vec<Candidate> {
    let probabilities: Vec<f64> = candidates.iter().map(|c| c.probability).collect();
    candidates[..best_prefix(&probabilities, max_files)].to_vec()
}

/// The same for bare probabilities, highest first: the length of the prefix.
pub fn best_prefix(probabilities: &[f64], max_files: usize) -> usize {
    let p = &probabilities[..probabilities.len().min(TAIL.max(max_files))];
    let most = max_files.min(p.len());
    // rest[k] is the distribution of how many right files lie beyond the first k.
    let mut rest = vec![vec![1.0]];
    for &x in p.iter().rev() {
        rest.push(with_one_more(&rest[rest.len() - 1], x));
    }
    rest.reverse();
    let mut inside = vec![1.0];
    let mut best = (0, f64::NEG_INFINITY);
    for k in 1..=most {
        inside = with_one_more(&inside, p[k - 1]);
        let value = expected_f(&inside, &rest[k], k);
        if value > best.1 + 1e-12 {
            best = (k, value);
        }
    }
    best.0
}

/// The distribution of a count after one more independent event of probability `p`.
fn with_one_more(counts: &[f64], p: f64) -> Vec<f64> {
    let mut next = vec![0.0; counts.len() + 1];
    for (n, q) in counts.iter().enumerate() {
        next[n] += q * (1.0 - p);
        next[n + 1] += q * p;
    }
    next
}

fn expected_f(inside: &[f64], rest: &[f64], k: usize) -> f64 {
    let mut sum = 0.0;
    for (right, p) in inside.iter().enumerate().skip(1) {
        for (missed, q) in rest.iter().enumerate() {
            sum +=
                p * q * (1.0 + BETA2) * right as f64 / (BETA2 * (right + missed) as f64 + k as f64);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// E[F_0.5] of the set `chosen` (bit mask) by summing over every possible truth.
    fn brute(p: &[f64], chosen: u32) -> f64 {
        let mut sum = 0.0;
        for truth in 1u32..1 << p.len() {
            let weight: f64 = p
                .iter()
                .enumerate()
                .map(|(i, p)| if truth >> i & 1 == 1 { *p } else { 1.0 - p })
                .product();
            let right = (truth & chosen).count_ones() as f64;
            sum += weight * 1.25 * right
                / (0.25 * truth.count_ones() as f64 + chosen.count_ones() as f64);
        }
        sum
    }

    proptest! {
        #[test]
        fn no_set_of_allowed_size_expects_more(
            mut p in prop::collection::vec(0.0f64..1.0, 1..7), max in 1usize..5,
        ) {
            p.sort_by(|a, b| b.total_cmp(a));
            let k = best_prefix(&p, max);
            let ours = brute(&p, (1 << k) - 1);
            for chosen in 1u32..1 << p.len() {
                if chosen.count_ones() as usize <= max {
                    prop_assert!(brute(&p, chosen) <= ours + 1e-9);
                }
            }
        }
    }

    #[test]
    fn a_sure_pair_is_kept_and_a_doubtful_second_is_not() {
        assert_eq!(best_prefix(&[0.9, 0.9, 0.1], 3), 2);
        assert_eq!(best_prefix(&[0.9, 0.1, 0.1], 3), 1);
        assert_eq!(best_prefix(&[0.9, 0.9, 0.9], 1), 1);
        assert_eq!(best_prefix(&[0.9], 0), 0);
        assert_eq!(best_prefix(&[], 3), 0);
        assert_eq!(best_prefix(&[0.0, 0.0], 3), 1);
    }
}
