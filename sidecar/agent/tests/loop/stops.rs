use std::time::{Duration, Instant};

use codegrep_agent::tools::ToolLimits;
use codegrep_agent::{Limits, Rules, StopReason};
use codegrep_tree::Watch;

use crate::given::{ANSWER, GREP, calls, repository, run, run_under, shown, under};

#[test]
fn an_early_answer_ends_the_run() {
    let calls = calls(&[GREP]);
    let episode = run(&format!("--- turn\n{calls}\n--- turn\n{ANSWER}\n"));
    assert_eq!((episode.stop, episode.turns().count()), (StopReason::Answered, 2));
    // A model that follows no grammar may answer at once.
    let episode = run(&format!("--- turn\nunconstrained\n\nIt is here: {ANSWER}\n"));
    assert_eq!((episode.stop, episode.turns().count()), (StopReason::Answered, 1));
}

#[test]
fn one_malformed_turn_is_corrected_and_costs_no_turn() {
    let calls = calls(&[GREP]);
    let episode = run(&format!(
        "--- turn\nunconstrained\n\nLet me think.\n\
         --- turn\nasked: calls\nexpect: neither a tool call nor an answer\n\n{calls}\n\
         --- turn\n{calls}\n--- turn\n{calls}\n--- turn\nasked: answer\n\n{ANSWER}\n"
    ));
    assert_eq!((episode.stop, episode.turns().count()), (StopReason::Answered, 5));
    let malformed: Vec<bool> = episode.turns().map(|turn| turn.malformed).collect();
    assert_eq!(malformed, [true, false, false, false, false]);
}

#[test]
fn the_second_malformed_turn_ends_as_no_answer() {
    let calls = calls(&[GREP]);
    for script in [
        "--- turn\nunconstrained\n\nHm.\n--- turn\nunconstrained\n\nHm.\n".to_owned(),
        format!("--- turn\nunconstrained\n\nHm.\n--- turn\n{calls}\n--- turn\nunconstrained\n\n\n"),
    ] {
        let episode = run(&script);
        assert_eq!((episode.stop, &episode.error), (StopReason::NoAnswer, &None));
    }
}

#[test]
fn calls_in_the_answer_turn_are_not_run_and_end_as_turns() {
    let calls = calls(&[GREP]);
    let explore = format!("--- turn\n{calls}\n").repeat(3);
    let stubborn = format!("--- turn\nasked: answer\nunconstrained\n\n{calls}\n");
    let episode = run(&format!("{explore}{stubborn}{stubborn}"));
    assert_eq!((episode.stop, episode.turns().count()), (StopReason::Turns, 5));
    assert_eq!(episode.tool_calls(), 3);
    let episode = run(&format!("{explore}{stubborn}--- turn\nexpect: no answer\n\n{ANSWER}\n"));
    assert_eq!(episode.stop, StopReason::Answered);
}

#[test]
fn a_script_that_runs_out_is_a_model_error_with_a_reason() {
    let episode = run(&format!("--- turn\n{}\n", calls(&[GREP])));
    assert_eq!(episode.stop, StopReason::ModelError);
    assert_eq!(
        episode.error.as_deref(),
        Some("script script, part 2: the script has no more turns here")
    );
    assert_eq!(episode.tool_calls(), 1);
}

#[test]
fn a_failing_model_is_a_model_error_with_its_hint() {
    let episode = run("--- turn\nfail: the server went away\n");
    assert_eq!(episode.stop, StopReason::ModelError);
    assert_eq!(episode.error.as_deref(), Some("the server went away (hint: the script says so)"));
    assert!(!episode.reproducible, "another time it may not fail");
}

#[test]
fn the_generation_budget_ends_the_search_and_keeps_the_answer() {
    let few = |tokens| under(Limits { generated_tokens: tokens, ..Limits::default() });
    let many = calls(&[GREP; 5]);
    // 390 - 320 for the answer: the first turn is cut, the answer is asked for at once.
    let episode = run_under(
        &repository(),
        &format!("--- turn\n{many}\n--- turn\nasked: answer\n\n{ANSWER}\n"),
        &few(390),
        &Watch::idle(),
    );
    assert_eq!((episode.stop, episode.turns().count()), (StopReason::Answered, 2));
    assert_eq!(episode.turns().next().unwrap().usage.generated, 70);
    assert!(episode.turns().next().unwrap().calls.last().unwrap().error);
    let episode = run_under(&repository(), "--- turn\nx\n", &few(10), &Watch::idle());
    assert_eq!((episode.stop, episode.turns().count()), (StopReason::Tokens, 0));
}

#[test]
fn an_answer_cut_by_its_limit_keeps_its_whole_files() {
    let short = Limits { answer_tokens: 32, explore_turns: 1, ..Limits::default() };
    let answer = r#"{"files": [{"path": "backup/copy.py", "line_ranges": [[3, 6]]}, {"path": "backup/progress.py", "line_ranges": [[1, 2], [3, 3], [1, 3]]}]}"#;
    let episode = run_under(
        &repository(),
        &format!("--- turn\n{}\n--- turn\n{answer}\n", calls(&[GREP])),
        &under(short),
        &Watch::idle(),
    );
    assert_eq!((episode.stop, episode.files.len()), (StopReason::Answered, 1));
}

#[test]
fn without_exploration_turns_the_answer_is_asked_for_at_once() {
    let none = under(Limits { explore_turns: 0, ..Limits::default() });
    let script = format!("--- turn\nasked: answer\nexpect: Answer now\n\n{ANSWER}\n");
    let episode = run_under(&repository(), &script, &none, &Watch::idle());
    assert_eq!((episode.stop, episode.error.as_deref()), (StopReason::Answered, None));
}

#[test]
fn a_context_without_room_for_the_prompt_is_full() {
    let episode = run("capacity: 300\n--- turn\nx\n");
    assert_eq!((episode.stop, episode.turns().count()), (StopReason::ContextFull, 0));
}

#[test]
fn an_observation_that_overflows_is_cut_and_the_answer_forced() {
    let fixture = repository();
    fixture.write("long.txt", "a line of the long file\n".repeat(150));
    let read = r#"{"name": "read", "arguments": {"path": "long.txt"}}"#;
    let script = format!(
        "capacity: 2100\n--- turn\n{}\n\
         --- turn\nasked: answer\nexpect: (cut: the context is full)\nexpect: ProgressBar\n\n{ANSWER}\n",
        calls(&[read, GREP])
    );
    let episode = run_under(&fixture, &script, &Rules::default(), &Watch::idle());
    assert_eq!((episode.stop, episode.error.as_deref()), (StopReason::Answered, None));
    assert!(shown(&episode)[0].contains("a line of the long file"));
}

#[test]
fn a_ninth_call_is_not_run() {
    let greps: Vec<String> = (0..9)
        .map(|n| format!(r#"{{"name": "grep", "arguments": {{"pattern": "bar.{{0,{n}}}"}}}}"#))
        .collect();
    let nine = calls(&greps.iter().map(String::as_str).collect::<Vec<_>>());
    let episode = run(&format!("--- turn\nunconstrained\n\n{nine}\n--- turn\n{ANSWER}\n"));
    let results = shown(&episode);
    assert_eq!(results[8], "not run: 8 calls a turn");
    assert!(results[7].contains("backup/copy.py:4"), "{results:?}");
    assert_eq!(episode.tool_calls(), 9);
}

#[test]
fn a_repeated_call_is_run_once() {
    let glob = r#"{"name": "glob", "arguments": {"pattern": "*.md"}}"#;
    let (first, second) = (calls(&[GREP, glob, GREP]), calls(&[glob]));
    let episode = run(&format!("--- turn\n{first}\n--- turn\n{second}\n--- turn\n{ANSWER}\n"));
    let results = shown(&episode);
    assert!(results[0].contains("backup/copy.py:4"), "{results:?}");
    let again = "already called: the result is above";
    assert_eq!(results[1..], ["README.md", again, again]);
    assert_eq!(episode.tool_calls(), 4);
}

/// What time took from the model is not repeated to it as done.
#[test]
fn a_call_that_was_stopped_may_be_made_again() {
    let tools = ToolLimits { grep_time: Duration::ZERO, ..ToolLimits::default() };
    let rules = under(Limits { tools, answer_seen: false, ..Limits::default() });
    let (first, second) = (calls(&[GREP, GREP]), calls(&[GREP]));
    let script = format!("--- turn\n{first}\n--- turn\n{second}\n--- turn\n{ANSWER}\n");
    let episode = run_under(&repository(), &script, &rules, &Watch::idle());
    let stopped = "error: stopped after 0ns while listing files";
    assert_eq!(shown(&episode), [stopped, "already called: the result is above", stopped]);
    assert_eq!(episode.stop, StopReason::Answered);
    assert!(!episode.reproducible, "another time may do");
}

#[test]
fn a_bad_call_is_answered_in_its_place() {
    let episode = run(&format!(
        "--- turn\nunconstrained\n\n<tool_call>\n{{\"name\": \"grep\"\n</tool_call>\n{}\n--- turn\n{ANSWER}\n",
        calls(&[GREP, r#"{"name": "fly", "arguments": {}}"#])
    ));
    let results = shown(&episode);
    assert!(results[0].starts_with("error: not a tool call: invalid JSON"), "{results:?}");
    assert!(results[1].contains("backup/copy.py:4"), "{results:?}");
    assert!(results[2].starts_with("error: "), "{results:?}");
    let errors: Vec<bool> = episode.turns().next().unwrap().calls.iter().map(|c| c.error).collect();
    assert_eq!(errors, [true, false, true]);
}

#[test]
fn a_deadline_before_any_turn_ends_as_deadline() {
    let watch = Watch::idle().within(Duration::from_millis(60));
    let started = Instant::now();
    let script = "--- turn\ndelay: 60000ms\nunconstrained\n\nx\n--- turn\ndelay: 60000ms\nunconstrained\n\nx\n";
    let episode = run_under(&repository(), script, &Rules::default(), &watch);
    assert_eq!(episode.stop, StopReason::Deadline);
    assert!(!episode.reproducible);
    assert!(started.elapsed() < Duration::from_secs(10));
}

/// The first turn is stopped while there is time for an answer, which is then forced.
#[test]
fn a_slow_turn_gives_way_to_the_answer() {
    let watch = Watch::idle().within(Duration::from_secs(2));
    let script = format!(
        "--- turn\nasked: calls\ndelay: 60000ms\nunconstrained\n\nx\n\
         --- turn\nasked: answer\nexpect: Answer now\n\n{ANSWER}\n"
    );
    let episode = run_under(&repository(), &script, &Rules::default(), &watch);
    assert_eq!((episode.stop, episode.error.as_deref()), (StopReason::Answered, None));
    assert!(episode.hurried && !episode.reproducible);
}

#[test]
fn a_cancel_ends_the_run_at_once() {
    let watch = Watch::idle();
    let canceller = watch.clone();
    let started = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            canceller.cancel();
        });
        let script = "--- turn\ndelay: 60000ms\nunconstrained\n\nx\n";
        let episode = run_under(&repository(), script, &Rules::default(), &watch);
        assert_eq!((episode.stop, episode.reproducible), (StopReason::Cancelled, false));
    });
    assert!(started.elapsed() < Duration::from_secs(10));
}

/// The grammar knows only files that were shown; what was not shown is no answer.
#[test]
fn a_grammar_holds_the_answer_to_files_that_were_seen() {
    let script = |file: &str| {
        format!(
            "--- turn\n{}\n--- turn\n{{\"files\": [{{\"path\": \"{file}\", \"line_ranges\": []}}]}}\n",
            calls(&[GREP])
        )
    };
    assert_eq!(run(&script("backup/progress.py")).stop, StopReason::Answered);
    assert_eq!(run(&script("README.md")).stop, StopReason::ModelError);
    let free = under(Limits { answer_seen: false, ..Limits::default() });
    let episode = run_under(&repository(), &script("README.md"), &free, &Watch::idle());
    assert_eq!(episode.stop, StopReason::Answered);
}
