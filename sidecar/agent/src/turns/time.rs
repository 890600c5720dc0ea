//! Time kept for the answer.

use std::time::Duration;

use codegrep_tree::Watch;

use crate::conversation::Conversation;

/// What turns usually take, for estimates only: the answer, calls, and their results.
const ANSWER: u32 = 64;
const CALLS: u32 = 120;
const RESULTS: u32 = 1_500;
/// The part of the time the first turn may take, before the model's pace is known.
const FIRST: f64 = 0.75;

/// A watch that ends early enough for an answer to follow.
pub(super) fn leaving_an_answer(conversation: &Conversation, watch: &Watch) -> Watch {
    let Some(left) = watch.left() else { return watch.clone() };
    let time = match conversation.pace.estimate(0, ANSWER) {
        Some(answer) => left.saturating_sub(answer),
        None => left.mul_f64(FIRST),
    };
    watch.within(time)
}

/// Whether too little time is left for another exploration turn, after results of `size` tokens.
pub(super) fn is_short(size: u32, conversation: &Conversation, watch: &Watch) -> bool {
    let pace = &conversation.pace;
    let needed = pace.estimate(size + RESULTS, CALLS + ANSWER).unwrap_or(Duration::ZERO);
    watch.left().is_some_and(|left| left < needed)
}
