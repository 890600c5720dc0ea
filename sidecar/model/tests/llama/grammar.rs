use std::collections::BTreeSet;

use codegrep_agent::profiles::{CodeGrep, Profile, Said, Step};
use codegrep_agent::{Ask, Message, ModelError, Sampling, ToolResult, TurnEnd};
use codegrep_tree::Watch;

use crate::common::*;

const CALLS: &str = r#"
root ::= call ("\n" call){0,2}
call ::= "<tool_call>\n{\"name\": \"" name "\", \"arguments\": {\"pattern\": " string "}}\n</tool_call>"
name ::= "grep" | "glob"
string ::= "\"" char{0,20} "\""
char ::= [^"\\\x00-\x1f] | "\\" ["\\/bfnrt]
"#;

fn is_call(text: &str) -> bool {
    let json = text.strip_prefix("<tool_call>\n").and_then(|t| t.strip_suffix("\n</tool_call>"));
    let value: serde_json::Value = match serde_json::from_str(json.unwrap_or_default()) {
        Ok(value) => value,
        Err(_) => return false,
    };
    matches!(value["name"].as_str(), Some("grep" | "glob"))
        && value["arguments"]["pattern"].is_string()
}

#[test]
fn every_turn_is_a_call_at_any_temperature() {
    let mut forced = 0;
    for seed in 0..8 {
        let mut talk = chat(&**model(), "Where is the parser? Use the tools.");
        let sampling = Sampling { temperature: seed as f32 * 0.25, top_p: 0.98, top_k: 0, seed };
        let ask = Ask { sampling, ..constrained(400, CALLS) };
        let turn = talk.turn(&ask, &Watch::idle()).unwrap();
        assert_eq!(turn.end, TurnEnd::Stop);
        let calls: Vec<&str> = turn.text.split_inclusive("</tool_call>").collect();
        assert!(calls.iter().all(|call| is_call(call.trim_start())), "{}", turn.text);
        forced += turn.trace.unwrap().forced.iter().filter(|forced| **forced).count();
        talk.push(&[results("nothing found")]).unwrap();
        talk.turn(&greedy(3), &Watch::idle()).unwrap();
    }
    assert!(forced > 0);
}

#[test]
fn the_profile_reads_whatever_its_grammars_allow() {
    let profile = CodeGrep::default();
    let seen = BTreeSet::from(["src/sort.rs".to_owned(), "docs/números.md".to_owned()]);
    for seed in 0..2 {
        let mut talk = model().open(&Watch::idle()).unwrap();
        talk.push(&profile.opening("Sorting by name ignores upper case letters.", "")).unwrap();
        let heat = seed as f32 * 0.6;
        let sampling = Sampling { temperature: heat, top_p: 1.0, top_k: 0, seed };
        for step in [Step::Explore { turn: 1 }, Step::Explore { turn: 2 }, Step::Answer] {
            let ask =
                Ask { constraint: profile.constraint(step, &seen), max_tokens: 2000, sampling };
            let turn = talk.turn(&ask, &Watch::idle()).unwrap();
            assert_eq!(turn.end, TurnEnd::Stop);
            match (profile.read(&turn.text, step), step) {
                (Said::Calls(calls), Step::Explore { .. }) => {
                    assert!(calls.iter().all(Result::is_ok), "{}", turn.text);
                    let found = calls
                        .iter()
                        .map(|_| ToolResult { tool: "grep".into(), text: "no matches".into() });
                    talk.push(&[Message::Tools(found.collect())]).unwrap();
                    if matches!(step, Step::Explore { turn: 2 }) {
                        talk.push(&[Message::User("Answer now.".into())]).unwrap();
                    }
                }
                (Said::Answer(files), _) => {
                    assert!(!files.is_empty(), "{}", turn.text);
                    break;
                }
                (said, step) => panic!("{step:?}: {said:?} from {}", turn.text),
            }
        }
    }
}

#[test]
fn what_the_grammar_leaves_no_choice_in_is_marked() {
    let mut talk = chat(&**model(), "Yes or no?");
    // Letters one by one: `y` or `n`, then nothing but an end. No longer token begins with these.
    let turn =
        talk.turn(&constrained(10, "root ::= (\"@\" | \"~\") \"\\x7f\""), &Watch::idle()).unwrap();
    assert!(matches!(turn.text.as_str(), "@\u{7f}" | "~\u{7f}"), "{:?}", turn.text);
    assert_eq!(turn.trace.unwrap().forced, [false, true, false]);
}

#[test]
fn a_turn_that_is_cut_ends_by_length() {
    let mut talk = chat(&**model(), "Go.");
    let turn = talk.turn(&constrained(5, CALLS), &Watch::idle()).unwrap();
    assert_eq!((turn.end, turn.usage.generated), (TurnEnd::Length, 5));
}

#[test]
fn a_broken_grammar_is_an_error() {
    let mut talk = chat(&**model(), "Go.");
    for grammar in ["root ::= (", "start ::= \"a\"", "root ::= root \"a\"", "root ::= \"\0\"", ""] {
        let error = talk.turn(&constrained(5, grammar), &Watch::idle()).unwrap_err();
        assert!(matches!(error, ModelError::Misuse(_)), "{grammar}: {error}");
    }
    assert!(talk.turn(&greedy(2), &Watch::idle()).is_ok());
}
