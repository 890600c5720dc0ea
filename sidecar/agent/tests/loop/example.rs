use std::collections::BTreeSet;

use codegrep_agent::profiles::{CodeGrep, Profile, Step};
use codegrep_agent::tools::{self, Pool, ToolLimits};
use codegrep_agent::{Constraint, Message, syntax};
use codegrep_model::scripted::gbnf;
use codegrep_tree::fixture::Fixture;
use codegrep_tree::{DiskTree, Watch};

/// The repository of the worked example.
fn example() -> Fixture {
    Fixture::new(include_str!("example.fixture"))
}

/// What the prompt shows as results is what the tools give, byte for byte.
#[test]
fn the_worked_example_is_true() {
    let fixture = example();
    let tree = DiskTree::open(fixture.path()).unwrap();
    let opening = CodeGrep::default().opening("", "");
    let mut turns = 0;
    for pair in opening.windows(2) {
        if let [Message::Assistant(text), Message::Tools(results)] = pair {
            let calls: Vec<_> = syntax::calls(text).into_iter().map(Result::unwrap).collect();
            let (limits, pool) = (ToolLimits::default(), Pool::default());
            let observations = tools::run(&calls, &tree, &limits, &pool, &Watch::idle());
            let got: Vec<&str> = observations.iter().map(|o| o.text.as_str()).collect();
            let want: Vec<&str> = results.iter().map(|r| r.text.as_str()).collect();
            assert_eq!(got, want);
            turns += 1;
        }
    }
    assert_eq!(turns, 2);
}

/// Small models copy the example: it must be what the grammars allow.
#[test]
fn the_worked_example_follows_the_grammars() {
    let profile = CodeGrep::default();
    let steps = [Step::Explore { turn: 1 }, Step::Explore { turn: 2 }, Step::Explore { turn: 3 }];
    let opening = profile.opening("", "");
    let said: Vec<&String> = opening
        .iter()
        .filter_map(|message| match message {
            Message::Assistant(text) => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(said.len(), 3);
    for (text, step) in said.iter().zip(steps) {
        let Constraint::Calls { grammar, .. } = profile.constraint(step, &BTreeSet::new()) else {
            panic!()
        };
        assert_eq!(gbnf::matches(&grammar, text), Ok(true), "{text}");
    }
    let Constraint::Answer { grammar, .. } = profile.constraint(Step::Answer, &BTreeSet::new())
    else {
        panic!()
    };
    assert_eq!(gbnf::matches(&grammar, said[2]), Ok(true));
    assert_eq!(gbnf::matches(&grammar, said[0]), Ok(false));
}
