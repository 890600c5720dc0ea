use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use codegrep_tree::{Entry, Kind, RepoPath, Scope};

use super::args::Grep as Asked;
use super::context::Context;
use super::glob::{self, Filter};
use super::page::{count, page};
use super::pattern::{self, Pattern};
use super::scan::Hit;
use super::{Line, Observation, paths};

/// Where a grep looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Below(Scope),
    /// Named, so searched even if it is binary.
    File(Entry),
}

/// One grep of a turn while it runs. Files are known by their index in the sorted listing, and
/// what counts is the first matches in that order, whichever thread finds what when.
pub(super) struct Grep {
    pub(super) pattern: Pattern,
    pub(super) filter: Option<Filter>,
    pub(super) place: Place,
    asked: Asked,
    most: usize,
    found: Mutex<Found>,
    /// Files after this one cannot change the result.
    last: AtomicUsize,
    /// Files done with, and those among them that the filter took.
    done: AtomicUsize,
    taken: AtomicUsize,
}

#[derive(Default)]
struct Found {
    hits: BTreeMap<usize, Vec<Hit>>,
    total: usize,
    /// What could not be searched, or not whole.
    notes: BTreeMap<usize, String>,
}

/// Checks a call, and finds out where it looks.
pub(super) fn plan(asked: Asked, cx: &Context<'_>) -> Result<Grep, Observation> {
    let pattern = pattern::compile(&asked.pattern, asked.ignore_case, cx.limits.forgiving)
        .map_err(Observation::error)?;
    // A pattern given as the path is a glob.
    let as_glob = asked.path.as_deref().filter(|path| {
        asked.glob.is_none()
            && glob::is_pattern(path)
            && !RepoPath::parse(path).is_ok_and(|path| cx.tree.kind(&path).is_ok())
    });
    let (path, wanted) = match as_glob {
        Some(glob) => (None, Some(glob)),
        None => (asked.path.as_deref(), asked.glob.as_deref()),
    };
    let wanted = wanted.filter(|glob| !glob.trim().is_empty());
    let (path, kind) = paths::named(cx, path)?;
    let (place, filter) = match kind {
        Kind::File { size } => (Place::File(Entry { path, size, stamp: 0 }), None),
        Kind::Dir => {
            let filter = wanted.map(|glob| Filter::new(glob, &path, false)).transpose();
            let filter = filter.map_err(Observation::error)?;
            (Place::Below(glob::scope(cx, &path, wanted)), filter)
        }
    };
    Ok(Grep::new(pattern, filter, place, asked, cx.limits.grep_matches))
}

impl Grep {
    fn new(
        pattern: Pattern,
        filter: Option<Filter>,
        place: Place,
        asked: Asked,
        most: usize,
    ) -> Self {
        Self {
            pattern,
            filter,
            place,
            asked,
            most,
            found: Mutex::default(),
            last: AtomicUsize::new(usize::MAX),
            done: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        }
    }

    /// The same grep for what may have been meant.
    pub(super) fn meant(self) -> Option<Self> {
        let pattern = pattern::meant(&self.asked.pattern, self.asked.ignore_case)?;
        Some(Self::new(pattern, self.filter, self.place, self.asked, self.most))
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the file at `index` may still matter.
    pub(super) fn wants(&self, index: usize) -> bool {
        index <= self.last.load(Ordering::Relaxed)
    }

    /// Matches worth finding in one file: one more than shown, to know that there are more.
    pub(super) fn enough(&self) -> usize {
        self.most + 1
    }

    /// A file is done with; the filter took it or not.
    pub(super) fn passed(&self, taken: bool) {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.taken.fetch_add(usize::from(taken), Ordering::Relaxed);
    }

    pub(super) fn note(&self, index: usize, note: String) {
        self.found().notes.insert(index, note);
    }

    pub(super) fn add(&self, index: usize, hits: Vec<Hit>) {
        if hits.is_empty() {
            return;
        }
        let mut found = self.found();
        found.total += hits.len();
        found.hits.insert(index, hits);
        while let Some(last) = found.hits.last_entry() {
            let (at, size) = (*last.key(), last.get().len());
            if found.total - size <= self.most {
                if found.total > self.most {
                    self.last.fetch_min(at, Ordering::Relaxed);
                }
                break;
            }
            found.hits.pop_last();
            found.total -= size;
        }
    }

    /// What was found among `files`; `stopped` says why the search ended early, if it did.
    pub(super) fn show(&self, files: &[Entry], stopped: &str, cx: &Context<'_>) -> Observation {
        let found = std::mem::take(&mut *self.found());
        let last = self.last.load(Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed);
        let hits: Vec<(&RepoPath, &Hit)> = found
            .hits
            .iter()
            .flat_map(|(at, hits)| hits.iter().map(|hit| (&files[*at].path, hit)))
            .collect();
        let more = hits.len() > self.most;
        let hits = &hits[..hits.len().min(self.most)];
        let mut notes = Vec::new();
        // A search that found enough leaves files alone, too; one that was stopped before may
        // have left some that come before what it found.
        let halted = done < files.len() && (last == usize::MAX || !stopped.is_empty());
        if last == usize::MAX && halted {
            notes.push(format!(
                "{stopped}, {} of {} files searched; narrow path or glob",
                count(done),
                count(files.len())
            ));
        }
        let odd: Vec<&String> = found.notes.range(..=last).map(|(_, note)| note).collect();
        match &odd[..] {
            [] => {}
            [one] => notes.push((*one).clone()),
            [one, rest @ ..] => notes.push(format!("{one}; so {} more", count(rest.len()))),
        }
        notes.extend(self.pattern.note.clone());
        if hits.is_empty() {
            let none = self.none(&notes);
            let error = self.pattern.note.is_some() || done < files.len();
            return Observation {
                text: none,
                error,
                cut: halted,
                stopped: halted,
                ..Observation::default()
            };
        }
        let lines: Vec<String> = hits.iter().map(|(path, hit)| line(path, hit)).collect();
        let (text, shown) = page(&lines, cx.limits.result_chars, |shown| {
            let cut = match more || shown < hits.len() {
                true => Some(format!(
                    "{shown} matches shown, there are more; narrow the pattern, or give path or glob"
                )),
                false => None,
            };
            let notes: Vec<String> =
                cut.iter().chain(&notes).map(|note| format!("({note})")).collect();
            notes.join("\n")
        });
        let hits = &hits[..shown];
        let mut seen: Vec<RepoPath> = hits.iter().map(|(path, _)| (*path).clone()).collect();
        seen.dedup();
        let lines = hits.iter().filter(|(_, hit)| hit.line != Hit::BINARY);
        let lines = lines.map(|(path, hit)| Line {
            path: (*path).clone(),
            number: hit.line,
            text: hit.text.clone(),
        });
        Observation {
            text,
            hits: shown,
            seen,
            lines: lines.collect(),
            cut: halted || more || shown < self.most.min(found.total),
            stopped: halted,
            ..Observation::default()
        }
    }

    fn none(&self, notes: &[String]) -> String {
        let Asked { pattern, path, glob, .. } = &self.asked;
        let taken = self.taken.load(Ordering::Relaxed);
        let mut text = match (&self.filter, glob.as_deref().or(path.as_deref())) {
            (Some(_), Some(glob)) if taken == 0 && notes.is_empty() => {
                format!("no file matches the glob {glob}")
            }
            _ => {
                let place = path.as_deref().map_or(String::new(), |path| format!(" in {path}"));
                let files = if taken == 1 { "file" } else { "files" };
                format!("no match for {pattern}{place} ({} {files} searched)", count(taken))
            }
        };
        for note in notes {
            text.push_str(&format!("\n({note})"));
        }
        text
    }
}

fn line(path: &RepoPath, hit: &Hit) -> String {
    let dots = |cut| if cut { "…" } else { "" };
    if hit.line == Hit::BINARY {
        return format!("{path}: binary file matches");
    }
    format!("{path}:{}: {}{}{}", hit.line, dots(hit.cut.0), hit.text, dots(hit.cut.1))
}
