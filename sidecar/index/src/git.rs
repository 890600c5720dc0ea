use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use codegrep_tree::{Commit, History, RepoPath, Stop, TreeError, Watch};
use rayon::ThreadPool;
use rustc_hash::FxHashMap;

use crate::doc::{Bag, Scratch};
use crate::index::{DocId, Index};
use crate::kept::Kept;
use crate::postings::Postings;
use crate::token::Term;
use crate::turns::in_turns;

/// As many commits are looked at.
const MOST_COMMITS: usize = 2000;
/// A commit that changes more files than this (a move, a new licence) tells nothing of any.
const MOST_FILES: usize = 40;
/// Commits remembered over all repositories before memory is freed.
const MOST_KEPT: usize = 200_000;

/// What the newest commits tell of the files of one index.
#[derive(Debug, Default)]
pub struct GitSignals {
    /// Of the history they were read from.
    tips: Vec<String>,
    /// Whether every commit was compared; otherwise the newest were.
    complete: bool,
    /// Newest first: the files that each changed and that are still there, ascending.
    changes: Vec<Box<[DocId]>>,
    messages: Postings,
}

impl GitSignals {
    /// Whether all commits that should be looked at were.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The files that each commit changed, newest commit first; empty where a commit changed too
    /// many to tell anything, or none that is still there.
    pub fn changes(&self) -> &[Box<[DocId]>] {
        &self.changes
    }

    /// The commits, by place in [`GitSignals::changes`], whose message holds `term`, and how often
    /// each does.
    pub fn saying(&self, term: Term) -> (&[u32], &[u16]) {
        self.messages.of(term)
    }

    /// Terms of a commit's message, repeats counted.
    pub fn message_length(&self, commit: u32) -> u32 {
        self.messages.length(commit)
    }

    /// Mean of [`GitSignals::message_length`] over the commits that have any.
    pub fn mean_message_length(&self) -> f32 {
        self.messages.mean_length()
    }

    /// Bytes it occupies, closely.
    pub fn memory(&self) -> usize {
        let ids: usize = self.changes.iter().map(|ids| ids.len() * size_of::<DocId>() + 16).sum();
        ids + self.messages.memory()
    }

    /// Whether nothing was committed since they were read.
    fn is_of(&self, tips: &[String]) -> bool {
        self.complete && self.tips == tips
    }
}

/// Which files a commit changed; `None` for one that changed too many.
pub(crate) type Changed = Option<Arc<[RepoPath]>>;

/// What commits changed, kept over requests and, given a folder, over processes: a commit never
/// changes.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    known: Mutex<FxHashMap<String, Changed>>,
    folder: Option<PathBuf>,
}

impl Commits {
    pub fn kept_in(folder: PathBuf) -> Self {
        Self { known: Mutex::default(), folder: Some(folder) }
    }

    /// The signals of `index` as its tree's `history` is now; `index`'s own when they still hold.
    ///
    /// Works on `pool` in turns with others. On a deadline the newest commits are there, and what was
    /// compared is kept, so that the next call goes on. Cancelling gives an error.
    pub fn signals(
        &self,
        root: &str,
        index: &Index,
        history: &History,
        pool: &ThreadPool,
        watch: &Watch,
    ) -> Result<Arc<GitSignals>, TreeError> {
        let tips = history.tips();
        if index.git().is_of(&tips) {
            return Ok(index.git().clone());
        }
        let mut commits = match history.commits(MOST_COMMITS, watch) {
            Ok(commits) => commits,
            // What was known before still is.
            Err(Stop::Deadline) => return Ok(index.git().clone()),
            Err(Stop::Cancelled) => return Err(Stop::Cancelled.into()),
        };
        commits.sort_by_key(|commit| std::cmp::Reverse(commit.seconds));
        let kept = self.folder.as_ref().map(|folder| Kept::of_root(folder, root));
        if let Some(kept) = &kept
            && commits.iter().any(|commit| !self.knows(&commit.id))
        {
            self.lock().extend(kept.load());
        }
        let unknown: Vec<&Commit> =
            commits.iter().filter(|commit| !self.knows(&commit.id)).collect();
        let new: Vec<(String, Changed)> = in_turns(pool, unknown.len(), watch, |at, _| {
            // A damaged object is a commit that tells nothing.
            let changed = history.changed(unknown[at], MOST_FILES).ok().flatten();
            (unknown[at].id.clone(), changed.map(Arc::from))
        });
        if watch.is_cancelled() {
            return Err(Stop::Cancelled.into());
        }
        let is_news = !new.is_empty();
        let all = commits.len();
        let mut known = self.lock();
        if known.len() + new.len() > MOST_KEPT {
            known.clear();
        }
        known.extend(new);
        let read: Vec<(Commit, Changed)> = commits
            .into_iter()
            .map_while(|commit| known.get(&commit.id).cloned().map(|changed| (commit, changed)))
            .collect();
        let complete = read.len() == all;
        drop(known);
        if is_news && let Some(kept) = &kept {
            kept.save(&read.iter().map(|(commit, changed)| (&*commit.id, changed)).collect());
        }
        Ok(Arc::new(assembled(tips, complete, &read, index)))
    }

    fn knows(&self, id: &str) -> bool {
        self.lock().contains_key(id)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, FxHashMap<String, Changed>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn assembled(
    tips: Vec<String>,
    complete: bool,
    read: &[(Commit, Changed)],
    index: &Index,
) -> GitSignals {
    let mut scratch = Scratch::default();
    let bags: Vec<Bag> =
        read.iter().map(|(commit, _)| Bag::of(commit.message.as_bytes(), &mut scratch)).collect();
    let changes = read.iter().map(|(_, changed)| {
        let paths = changed.iter().flat_map(|paths| paths.iter());
        paths.filter_map(|path| index.find(path)).collect()
    });
    GitSignals {
        tips,
        complete,
        changes: changes.collect(),
        messages: Postings::build(&bags.iter().collect::<Vec<_>>()),
    }
}

/// What is written of commits: their id, and what they changed.
pub(crate) type Written<'a> = BTreeMap<&'a str, &'a Changed>;
