//! The whole loop with a real model.

use std::path::Path;
use std::time::Duration;

use codegrep_agent::record::Event;
use codegrep_agent::tools::Pool;
use codegrep_agent::{Engines, Outcome, Request, Rules, answer};
use codegrep_model::{LlamaConfig, ModelConfig};
use codegrep_plugin_sdk::{EngineKind, RetrieveResponse, Stop};
use codegrep_rank::Ranker;
use codegrep_tests::{Codegrep, SHOP, SHOP_REPORT, checkout, test_model};
use codegrep_tree::fixture::Fixture;
use codegrep_tree::{DiskTree, Watch};

/// No run on a busy machine takes this long.
const BUDGET: Duration = Duration::from_secs(300);

/// What the binary says, and what holds for every run however small the model.
fn find(repo: &Path, budget: Duration, text: &str) -> RetrieveResponse {
    let answer = Codegrep::new(["find", "--json", "--no-gate", "--model"])
        .arg(test_model())
        .args(["--budget-ms", &budget.as_millis().to_string(), "--repo"])
        .arg(repo)
        .arg(text)
        // An overrun that is no busy machine's: a loop that does not heed its budget.
        .timeout(budget + Duration::from_secs(60))
        .run()
        .answer();
    assert!(answer.turns <= 4 && answer.tool_calls <= 24, "{answer:#?}");
    assert!(answer.tokens.output <= 4096, "{answer:#?}");
    for file in &answer.files {
        assert!(Path::new(&file.root).join(&file.path).is_file(), "{file:#?}");
    }
    answer
}

/// The record of a run, every turn of it.
fn episode(repo: &Path, text: &str) -> Outcome {
    let config = ModelConfig::Llama(LlamaConfig::new(test_model()));
    let model = codegrep_model::open(&config, &Watch::idle()).unwrap();
    let engines =
        Engines { ranker: &Ranker::default(), model: Some(&*model), pool: &Pool::default() };
    let request = Request { text: text.into(), max_files: 3, gate: false };
    let tree = DiskTree::open(repo).unwrap();
    answer(&request, &tree, engines, &Rules::default(), &Watch::idle()).unwrap()
}

#[test]
fn the_loop_runs_to_its_end_through_the_binary() {
    let repo = Fixture::new(SHOP);
    let answer = find(repo.path(), BUDGET, SHOP_REPORT);
    assert_eq!(answer.stop, Stop::Answered, "{answer:#?}");
    assert!(answer.turns >= 2 && answer.tool_calls >= 1, "{answer:#?}");
    assert!(answer.tokens.input > 0 && answer.tokens.output > 0, "{answer:#?}");
    assert!(!answer.files.is_empty(), "{answer:#?}");
    if answer.engine.kind == EngineKind::Agent {
        assert!(answer.warnings.is_empty(), "{answer:#?}");
    }
}

#[test]
fn every_call_is_valid_and_nothing_is_evaluated_twice() {
    let repo = Fixture::new(SHOP);
    let text = "A path that climbs above the repository's root is not refused by the read tool";
    for outcome in [episode(repo.path(), SHOP_REPORT), episode(checkout(), text)] {
        let episode = outcome.episode.expect("a model took part");
        let turns: Vec<_> = episode
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Turn(turn) => Some(turn),
                Event::Ours(_) => None,
            })
            .collect();
        assert!(turns.len() >= 2, "{episode:#?}");
        for turn in turns {
            assert!(!turn.malformed, "{turn:#?}");
            for call in &turn.calls {
                assert!(["grep", "glob", "read"].contains(&&*call.name), "{call:#?}");
            }
            assert_eq!(turn.usage.evaluated, Some(turn.usage.prompt_new), "{turn:#?}");
        }
        assert!(episode.reproducible, "{episode:#?}");
        let stream = episode.stream.expect("token ids");
        assert_eq!(
            (stream.ids.len(), stream.ids.len()),
            (stream.mask.len(), stream.logprobs.len())
        );
    }
}

#[test]
fn the_same_question_gets_the_same_answer() {
    let repo = Fixture::new(SHOP);
    let [mut first, mut second] = [(); 2].map(|()| find(repo.path(), BUDGET, SHOP_REPORT));
    assert!(first.reproducible && second.reproducible, "{first:#?}");
    first.ms = Default::default();
    second.ms = Default::default();
    assert_eq!(first, second);
}

#[test]
fn a_budget_too_short_for_the_model_still_gives_the_lexical_answer() {
    let repo = Fixture::new(SHOP);
    let answer = find(repo.path(), Duration::from_millis(500), SHOP_REPORT);
    assert_eq!(answer.files[0].path, "shop/discounts.py", "{answer:#?}");
}
