use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use codegrep_tree::{Entry, READ_LIMIT, Stop, Tree, TreeError, Watch};

use super::Observation;
use super::context::{Context, LISTING, Walked};
use super::grep::{Grep, Place};
use super::pool::Pass;
use super::scan::{Hit, Scanner};
use super::text::load;

/// The greps of a turn that look in the same place: its files are listed once and read once for
/// all of them. Any number of threads may work on it.
pub(super) struct Sweep {
    place: Place,
    greps: Vec<Member>,
    /// The file from which the next batch begins.
    next: AtomicUsize,
    /// Files left over by slow greps, so that these hold up no other: file and grep.
    later: Mutex<VecDeque<(usize, usize)>>,
}

struct Member {
    /// Which call it answers.
    call: usize,
    grep: Grep,
    nanos: AtomicU64,
    bytes: AtomicU64,
}

/// Files a thread takes at a time.
const BATCH: usize = 16;

/// A grep that has taken this long at less than this pace is slow.
const SLOW: Duration = Duration::from_millis(500);
const SLOW_BYTES_A_SECOND: u64 = 20 << 20;

impl Member {
    fn is_slow(&self) -> bool {
        let spent = Duration::from_nanos(self.nanos.load(Ordering::Relaxed));
        let bytes = self.bytes.load(Ordering::Relaxed) as f64;
        spent > SLOW && bytes < SLOW_BYTES_A_SECOND as f64 * spent.as_secs_f64()
    }
}

impl Sweep {
    /// Greps by the place they look in.
    pub(super) fn group(greps: Vec<(usize, Grep)>) -> Vec<Self> {
        let mut sweeps: Vec<Self> = Vec::new();
        for (call, grep) in greps {
            let at = sweeps.iter().position(|sweep| sweep.place == grep.place);
            let at = at.unwrap_or_else(|| {
                sweeps.push(Self {
                    place: grep.place.clone(),
                    greps: Vec::new(),
                    next: AtomicUsize::new(0),
                    later: Mutex::default(),
                });
                sweeps.len() - 1
            });
            let (nanos, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
            sweeps[at].greps.push(Member { call, grep, nanos, bytes });
        }
        sweeps
    }

    /// Threads that could be of use, roughly.
    pub(super) fn parts(&self) -> usize {
        match self.place {
            Place::Below(_) => usize::from(u8::MAX),
            Place::File(_) => 1,
        }
    }

    /// Works until there is nothing left to begin.
    pub(super) fn work(
        &self,
        cx: &Context<'_>,
        watch: &Watch,
        pass: &mut Pass<'_>,
    ) -> Result<(), Stop> {
        let files = Files::list(&self.place, cx, watch);
        // Told when the results are shown.
        let Ok(files) = files.get() else { return Ok(()) };
        let matchers = self.greps.iter().map(|member| &member.grep.pattern.matcher);
        let scanners = matchers.map(Scanner::new).collect();
        let mut thread = Thread { sweep: self, tree: cx.tree, files, scanners, watch };
        let all: Vec<usize> = (0..self.greps.len()).collect();
        // One alone holds up no other.
        let patience = (all.len() > 1).then_some(SLOW);
        loop {
            let from = self.next.fetch_add(BATCH, Ordering::Relaxed);
            if from >= files.len() || !self.greps.iter().any(|member| member.grep.wants(from)) {
                break;
            }
            for index in from..files.len().min(from + BATCH) {
                thread.search(index, &all, patience)?;
            }
            pass.give_way(watch)?;
        }
        loop {
            let Some((index, grep)) = self.later().pop_front() else { return Ok(()) };
            thread.search(index, &[grep], None)?;
            pass.give_way(watch)?;
        }
    }

    fn later(&self) -> MutexGuard<'_, VecDeque<(usize, usize)>> {
        self.later.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What each grep found, with the call it answers.
    pub(super) fn finish(self, cx: &Context<'_>, watch: &Watch) -> Vec<(usize, Grep, Observation)> {
        let time = cx.limits.grep_time;
        let stopped = watch.check().err().map_or(String::new(), |stop| cx.stopped(stop, time));
        let files = Files::list(&self.place, cx, watch);
        let finish = |Member { call, grep, .. }: Member| {
            let observation = match files.get() {
                Ok(files) => grep.show(files, &stopped, cx),
                Err(err) => cx.error(err, LISTING, time),
            };
            (call, grep, observation)
        };
        self.greps.into_iter().map(finish).collect()
    }
}

/// One thread at work on a sweep.
struct Thread<'a> {
    sweep: &'a Sweep,
    tree: &'a dyn Tree,
    files: &'a [Entry],
    scanners: Vec<Scanner>,
    watch: &'a Watch,
}

impl Thread<'_> {
    /// Searches one file for some of the greps; what takes longer than `patience` is left for
    /// later.
    fn search(
        &mut self,
        index: usize,
        greps: &[usize],
        patience: Option<Duration>,
    ) -> Result<(), Stop> {
        let Self { sweep, watch, .. } = *self;
        let file = &self.files[index];
        watch.check()?;
        let named = matches!(sweep.place, Place::File(_));
        let mut text = None;
        for at in greps {
            let Member { grep, nanos, bytes, .. } = &sweep.greps[*at];
            if !grep.wants(index) {
                continue;
            }
            if grep.filter.as_ref().is_some_and(|filter| !filter.takes(&file.path)) {
                grep.passed(false);
                continue;
            }
            let text =
                text.get_or_insert_with(|| load(self.tree, &file.path, file.size, named, watch));
            let text = match text {
                Ok(text) => text,
                Err(TreeError::Stopped(stop)) => return Err(*stop),
                Err(err) => {
                    grep.note(index, err.to_string());
                    grep.passed(true);
                    continue;
                }
            };
            if text.binary && !named {
                grep.passed(true);
                continue;
            }
            if patience.is_some() && sweep.greps[*at].is_slow() {
                sweep.later().push_back((index, *at));
                continue;
            }
            let began = Instant::now();
            let nearer = patience.map(|patience| watch.within(patience));
            let scanned = self.scanners[*at].scan(
                &text.bytes,
                grep.enough(),
                nearer.as_ref().unwrap_or(watch),
            );
            nanos.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
            bytes.fetch_add(text.bytes.len() as u64, Ordering::Relaxed);
            match scanned {
                Ok(hits) if text.binary && !hits.is_empty() => grep.add(index, vec![Hit::binary()]),
                Ok(hits) => grep.add(index, hits),
                Err(_) => {
                    watch.check()?;
                    sweep.later().push_back((index, *at));
                    continue;
                }
            }
            if text.cut {
                let limit = READ_LIMIT >> 20;
                grep.note(index, format!("{}: only its first {limit} MB searched", file.path));
            }
            grep.passed(true);
        }
        Ok(())
    }
}

/// The files of a place.
enum Files<'a> {
    Walked(Walked),
    One(&'a Entry),
}

impl<'a> Files<'a> {
    fn list(place: &'a Place, cx: &Context<'_>, watch: &Watch) -> Self {
        match place {
            Place::Below(scope) => Self::Walked(cx.walk(scope, watch)),
            Place::File(entry) => Self::One(entry),
        }
    }

    fn get(&self) -> Result<&[Entry], &TreeError> {
        match self {
            Self::Walked(walked) => walked.listing().map(|listing| &listing.entries[..]),
            Self::One(entry) => Ok(std::slice::from_ref(entry)),
        }
    }
}
