use std::time::{Duration, Instant};

use codegrep_agent::{Chat, Message, ModelError};
use codegrep_tree::{Stop, Watch};

use crate::common::*;

/// Far more than the 100 ms that are aimed at, as the machine may be busy; far less than what is
/// stopped here would go on.
const SOON: Duration = Duration::from_secs(5);

/// Asks for a long turn, stops it after `delay`, and gives how long it went on.
fn stopped_after(chat: &mut dyn Chat, delay: Duration) -> Duration {
    let watch = Watch::idle();
    let cancelled = std::thread::scope(|scope| {
        let canceller = scope.spawn(|| {
            std::thread::sleep(delay);
            watch.cancel();
            Instant::now()
        });
        let error = chat.turn(&greedy(2000), &watch).unwrap_err();
        assert!(matches!(error, ModelError::Stopped(Stop::Cancelled)), "{error}");
        canceller.join().unwrap()
    });
    cancelled.elapsed()
}

/// How long the engine took to come free: the first token of a tiny conversation.
fn next_turn(chat: &mut dyn Chat) -> Duration {
    let start = Instant::now();
    chat.turn(&greedy(1), &Watch::idle()).unwrap();
    start.elapsed()
}

#[test]
fn a_long_prompt_is_cancelled_at_once_and_can_be_asked_again() {
    let model = open(config());
    let mut long = chat(&*model, &long_text(600));
    let mut tiny = chat(&*model, "Hi");
    let room = long.room();
    let stop = stopped_after(&mut *long, Duration::from_millis(300));
    let free = next_turn(&mut *tiny);
    eprintln!("prompt: answered {stop:?} after the cancel, next turn took {free:?}");
    assert!(stop < SOON && free < SOON, "{stop:?} {free:?}");

    assert_eq!(long.room(), room);
    let turn = long.turn(&greedy(3), &Watch::idle()).unwrap();
    assert!(turn.usage.evaluated <= Some(turn.usage.prompt_new));
    assert_eq!(turn.usage.generated, 3);
}

#[test]
fn sampling_is_cancelled_at_once_and_the_turn_can_be_asked_again() {
    let model = open(config());
    let mut talk = chat(&*model, "Write a long story about a ship.");
    let expected = talk.fork(1).unwrap().remove(0).turn(&greedy(16), &Watch::idle()).unwrap();
    let stop = stopped_after(&mut *talk, Duration::from_millis(700));
    eprintln!("sampling: answered {stop:?} after the cancel");
    assert!(stop < SOON, "{stop:?}");
    let again = talk.turn(&greedy(16), &Watch::idle()).unwrap();
    assert_eq!(again.text, expected.text);
    talk.push(&[Message::User("Go on.".into())]).unwrap();
    talk.turn(&greedy(2), &Watch::idle()).unwrap();
}

#[test]
fn a_deadline_stops_a_turn_in_the_middle() {
    let model = open(config());
    let mut long = chat(&*model, &long_text(600));
    let start = Instant::now();
    let watch = Watch::idle().within(Duration::from_millis(200));
    let error = long.turn(&greedy(9), &watch).unwrap_err();
    assert!(matches!(error, ModelError::Stopped(Stop::Deadline)), "{error}");
    assert!(start.elapsed() < Duration::from_millis(200) + SOON);
    assert!(next_turn(&mut *chat(&*model, "Hi")) < SOON);
}

#[test]
fn others_of_an_aborted_batch_go_on() {
    let model = open(config());
    let question = "Name three colours and say where they are found.";
    let mut other = chat(&*model, question);
    let mut long = chat(&*model, &long_text(600));
    let together = std::thread::scope(|scope| {
        let other = scope.spawn(|| other.turn(&greedy(40), &Watch::idle()).unwrap());
        for _ in 0..3 {
            stopped_after(&mut *long, Duration::from_millis(150));
        }
        other.join().unwrap()
    });
    assert_eq!(together.usage.generated, 40);
    let told: f64 = together.trace.iter().flat_map(|t| &t.logprobs).map(|p| f64::from(*p)).sum();
    let text = [together.text];
    let alone = chat(&*open(config()), question).score("", &text, &Watch::idle()).unwrap()[0];
    assert!((told - alone).abs() < 6.0, "{told} {alone} {text:?}");
}
