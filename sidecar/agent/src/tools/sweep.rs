use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use codegrep_tree::{Entry, READ_LIMIT, Stop, TreeError, Watch};

use super::Observation;
use super::context::{Context, Walked};
use super::grep::{Grep, Place};
use super::pool::Pass;
use super::scan::{Hit, Scanner};
use super::text::load;

/// The greps of a turn that look in the same place: its files are listed once and read once for
/// all of them. Any number of threads may work on it.
pub(super) struct Sweep {
    place: Place,
    /// With the call each answers.
    greps: Vec<(usize, Grep)>,
    /// The file from which the next batch begins.
    next: AtomicUsize,
    /// Nanoseconds spent on each grep, and in all.
    spent: Vec<AtomicU64>,
    spent_all: AtomicU64,
    /// Batches left over by slow greps, so that they hold up no other.
    later: Mutex<VecDeque<(usize, usize)>>,
}

/// Files a thread takes at a time.
const BATCH: usize = 16;

/// A grep that took this long and more than half of the sweep's time is slow.
const SLOW: Duration = Duration::from_millis(500);

impl Sweep {
    /// Greps by the place they look in.
    pub(super) fn group(greps: Vec<(usize, Grep)>) -> Vec<Self> {
        let mut sweeps: Vec<Self> = Vec::new();
        for (call, grep) in greps {
            let sweep = match sweeps.iter_mut().find(|sweep| sweep.place == grep.place) {
                Some(sweep) => sweep,
                None => {
                    sweeps.push(Self {
                        place: grep.place.clone(),
                        greps: Vec::new(),
                        next: AtomicUsize::new(0),
                        spent: Vec::new(),
                        spent_all: AtomicU64::new(0),
                        later: Mutex::default(),
                    });
                    sweeps.last_mut().expect("just pushed")
                }
            };
            sweep.spent.push(AtomicU64::new(0));
            sweep.greps.push((call, grep));
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
        let matchers = self.greps.iter().map(|(_, grep)| &grep.pattern.matcher);
        let mut scanners: Vec<Scanner> = matchers.map(Scanner::new).collect();
        loop {
            let from = self.next.fetch_add(BATCH, Ordering::Relaxed);
            let wanted = |grep: &usize| self.greps[*grep].1.wants(from);
            let greps: Vec<usize> = (0..self.greps.len()).filter(wanted).collect();
            if from >= files.len() || greps.is_empty() {
                break;
            }
            let (slow, quick): (Vec<usize>, Vec<usize>) =
                greps.into_iter().partition(|grep| self.is_slow(*grep));
            self.later().extend(slow.into_iter().map(|grep| (from, grep)));
            self.batch(files, from, &quick, &mut scanners, cx, watch)?;
            pass.give_way(watch)?;
        }
        loop {
            let Some((from, grep)) = self.later().pop_front() else { return Ok(()) };
            if self.greps[grep].1.wants(from) {
                self.batch(files, from, &[grep], &mut scanners, cx, watch)?;
                pass.give_way(watch)?;
            }
        }
    }

    fn later(&self) -> std::sync::MutexGuard<'_, VecDeque<(usize, usize)>> {
        self.later.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_slow(&self, grep: usize) -> bool {
        let spent = self.spent[grep].load(Ordering::Relaxed);
        spent > SLOW.as_nanos() as u64 && spent > self.spent_all.load(Ordering::Relaxed) / 2
    }

    /// Searches the files from `from` on for some of the greps.
    fn batch(
        &self,
        files: &[Entry],
        from: usize,
        greps: &[usize],
        scanners: &mut [Scanner],
        cx: &Context<'_>,
        watch: &Watch,
    ) -> Result<(), Stop> {
        let began = Instant::now();
        let to = files.len().min(from + BATCH);
        let mut taken = vec![0; greps.len()];
        for (index, file) in files[from..to].iter().enumerate().map(|(i, file)| (from + i, file)) {
            watch.check()?;
            let mut text = None;
            for (grep, taken) in greps.iter().zip(&mut taken) {
                let call = &self.greps[*grep].1;
                let filtered = call.filter.as_ref().is_some_and(|filter| !filter.takes(&file.path));
                if filtered || !call.wants(index) {
                    continue;
                }
                let named = matches!(self.place, Place::File(_));
                let text = text.get_or_insert_with(|| load(cx.tree, &file.path, file.size, named));
                let text = match text {
                    Ok(text) => text,
                    Err(TreeError::Stopped(stop)) => return Err(*stop),
                    Err(err) => {
                        call.note(index, err.to_string());
                        continue;
                    }
                };
                *taken += 1;
                if text.binary && !named {
                    continue;
                }
                if text.cut {
                    let limit = READ_LIMIT >> 20;
                    call.note(index, format!("{}: only its first {limit} MB searched", file.path));
                }
                let began = Instant::now();
                let mut hits = scanners[*grep].scan(&text.bytes, call.enough(), watch)?;
                let took = began.elapsed().as_nanos() as u64;
                self.spent[*grep].fetch_add(took, Ordering::Relaxed);
                if text.binary && !hits.is_empty() {
                    hits = vec![Hit::binary()];
                }
                call.add(index, hits);
            }
        }
        for (grep, taken) in greps.iter().zip(taken) {
            self.greps[*grep].1.passed(to - from, taken);
        }
        self.spent_all.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// What each call found, with the call's number.
    pub(super) fn show<'a>(
        &'a self,
        cx: &'a Context<'_>,
        watch: &'a Watch,
    ) -> impl Iterator<Item = (usize, Observation)> + 'a {
        let time = cx.limits.grep_time;
        let stopped = watch.check().err().map_or(String::new(), |stop| cx.stopped(stop, time));
        let files = Files::list(&self.place, cx, watch);
        self.greps.iter().map(move |(call, grep)| {
            let observation = match files.get() {
                Ok(files) => grep.show(files, &stopped, cx),
                Err(err) => cx.error(err, time),
            };
            (*call, observation)
        })
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
