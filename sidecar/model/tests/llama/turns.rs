use codegrep_agent::{Message, TurnEnd};
use codegrep_tree::Watch;

use crate::common::*;

#[test]
fn nothing_is_evaluated_twice_over_four_turns() {
    let model = open(config());
    let mut chat = chat(&*model, "Which file parses the command line?");
    let mut stream = 0;
    for turn in 0..4 {
        let turned = chat.turn(&greedy(24), &Watch::idle()).unwrap();
        eprintln!("{turned:?}");
        assert_eq!(turned.usage.evaluated, Some(turned.usage.prompt_new), "turn {turn}");
        let trace = turned.trace.unwrap();
        assert_eq!(trace.ids.len(), turned.usage.generated as usize);
        assert_eq!(trace.logprobs.len(), trace.ids.len());
        assert_eq!(trace.forced, vec![false; trace.ids.len()]);
        let owed = u32::from(turn > 0);
        assert_eq!(turned.usage.prompt_new, trace.prompt.len() as u32 + owed);
        stream += trace.prompt.len() + trace.ids.len();
        chat.push(&[results("src/main.rs:3: fn main() {")]).unwrap();
        let _ = TurnEnd::Stop;
        let _ = Message::User(String::new());
    }
    assert!(chat.room().used as usize > stream);
}
