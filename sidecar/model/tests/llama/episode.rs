use std::collections::BTreeSet;

use codegrep_agent::prompt::Opening;
use codegrep_agent::tools::Pool;
use codegrep_agent::{Rules, StopReason, turns};
use codegrep_tree::fixture::Fixture;
use codegrep_tree::{DiskTree, Watch};

use crate::common::{config, open};

/// A whole run of the loop: the grammars keep a small model to calls that can be read and to files
/// it was shown, and nothing the model has seen is evaluated again.
#[test]
fn a_run_evaluates_each_token_once() {
    let fixture = Fixture::new(
        r#"
        //- /shop/cart.py
        def total(prices, discount):
            return sum(prices) - discount
        //- /shop/views.py
        from shop.cart import total

        def show(cart):
            return render(total(cart.prices, cart.discount))
        "#,
    );
    let tree = DiskTree::open(fixture.path()).unwrap();
    let rules = Rules::default();
    let opening = Opening {
        messages: rules.profile.opening("total() ignores the discount", ""),
        seen: BTreeSet::from(["shop/cart.py".to_owned(), "shop/views.py".to_owned()]),
    };
    let (pool, watch) = (Pool::default(), Watch::idle());
    let episode = turns::run(opening, &tree, &*open(config()), &pool, &rules, &watch);

    assert_eq!((episode.stop, &episode.error), (StopReason::Answered, &None));
    assert!(!episode.files.is_empty() && episode.unknown_paths == 0, "{:?}", episode.files);
    assert!(episode.tool_calls() > 0);
    for turn in episode.turns() {
        assert_eq!(turn.usage.evaluated, Some(turn.usage.prompt_new));
        assert!(!turn.malformed && turn.calls.iter().all(|call| !call.name.is_empty()));
    }
    let stream = episode.stream.as_ref().unwrap();
    assert_eq!((stream.mask.len(), stream.logprobs.len()), (stream.ids.len(), stream.ids.len()));
    let chosen = stream.mask.iter().filter(|mask| **mask == 1).count();
    assert!(chosen > 0 && chosen <= episode.tokens().1 as usize);
}
