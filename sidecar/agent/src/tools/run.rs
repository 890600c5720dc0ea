use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use codegrep_tree::{Stop, Tree, Watch};

use super::args::{self, Asked, Glob, Read};
use super::context::Context;
use super::page::clean;
use super::pool::Pass;
use super::sweep::Sweep;
use super::{Call, Observation, Pool, ToolLimits, glob, grep, read};

/// Carries out the calls of one turn side by side. One observation a call, in order; a cancel is
/// heeded within 100 ms, and what was found by then is shown.
pub fn run(
    calls: &[Call],
    tree: &dyn Tree,
    limits: &ToolLimits,
    pool: &Pool,
    watch: &Watch,
) -> Vec<Observation> {
    let cx = Context::new(tree, limits, watch);
    let most = limits.calls_a_turn;
    let (asked, beyond) = calls.split_at(calls.len().min(most));
    let results: Vec<Answer> = asked.iter().map(|_| Answer::default()).collect();
    let stopped = turn(asked, &results, &cx, pool).err().unwrap_or(Stop::Cancelled);
    let results = results.into_iter().map(|result| {
        let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
        result.unwrap_or_else(|| Observation::stopped(format!("not run: {stopped}")))
    });
    let beyond = beyond.iter().map(|_| Observation::error(format!("not run: {most} calls a turn")));
    results.chain(beyond).collect()
}

type Answer = Mutex<Option<Observation>>;

/// A call that one thread carries out alone.
enum Single {
    Glob(Glob),
    Read(Read),
}

fn turn(calls: &[Call], results: &[Answer], cx: &Context<'_>, pool: &Pool) -> Result<(), Stop> {
    let _calls = pool.calls.enter(calls.len(), cx.watch)?;
    let mut pass = pool.threads.enter(1, cx.watch)?;
    let answer = |call: usize, mut observation: Observation, began: Instant| {
        observation.text = clean(&observation.text, cx.limits.result_chars);
        observation.took = began.elapsed();
        *results[call].lock().unwrap_or_else(PoisonError::into_inner) = Some(observation);
    };
    // Answered, but more would have been tried with more time.
    let halted = |call: usize| {
        let mut result = results[call].lock().unwrap_or_else(PoisonError::into_inner);
        result.iter_mut().for_each(|observation| observation.stopped = true);
    };
    let mut singles = Vec::new();
    let mut greps = Vec::new();
    for (call, asked) in calls.iter().enumerate() {
        cx.watch.check()?;
        match args::parse(asked) {
            Ok(Asked::Glob(asked)) => singles.push((call, Single::Glob(asked))),
            Ok(Asked::Read(asked)) => singles.push((call, Single::Read(asked))),
            Ok(Asked::Grep(asked)) => match grep::plan(asked, cx) {
                Ok(grep) => greps.push((call, grep)),
                Err(refused) => answer(call, refused, cx.began),
            },
            Err(message) => answer(call, Observation::error(message), cx.began),
        }
    }
    let grep_watch = cx.watch.within(cx.limits.grep_time);
    let next = AtomicUsize::new(0);
    let mut again = false;
    loop {
        let sweeps = Sweep::group(std::mem::take(&mut greps));
        let work = |first: usize, pass: &mut Pass<'_>| -> Result<(), Stop> {
            while let Some((call, single)) = singles.get(next.fetch_add(1, Ordering::Relaxed)) {
                cx.watch.check()?;
                let began = Instant::now();
                let observation = match single {
                    Single::Glob(asked) => glob::run(asked, cx),
                    Single::Read(asked) => read::run(asked, cx),
                };
                answer(*call, observation, began);
                pass.give_way(cx.watch)?;
            }
            // Each thread begins elsewhere, so that places are listed side by side.
            for at in 0..sweeps.len() {
                sweeps[(first + at) % sweeps.len()].work(cx, &grep_watch, pass)?;
            }
            Ok(())
        };
        let parts = singles.len() + sweeps.iter().map(Sweep::parts).sum::<usize>();
        let outcome = std::thread::scope(|scope| {
            for helper in 1..parts {
                let Some(mut pass) = pool.threads.try_enter() else { break };
                let work = &work;
                // A helper stops for the reason the first thread stops for.
                scope.spawn(move || work(helper, &mut pass));
            }
            work(0, &mut pass)
        });
        for (call, grep, observation) in sweeps.into_iter().flat_map(|s| s.finish(cx, &grep_watch))
        {
            let none = observation.hits == 0;
            if none && !observation.error && !again && cx.limits.forgiving {
                greps.extend(grep.meant().map(|meant| (call, meant)));
            }
            // What was meant only counts where it is found.
            if !(none && again) {
                answer(call, observation, cx.began);
            } else if observation.stopped {
                halted(call);
            }
        }
        if outcome.is_err() {
            greps.iter().for_each(|(call, _)| halted(*call));
        }
        outcome?;
        if greps.is_empty() {
            return Ok(());
        }
        again = true;
    }
}
