use codegrep_agent::{Chat, Turn};
use codegrep_model::LlamaConfig;
use codegrep_tree::Watch;

use crate::common::*;

const QUESTIONS: [&str; 4] = [
    "What does a compiler do?",
    "Write a haiku about rain.",
    "Which file holds the settings of git?",
    "Explain what a hash map is.",
];

fn ask(mut chat: Box<dyn Chat>) -> Turn {
    chat.turn(&greedy(32), &Watch::idle()).unwrap()
}

fn ask_all(chats: Vec<Box<dyn Chat>>) -> Vec<Turn> {
    std::thread::scope(|scope| {
        let asked: Vec<_> = chats.into_iter().map(|chat| scope.spawn(move || ask(chat))).collect();
        asked.into_iter().map(|turn| turn.join().unwrap()).collect()
    })
}

#[test]
fn asking_again_says_the_same_from_cache_or_not() {
    let model = open(config());
    let fresh: Vec<Turn> = QUESTIONS.map(|question| ask(chat(&*open(config()), question))).into();
    for _ in 0..2 {
        for (question, fresh) in QUESTIONS.iter().zip(&fresh) {
            let turn = ask(chat(&*model, question));
            assert!(turn.reproducible && fresh.reproducible);
            assert_eq!(turn.text, fresh.text);
            assert_eq!(turn.trace, fresh.trace);
        }
    }
}

/// Company changes the last bits of logits, and with them a word now and then; but what each says
/// is its own: the likelihood of it is what it is alone.
#[test]
fn conversations_at_the_same_time_do_not_mix() {
    let model = open(config());
    let judge = open(config());
    let asked = [QUESTIONS, QUESTIONS].concat();
    let turns = ask_all(asked.iter().map(|question| chat(&*model, question)).collect());
    for (question, turn) in asked.iter().zip(&turns) {
        let told: f64 = turn.trace.iter().flat_map(|t| &t.logprobs).map(|p| f64::from(*p)).sum();
        let alone = chat(&*judge, question)
            .score("", std::slice::from_ref(&turn.text), &Watch::idle())
            .unwrap()[0];
        // Another question's text is dozens of nats away.
        assert!((told - alone).abs() < 6.0, "{told} {alone} {}", turn.text);
    }
    assert!(turns.iter().any(|turn| !turn.reproducible));
}

#[test]
fn more_conversations_than_sequences_take_turns() {
    let model = open(LlamaConfig { sequences: 2, ..config() });
    let asked = [QUESTIONS, QUESTIONS].concat();
    let turns = ask_all(asked.iter().map(|question| chat(&*model, question)).collect());
    assert!(turns.iter().all(|turn| turn.usage.generated > 5));
}

#[test]
fn a_shared_beginning_is_evaluated_once() {
    let model = open(config());
    let beginning = long_text(200);
    let first = ask(chat(&*model, &format!("{beginning} What comes next?")));
    let second = ask(chat(&*model, &format!("{beginning} How many items?")));
    assert_eq!(first.usage.evaluated, Some(first.usage.prompt_new));
    // What is shared ends within a span, which is evaluated again.
    assert!(second.usage.evaluated.unwrap() < 128, "{:?}", second.usage);

    let mut talk = chat(&*model, &format!("{beginning} What comes next?"));
    let mut evaluated = Vec::new();
    for fork in &mut talk.fork(3).unwrap() {
        let turn = fork.turn(&greedy(32), &Watch::idle()).unwrap();
        evaluated.push(turn.usage.evaluated.unwrap());
        assert!((turn.text == first.text) || !turn.reproducible);
    }
    assert!(evaluated[0] < 128, "{evaluated:?}");
    assert_eq!(evaluated[1..], [0, 0]);
}
