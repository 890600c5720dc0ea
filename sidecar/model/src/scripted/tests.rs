use codegrep_agent::{
    Ask, Chat, Constraint, Message, Model, ModelError, Sampling, ToolResult, TurnEnd, Usage,
};
use codegrep_tree::Watch;
use expect_test::expect;

use super::Scripted;

fn chat(script: &str) -> Box<dyn Chat> {
    let mut chat = Scripted::parse("s", script).unwrap().open(&Watch::idle()).unwrap();
    chat.push(&[Message::User("a task".into())]).unwrap();
    chat
}

fn ask(grammar: &str) -> Ask {
    Ask {
        constraint: Constraint::Calls { max: 8, or_answer: false, grammar: grammar.to_owned() },
        max_tokens: 100,
        sampling: Sampling::GREEDY,
    }
}

fn refused(chat: &mut dyn Chat, ask: &Ask) -> String {
    let error = chat.turn(ask, &Watch::idle()).unwrap_err();
    assert!(matches!(error, ModelError::Misuse(_)));
    error.to_string()
}

const ANY: &str = "root ::= .*";
const CALL: &str = "<tool_call>\n{\"name\": \"a\", \"arguments\": {}}\n</tool_call>";

#[test]
fn what_it_was_not_written_for_is_refused() {
    for (script, want) in [
        ("--- turn\nexpect: tusk\n\nx\n", "`tusk` is not in what was sent"),
        ("--- turn\nrefuse: task\n\nx\n", "`task` is in what was sent"),
        ("--- turn\nasked: answer\n\nx\n", "written for `answer`, asked for `calls`"),
        ("--- score\n-1\n", "the script has no more turns here"),
    ] {
        let text = refused(&mut *chat(script), &ask(ANY));
        assert!(text.contains(want), "{text}");
    }
    let text = refused(&mut *chat("--- turn\nxy\n"), &ask("root ::= \"x\""));
    assert_eq!(text, "script s, part 1: the text does not follow `calls`:\nxy");
}

#[test]
fn each_call_is_owed_one_result() {
    let mut chat = chat(&format!("--- turn\n{CALL}\n{CALL}\n"));
    chat.turn(&ask(ANY), &Watch::idle()).unwrap();
    let result = || ToolResult { tool: "a".into(), text: "none".into() };
    let error = chat.push(&[Message::Tools(vec![result()])]).unwrap_err();
    assert_eq!(error.to_string(), "script s, part 2: 1 results for 2 calls");
    chat.push(&[Message::Tools(vec![result(), result()])]).unwrap();
}

#[test]
fn a_full_context_takes_nothing() {
    let mut chat = chat("capacity: 16\n--- turn\nabcdefgh\n");
    let used = chat.room().used;
    let error = chat.push(&[Message::User("x".repeat(400))]).unwrap_err();
    assert!(matches!(error, ModelError::Full { capacity: 16, .. }));
    assert_eq!(chat.room().used, used);
    let turn = chat.turn(&ask(ANY), &Watch::idle()).unwrap();
    assert_eq!((turn.text.as_str(), turn.end), ("abcdefgh", TurnEnd::Stop));
}

#[test]
fn usage_counts_each_token_once() {
    let mut chat = chat("--- turn\nabcdefgh\n--- turn\nabcdefgh\n");
    let first = chat.turn(&Ask { max_tokens: 1, ..ask(ANY) }, &Watch::idle()).unwrap();
    assert_eq!((first.text.as_str(), first.end), ("abcd", TurnEnd::Length));
    chat.push(&[Message::User("more".into())]).unwrap();
    let second = chat.turn(&ask(ANY), &Watch::idle()).unwrap();
    // The end marker that was cut off and the next header; one token of text; the closing and the
    // header of the turn.
    assert_eq!(second.usage, Usage { prompt_new: 4, evaluated: Some(4), generated: 3 });
    let total = first.usage.prompt_new + 1 + 4 + 3;
    assert_eq!(chat.room().used, total);
}

#[test]
fn forks_go_on_by_themselves() {
    let mut chat = chat("--- turn\na\n--- score\n-1 -2.5\n--- turn\nb\n");
    chat.turn(&ask(ANY), &Watch::idle()).unwrap();
    let mut forks = chat.fork(2).unwrap();
    for fork in &mut forks {
        let options = ["x".to_owned(), "y".to_owned()];
        assert_eq!(fork.score("", &options, &Watch::idle()).unwrap(), [-1.0, -2.5]);
        fork.push(&[Message::User("go".into())]).unwrap();
        assert_eq!(fork.turn(&ask(ANY), &Watch::idle()).unwrap().text, "b");
    }
    assert!(chat.score("", &[], &Watch::idle()).is_err());
}

#[test]
fn a_script_that_cannot_be_read_says_why() {
    let mut out = String::new();
    for script in ["", "speed: 9\n--- turn\nx", "--- twist\n", "--- turn\ndelay: soon\n\nx"] {
        let error = Scripted::parse("s", script).unwrap_err();
        out += &format!("{error}\n");
    }
    expect![[r#"
        the script cannot be read: there is no `--- turn` in it
        the script cannot be read: `speed: 9` is no setting (name, capacity)
        the script cannot be read: `--- twist` is neither turn nor score
        the script cannot be read: `soon` in `delay: soon` is no number
    "#]]
    .assert_eq(&out);
}
