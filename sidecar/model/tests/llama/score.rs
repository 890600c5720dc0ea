use codegrep_agent::{Message, Sampling};
use codegrep_tree::Watch;

use crate::common::*;

fn options(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Greedy tokens have known log-probabilities: their sum is the likelihood of their text.
#[test]
fn the_likelihood_of_a_turn_is_the_sum_over_its_tokens() {
    let model = open(config());
    let mut talk = chat(&*model, "What is the capital of France?");
    let before = talk.room();
    let mut spoken = talk.fork(1).unwrap().remove(0);
    let turn = spoken.turn(&greedy(12), &Watch::idle()).unwrap();
    let sum: f64 = turn.trace.unwrap().logprobs.iter().map(|p| f64::from(*p)).sum();
    let others = ["No.", " The sea is blue and the night is long, said the owl to the cat."];
    let texts = options(&[&turn.text, others[0], others[1]]);
    let scores = talk.score("", &texts, &Watch::idle()).unwrap();
    // Evaluated together, tokens are rounded differently than one by one.
    assert!((scores[0] - sum).abs() < 1.5, "{scores:?} {sum}");
    assert!(scores[0] > scores[1] && scores[0] > scores[2], "{scores:?}");

    // One by one, and in another order, they are the same.
    for (text, score) in texts.iter().zip(&scores).rev() {
        let again = talk.score("", std::slice::from_ref(text), &Watch::idle()).unwrap();
        assert!((again[0] - score).abs() < 1.5, "{again:?} {score}");
    }
    assert_eq!(talk.room(), before);
    assert_eq!(talk.turn(&greedy(12), &Watch::idle()).unwrap().text, turn.text);
}

#[test]
fn a_prefix_is_given_and_costs_nothing() {
    let model = open(config());
    let mut talk = chat(&*model, "What is the capital of France?");
    let whole =
        talk.score("", &options(&["The capital is", "The capital is Paris"]), &Watch::idle());
    let whole = whole.unwrap();
    let rest = talk.score("The capital is", &options(&[" Paris", ""]), &Watch::idle()).unwrap();
    assert!((whole[1] - whole[0] - rest[0]).abs() < 0.5, "{whole:?} {rest:?}");
    assert_eq!(rest[1], 0.0);
    assert_eq!(talk.score("x", &[], &Watch::idle()).unwrap(), Vec::<f64>::new());
}

#[test]
fn many_long_options_are_scored_in_several_batches() {
    let model = open(config());
    let mut talk = chat(&*model, "Which file?");
    let many: Vec<String> =
        (0..40).map(|n| format!("src/module_{n}/{}.rs", "deep/".repeat(n % 13))).collect();
    let scores = talk.score("{\"path\": \"", &many, &Watch::idle()).unwrap();
    for n in [0, 11, 12, 25, 39] {
        let alone = talk.score("{\"path\": \"", &many[n..=n], &Watch::idle()).unwrap();
        assert!((alone[0] - scores[n]).abs() < 1.5, "{n}: {} {}", alone[0], scores[n]);
    }
}

#[test]
fn forks_go_their_own_ways() {
    let model = open(config());
    let mut talk = chat(&*model, "Tell me something surprising.");
    let texts: Vec<String> = talk
        .fork(3)
        .unwrap()
        .iter_mut()
        .enumerate()
        .map(|(seed, fork)| {
            let sampling = Sampling { temperature: 1.0, top_p: 0.95, top_k: 0, seed: seed as u32 };
            let ask = codegrep_agent::Ask { sampling, ..greedy(16) };
            let turn = fork.turn(&ask, &Watch::idle()).unwrap();
            fork.push(&[Message::User("And?".into())]).unwrap();
            let next = fork.turn(&greedy(4), &Watch::idle()).unwrap();
            assert_eq!(next.usage.evaluated, Some(next.usage.prompt_new));
            turn.text
        })
        .collect();
    assert!(texts[0] != texts[1] && texts[1] != texts[2], "{texts:?}");
}
