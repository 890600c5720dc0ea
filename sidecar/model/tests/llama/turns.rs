use codegrep_agent::{Ask, Message, ModelError, Sampling};
use codegrep_model::LlamaConfig;
use codegrep_tree::Watch;

use crate::common::*;

#[test]
fn nothing_is_evaluated_twice_over_four_turns() {
    let model = open(config());
    let mut talk = chat(&*model, "Which file parses the command line?");
    let mut stream = 0;
    for turn in 0..4 {
        let turned = talk.turn(&greedy(24), &Watch::idle()).unwrap();
        assert_eq!(turned.usage.evaluated, Some(turned.usage.prompt_new), "turn {turn}");
        let trace = turned.trace.unwrap();
        assert_eq!(trace.ids.len(), turned.usage.generated as usize);
        assert_eq!(trace.logprobs.len(), trace.ids.len());
        assert_eq!(trace.forced, vec![false; trace.ids.len()]);
        // The last token of the turn before was sampled, and is evaluated with what follows it.
        let owed = u32::from(turn > 0);
        assert_eq!(turned.usage.prompt_new, trace.prompt.len() as u32 + owed);
        stream += trace.prompt.len() + trace.ids.len();
        talk.push(&[results("src/main.rs:3: fn main() {")]).unwrap();
    }
    assert!(talk.room().used as usize > stream);
}

#[test]
fn a_file_that_shrinks_takes_nothing_from_a_loaded_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    std::fs::copy(model_path(), &path).unwrap();
    let model = open(LlamaConfig { path: path.clone(), ..config() });
    let mut talk = chat(&*model, "Which file parses the command line?");
    let first = talk.turn(&greedy(8), &Watch::idle()).unwrap();
    // As when it is downloaded anew over the old one.
    std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
    let mut again = chat(&*model, "Which file parses the command line?");
    assert_eq!(again.turn(&greedy(8), &Watch::idle()).unwrap().text, first.text);
}

#[test]
fn a_seed_repeats_a_turn_and_another_does_not() {
    let ask = |seed| {
        let sampling = Sampling { temperature: 1.0, top_p: 0.9, top_k: 50, seed };
        let mut talk = chat(&**model(), "Tell me something.");
        talk.turn(&Ask { sampling, ..greedy(20) }, &Watch::idle()).unwrap().text
    };
    assert_eq!(ask(1), ask(1));
    assert_ne!(ask(1), ask(2));
}

#[test]
fn a_push_that_does_not_fit_changes_nothing() {
    let mut config = config();
    config.n_ctx = Some(256);
    let model = open(config);
    let mut talk = chat(&*model, "Hi");
    let room = talk.room();
    talk.turn(&greedy(4), &Watch::idle()).unwrap();
    let after = talk.room();
    assert!(after.used > room.used);
    let error = talk.push(&[Message::User(long_text(300))]).unwrap_err();
    let ModelError::Full { needed, capacity } = error else { panic!("{error}") };
    assert!(needed > 600 && capacity == 256, "{needed} {capacity}");
    assert_eq!(talk.room(), after);
    talk.push(&[Message::User("Again".into())]).unwrap();
    let turn = talk.turn(&greedy(1000), &Watch::idle()).unwrap();
    assert!(turn.usage.generated < 256);
}

#[test]
fn a_turn_out_of_order_is_misuse() {
    let mut talk = model().open(&Watch::idle()).unwrap();
    let error = talk.turn(&greedy(4), &Watch::idle()).unwrap_err();
    assert!(matches!(error, ModelError::Misuse(_)), "{error}");
    let mut talk = chat(&**model(), "Hi");
    let error = talk.turn(&greedy(0), &Watch::idle()).unwrap_err();
    assert!(matches!(error, ModelError::Misuse(_)), "{error}");
}

#[test]
fn a_model_is_named_after_its_file_and_hashed() {
    let cache = tempfile::tempdir().unwrap();
    let mut config = config();
    config.cache_dir = Some(cache.path().to_owned());
    let info = || open(config.clone()).info();
    let start = std::time::Instant::now();
    let hash = loop {
        match info().hash {
            Some(hash) => break hash,
            None => std::thread::sleep(std::time::Duration::from_millis(50)),
        }
        assert!(start.elapsed().as_secs() < 60);
    };
    assert_eq!(info().name, model_path().file_stem().unwrap().to_str().unwrap());
    assert_eq!(hash, info().hash.unwrap());
    assert_eq!(hash.len(), 64);
}
