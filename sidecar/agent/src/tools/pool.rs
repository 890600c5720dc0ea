use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use codegrep_tree::{Stop, Watch};

/// How much tool work a process does at once, shared by all its requests: as many threads as the
/// machine has cores, and [`Pool::CALLS`] calls in flight. Who waits is served in order.
///
/// Threads are those of the requests and short-lived ones beside them, each holding a place while
/// it works; a queue of jobs would leave a cancelled request waiting behind another one's grep.
pub struct Pool {
    pub(super) threads: Gate,
    pub(super) calls: Gate,
}

impl Pool {
    /// `spec/1-retriever`: tool calls in flight in one process.
    pub const CALLS: usize = 64;

    /// `threads` work at once, at least one.
    pub fn new(threads: usize) -> Self {
        Self { threads: Gate::new(threads.max(1)), calls: Gate::new(Self::CALLS) }
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, |n| n.get()))
    }
}

/// A counting semaphore that serves in order of arrival and whose waiters can be cancelled.
pub(super) struct Gate {
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    used: usize,
    next: u64,
    waiting: VecDeque<u64>,
}

impl Gate {
    /// A [`Watch`] wakes nobody, so waiters look at it this often.
    const LOOK: Duration = Duration::from_millis(20);

    fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default(), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for `places` (never more than there are).
    pub(super) fn enter(&self, places: usize, watch: &Watch) -> Result<Pass<'_>, Stop> {
        let places = places.min(self.limit);
        let mut state = self.state();
        let ticket = state.next;
        state.next += 1;
        state.waiting.push_back(ticket);
        loop {
            let stop = watch.check();
            let first = state.waiting.front() == Some(&ticket);
            if stop.is_ok() && !(first && state.used + places <= self.limit) {
                let waited = self.changed.wait_timeout(state, Self::LOOK);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            state.waiting.retain(|waiting| *waiting != ticket);
            self.changed.notify_all();
            stop?;
            state.used += places;
            return Ok(Pass { gate: self, places });
        }
    }

    /// One place, if it is free and nobody waits.
    pub(super) fn try_enter(&self) -> Option<Pass<'_>> {
        let mut state = self.state();
        if state.used == self.limit || !state.waiting.is_empty() {
            return None;
        }
        state.used += 1;
        Some(Pass { gate: self, places: 1 })
    }
}

/// Places held; given back when dropped.
pub(super) struct Pass<'a> {
    gate: &'a Gate,
    places: usize,
}

impl Pass<'_> {
    /// Goes to the back of the queue when others wait.
    pub(super) fn give_way(&mut self, watch: &Watch) -> Result<(), Stop> {
        if self.gate.state().waiting.is_empty() {
            return Ok(());
        }
        let places = self.places;
        self.leave();
        *self = self.gate.enter(places, watch)?;
        Ok(())
    }

    fn leave(&mut self) {
        self.gate.state().used -= self.places;
        self.places = 0;
        self.gate.changed.notify_all();
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_more_at_once_than_there_are_places() {
        let gate = Gate::new(2);
        let inside = Mutex::new((0, 0));
        let watch = Watch::idle();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let mut pass = gate.enter(1, &watch).unwrap();
                        {
                            let mut inside = inside.lock().unwrap();
                            inside.0 += 1;
                            inside.1 = inside.1.max(inside.0);
                        }
                        std::thread::yield_now();
                        inside.lock().unwrap().0 -= 1;
                        pass.give_way(&watch).unwrap();
                    }
                });
            }
        });
        assert_eq!(*inside.lock().unwrap(), (0, 2));
        assert!(gate.enter(2, &watch).is_ok());
    }

    #[test]
    fn a_waiter_can_be_cancelled_and_leaves_the_queue() {
        let gate = Gate::new(1);
        let held = gate.try_enter().unwrap();
        assert!(gate.try_enter().is_none());
        let watch = Watch::idle();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| gate.enter(1, &watch).map(drop));
            watch.cancel();
            assert_eq!(waiter.join().unwrap(), Err(Stop::Cancelled));
        });
        drop(held);
        assert!(gate.enter(5, &Watch::idle()).is_ok());
    }
}
