use codegrep_agent::{Episode, Rules};
use codegrep_tree::Watch;

use crate::given::{TASK, repository, run, run_under};
use crate::transcript::script;

/// Nothing seen is evaluated again: over a run of four turns, tokens evaluated = tokens new.
#[test]
fn every_token_is_evaluated_once() {
    let episode = run(&script());
    let stream = episode.stream.as_ref().unwrap();
    for turn in episode.turns() {
        assert_eq!(turn.usage.evaluated, Some(turn.usage.prompt_new));
    }
    let (prompt, generated) = episode.tokens();
    assert_eq!((prompt + generated) as usize, stream.ids.len());
    assert_eq!(stream.mask.iter().filter(|mask| **mask == 1).count(), generated as usize);
    assert_eq!(stream.logprobs.len(), stream.ids.len());
}

/// A run that ends after `n` turns holds the start of the stream of one that goes on.
#[test]
fn the_stream_only_grows() {
    let whole = run(&script()).stream.unwrap();
    let mut longest = 0;
    for turns in 1..4 {
        let short: Vec<String> = script().split("--- turn").map(str::to_owned).collect();
        let cut = run(&short[..=turns].join("--- turn")).stream.unwrap();
        assert!(cut.ids.len() > longest);
        longest = cut.ids.len();
        assert_eq!(cut.ids, whole.ids[..longest]);
        assert_eq!(cut.mask, whole.mask[..longest]);
    }
}

#[test]
fn a_record_survives_json() {
    let episode = run(&script());
    let text = serde_json::to_string(&episode).unwrap();
    assert_eq!(serde_json::from_str::<Episode>(&text).unwrap(), episode);
    assert!(text.contains(TASK));
}

#[test]
fn the_same_request_gives_the_same_episode() {
    let fixture = repository();
    let one = || {
        let mut episode = run_under(&fixture, &script(), &Rules::default(), &Watch::idle());
        episode.ms = 0;
        for event in &mut episode.events {
            if let codegrep_agent::record::Event::Turn(turn) = event {
                (turn.model_ms, turn.tools_ms) = (0, 0);
                turn.calls.iter_mut().for_each(|call| call.ms = 0);
            }
        }
        episode
    };
    assert_eq!(one(), one());
}
