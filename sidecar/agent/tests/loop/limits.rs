use codegrep_agent::prompt::Opening;
use codegrep_agent::tools::Pool;
use codegrep_agent::{Message, Rules, StopReason, turns};
use codegrep_tree::{DiskTree, Watch};

use crate::given::{ANSWER, opening, repository, scripted};

/// A task of a megabyte is cut in its middle; a small context cuts it further.
#[test]
fn a_huge_task_leaves_room_for_the_search() {
    let fixture = repository();
    let tree = DiskTree::open(fixture.path()).unwrap();
    let rules = Rules::default();
    let task = format!("It begins here.{}It ends here.", "x ".repeat(500_000));
    let opening = opening(&task, &rules);
    let script = format!(
        "capacity: 4000\n--- turn\nunconstrained\nexpect: It begins here.\nexpect: characters left out]\n\
         expect: It ends here.\n\n{ANSWER}\n"
    );
    let model = scripted(&script);
    let (pool, watch) = (Pool::default(), Watch::idle());
    let episode = turns::run(opening, &tree, &model, &pool, &rules, &watch);
    assert_eq!((episode.stop, episode.error), (StopReason::Answered, None));
}

#[test]
fn an_opening_without_a_task_is_an_error_of_ours() {
    let fixture = repository();
    let tree = DiskTree::open(fixture.path()).unwrap();
    let opening =
        Opening { messages: vec![Message::Assistant("x".to_owned())], seen: Default::default() };
    let (model, rules) = (scripted("--- turn\nx\n"), Rules::default());
    let episode = turns::run(opening, &tree, &model, &Pool::default(), &rules, &Watch::idle());
    assert_eq!(episode.stop, StopReason::ModelError);
}
