//! The loop: ask for a turn, run its calls side by side, show the results, until an answer.
//!
//! Nothing here fails: bad output and failed tools are data the model sees, and every way to end
//! is a recorded [`StopReason`].

mod calls;
mod overflow;
mod room;
mod time;

use std::collections::BTreeSet;
use std::time::Instant;

use codegrep_tree::{Event, Stage, Stop, Tree, Watch};

use crate::answer;
use crate::chat::{Ask, Message, Model, ModelError, ToolResult};
use crate::conversation::Conversation;
use crate::profiles::{Profile, Said, Step};
use crate::prompt::Opening;
use crate::record::{Episode, Found, StopReason};
use crate::rules::Rules;
use crate::syntax;
use crate::tools::{Call, Pool, ToolLimits};

/// What the model is told in place of results or beside them, a sample each.
pub(crate) fn notes(limits: &ToolLimits) -> Vec<String> {
    // One for each way to write no call.
    let bad = [
        "",
        "{",
        "1",
        "{}",
        r#"{"name": "grep", "arguments": 1}"#,
        r#"{"name": "grep", "arguments": "x"}"#,
    ];
    let bad = bad.iter().flat_map(|text| syntax::calls(&format!("<tool_call>{text}</tool_call>")));
    bad.filter_map(Result::err)
        .map(|bad| calls::unreadable(&bad))
        .chain([calls::REPEATED.to_owned(), calls::beyond(limits.calls_a_turn)])
        .chain([overflow::CUT, overflow::DROPPED].map(str::to_owned))
        .collect()
}

/// What a run works with.
struct Given<'a> {
    tree: &'a dyn Tree,
    pool: &'a Pool,
    rules: &'a Rules,
    watch: &'a Watch,
}

/// What came of it so far, beside the conversation.
#[derive(Default)]
struct Progress {
    corrections: u32,
    tool_calls: u32,
    hurried: bool,
    /// A tool was stopped by its own limit or the run's.
    stopped: bool,
    /// Calls that were answered.
    asked: Vec<Call>,
    /// Files the model was shown.
    seen: BTreeSet<String>,
    files: Vec<Found>,
    unknown_paths: u32,
}

/// Runs one conversation to its end.
pub fn run(
    opening: Opening,
    tree: &dyn Tree,
    model: &dyn Model,
    pool: &Pool,
    rules: &Rules,
    watch: &Watch,
) -> Episode {
    let started = Instant::now();
    let given = Given { tree, pool, rules, watch };
    let mut progress = Progress { seen: opening.seen, ..Progress::default() };
    let mut conversation = None;
    let ended = model.open(watch).and_then(|chat| {
        let conversation = conversation.insert(Conversation::new(chat));
        converse(opening.messages, conversation, &given, &mut progress)
    });
    let (stop, error) = match ended {
        Ok(stop) => (stop, None),
        Err(ModelError::Stopped(Stop::Cancelled)) => (StopReason::Cancelled, None),
        Err(ModelError::Stopped(Stop::Deadline)) => (StopReason::Deadline, None),
        Err(ModelError::Full { .. }) => (StopReason::ContextFull, None),
        Err(error) => (StopReason::ModelError, Some(describe(&error))),
    };
    let Progress { hurried, stopped, files, unknown_paths, .. } = progress;
    let (events, stream, reproducible) =
        conversation.map_or((Vec::new(), None, false), |c| (c.events, c.stream, c.reproducible));
    Episode {
        version: Episode::VERSION,
        profile: rules.profile.name().to_owned(),
        rules_hash: rules.hash(),
        model: model.info(),
        events,
        stream,
        stop,
        error,
        files,
        unknown_paths,
        hurried,
        reproducible: reproducible && !hurried && !stopped && stop.is_reproducible(),
        ms: started.elapsed().as_millis() as u64,
    }
}

fn describe(error: &ModelError) -> String {
    match error.hint() {
        "" => error.to_string(),
        hint => format!("{error} (hint: {hint})"),
    }
}

fn converse(
    opening: Vec<Message>,
    conversation: &mut Conversation,
    given: &Given<'_>,
    progress: &mut Progress,
) -> Result<StopReason, ModelError> {
    let profile = &*given.rules.profile;
    let limits = profile.limits();
    room::push_opening(opening, conversation, profile)?;
    let mut step = match limits.explore_turns == 0 && force_answer(conversation, profile)? {
        true => Step::Answer,
        false => Step::Explore { turn: 1 },
    };
    loop {
        given.watch.check()?;
        let explores = matches!(step, Step::Explore { .. });
        let max_tokens = match room::tokens(step, conversation, profile) {
            Ok(tokens) => tokens,
            Err(_) if explores && force_answer(conversation, profile)? => {
                step = Step::Answer;
                continue;
            }
            Err(reason) => return Ok(reason),
        };
        let ask = Ask {
            constraint: profile.constraint(step, &progress.seen),
            max_tokens,
            sampling: given.rules.sampling,
        };
        report(step, progress, given);
        let turn_watch = match explores {
            true => time::leaving_an_answer(&conversation.pace, given.watch),
            false => given.watch.clone(),
        };
        let turn = match conversation.turn(step, &ask, &turn_watch) {
            Err(ModelError::Stopped(Stop::Deadline))
                if explores
                    && given.watch.check().is_ok()
                    && force_answer(conversation, profile)? =>
            {
                progress.hurried = true;
                step = Step::Answer;
                continue;
            }
            turn => turn?,
        };
        match (profile.read(&turn.text, step), step) {
            (Said::Answer(files), _) => {
                let checked = answer::check(files, given.tree, given.watch)?;
                (progress.files, progress.unknown_paths) = checked;
                return Ok(StopReason::Answered);
            }
            (Said::Calls(calls), Step::Explore { turn }) => {
                let results = calls::run(calls, conversation, given, progress)?;
                match show(results, turn, conversation, given, progress)? {
                    Next::Turn(next) => step = next,
                    Next::End(reason) => return Ok(reason),
                }
            }
            (said, _) => {
                if let Some(record) = conversation.last_turn() {
                    record.malformed = true;
                }
                if progress.corrections == limits.corrections {
                    return Ok(match said {
                        Said::Calls(_) => StopReason::Turns,
                        _ => StopReason::NoAnswer,
                    });
                }
                progress.corrections += 1;
                conversation.push(vec![Message::User(profile.correction(step).to_owned())])?;
            }
        }
    }
}

/// Asks for the answer before the turns are used up; false where the profile never does.
fn force_answer(
    conversation: &mut Conversation,
    profile: &dyn Profile,
) -> Result<bool, ModelError> {
    let Some(text) = profile.ask_answer() else { return Ok(false) };
    conversation.push(vec![Message::User(text.to_owned())])?;
    Ok(true)
}

fn report(step: Step, progress: &Progress, given: &Given<'_>) {
    let explore_turns = given.rules.profile.limits().explore_turns;
    let (turn, message) = match step {
        Step::Explore { turn } => (turn, format!("turn {turn} of {}", explore_turns + 1)),
        Step::Answer => (explore_turns + 1, "answer".to_owned()),
    };
    let tool_calls = progress.tool_calls;
    let event = Event { stage: Stage::Model, turn, tool_calls, message, candidates: None };
    given.watch.report(event);
}

enum Next {
    Turn(Step),
    End(StopReason),
}

/// Pushes the results of exploration turn `turn`, and with them the demand for an answer when
/// turns, tokens, room or time are used up.
fn show(
    results: Vec<ToolResult>,
    turn: u32,
    conversation: &mut Conversation,
    given: &Given<'_>,
    progress: &mut Progress,
) -> Result<Next, ModelError> {
    let profile = &*given.rules.profile;
    let limits = profile.limits();
    let mut space = room::for_results(conversation, profile);
    loop {
        let (shown, cut) = overflow::fit(results.clone(), space, |text| conversation.count(text));
        let size = shown.iter().map(|result| conversation.count(&result.text)).sum();
        let spent = if turn >= limits.explore_turns {
            Some(StopReason::Turns)
        } else if cut || !room::explores_again(size, conversation, profile) {
            Some(StopReason::ContextFull)
        } else if limits.generated_tokens
            < conversation.generated + limits.answer_tokens + room::LEAST
        {
            Some(StopReason::Tokens)
        } else if time::is_short(size, &conversation.pace, given.watch) {
            progress.hurried = true;
            Some(StopReason::Deadline)
        } else {
            None
        };
        let mut messages = vec![Message::Tools(shown)];
        let next = match (spent, profile.ask_answer()) {
            (None, _) => Next::Turn(Step::Explore { turn: turn + 1 }),
            (Some(_), Some(text)) => {
                messages.push(Message::User(text.to_owned()));
                Next::Turn(Step::Answer)
            }
            (Some(reason), None) => Next::End(reason),
        };
        match conversation.push(messages) {
            // Counting is an estimate: what was to fit and did not is cut further.
            Err(ModelError::Full { .. }) if space > 0 => space /= 2,
            pushed => return pushed.map(|()| next),
        }
    }
}
