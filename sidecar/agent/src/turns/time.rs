//! Time kept for the answer.

use std::time::Duration;

use codegrep_tree::Watch;

use crate::pace::Pace;

/// What turns usually take, in tokens, for estimates only: the answer, calls, and their results.
const ANSWER: u32 = 64;
const CALLS: u32 = 120;
const RESULTS: u32 = 1_500;
/// The part of the time the first turn may take, before the model's pace is known.
const FIRST: f64 = 0.75;

/// A watch that ends early enough for an answer to follow.
pub(super) fn leaving_an_answer(pace: &Pace, watch: &Watch) -> Watch {
    let Some(left) = watch.left() else { return watch.clone() };
    watch.within(match pace.estimate(0, ANSWER) {
        Some(answer) => left.saturating_sub(answer),
        None => left.mul_f64(FIRST),
    })
}

/// Whether too little time is left for another exploration turn and the answer, after results of
/// `size` tokens.
pub(super) fn is_short(size: u32, pace: &Pace, watch: &Watch) -> bool {
    let needed = pace.estimate(size + RESULTS, CALLS + ANSWER).unwrap_or(Duration::ZERO);
    watch.left().is_some_and(|left| left < needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_deadline_time_is_never_short() {
        let mut pace = Pace::default();
        pace.learn(1, 0, Duration::from_secs(1_000));
        assert!(!is_short(u32::MAX - RESULTS, &pace, &Watch::idle()));
        assert_eq!(leaving_an_answer(&pace, &Watch::idle()).deadline(), None);
    }

    #[test]
    fn a_slow_model_is_asked_for_its_answer_early() {
        let watch = Watch::idle().within(Duration::from_secs(1_000));
        let mut pace = Pace::default();
        assert!(!is_short(0, &pace, &watch));
        let left = leaving_an_answer(&pace, &watch).left().unwrap();
        assert!((700..=750).contains(&left.as_secs()), "{left:?}");
        // A second for each prompt token, six for each sampled one.
        pace.learn(10, 0, Duration::from_secs(10));
        assert!(is_short(0, &pace, &watch));
        let left = leaving_an_answer(&pace, &watch).left().unwrap();
        assert!((560..=1_000 - 6 * 64).contains(&left.as_secs()), "{left:?}");
    }
}
