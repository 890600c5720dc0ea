use std::time::Instant;

use super::{Given, Progress, time};
use crate::chat::{ModelError, ToolResult};
use crate::conversation::Conversation;
use crate::record::{CallRecord, Shown};
use crate::syntax::BadCall;
use crate::tools::{self, Call, Observation};

/// Instead of the result of a call that was made before.
pub(super) const REPEATED: &str = "already called: the result is above";

/// Instead of the result of a call too many.
pub(super) fn beyond(most: usize) -> String {
    format!("not run: {most} calls a turn")
}

/// Instead of the result of what could not be read as a call.
pub(super) fn unreadable(bad: &BadCall) -> String {
    format!("error: {bad}")
}

/// Carries out the calls of the last turn and records them. A call that was made before in this
/// run is not run again, its result stands above: small models write the same one eight times, and
/// each long result costs them a turn's time.
pub(super) fn run(
    calls: Vec<Result<Call, BadCall>>,
    conversation: &mut Conversation,
    given: &Given<'_>,
    progress: &mut Progress,
) -> Result<Vec<ToolResult>, ModelError> {
    let started = Instant::now();
    let limits = &given.rules.profile.limits().tools;
    let most = limits.calls_a_turn;
    let error = |text| Observation { text, error: true, ..Observation::default() };
    let mut fresh: Vec<Call> = Vec::new();
    for call in calls.iter().take(most).flatten() {
        if !progress.asked.contains(call) && !fresh.contains(call) {
            fresh.push(call.clone());
        }
    }
    let watch = time::leaving_an_answer(&conversation.pace, given.watch);
    let observations = tools::run(&fresh, given.tree, limits, given.pool, &watch);
    let mut observations: Vec<Option<Observation>> = observations.into_iter().map(Some).collect();
    let mut records = Vec::with_capacity(calls.len());
    let mut results = Vec::with_capacity(calls.len());
    for (i, call) in calls.iter().enumerate() {
        let observation = match call {
            _ if i >= most => error(beyond(most)),
            Err(bad) => error(unreadable(bad)),
            Ok(call) => {
                let at = fresh.iter().position(|asked| asked == call);
                match at.and_then(|at| observations.get_mut(at)?.take()) {
                    Some(observation) => {
                        // What was stopped may be asked again: it was not answered.
                        if !observation.stopped {
                            progress.asked.push(call.clone());
                        }
                        observation
                    }
                    None => Observation { text: REPEATED.to_owned(), ..Observation::default() },
                }
            }
        };
        progress.stopped |= observation.stopped;
        progress.seen.extend(observation.seen.iter().map(|path| path.as_str().to_owned()));
        let tool = call.as_ref().map_or(String::new(), |call| call.name.clone());
        results.push(ToolResult { tool, text: observation.text.clone() });
        records.push(record(call.as_ref().ok(), &observation));
    }
    progress.tool_calls += records.len() as u32;
    if let Some(turn) = conversation.last_turn() {
        turn.calls = records;
        turn.tools_ms = started.elapsed().as_millis() as u64;
    }
    given.watch.check()?;
    Ok(results)
}

fn record(call: Option<&Call>, observation: &Observation) -> CallRecord {
    let mut shown: Vec<Shown> = Vec::new();
    for line in &observation.lines {
        match shown.last_mut() {
            Some(last) if last.path == line.path.as_str() && last.end + 1 == line.number => {
                last.end = line.number;
            }
            _ => shown.push(Shown {
                path: line.path.as_str().to_owned(),
                start: line.number,
                end: line.number,
            }),
        }
    }
    CallRecord {
        name: call.map_or_else(String::new, |call| call.name.clone()),
        arguments: call.map_or_else(Default::default, |call| call.arguments.clone()),
        error: observation.error,
        hits: observation.hits,
        cut: observation.cut,
        seen: observation.seen.iter().map(|path| path.as_str().to_owned()).collect(),
        shown,
        ms: observation.took.as_millis() as u64,
    }
}
