use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::notes::{Notes, Reason};
use crate::rules::{Rules, Verdict, room};
use crate::{
    Entry, Folder, Item, ItemKind, Kind, Listing, RepoPath, Scope, Tree, TreeError, Watch,
};

const MAX_THREADS: usize = 8;
/// A git tree of a few objects can unfold to billions of files and folders; no repository has as
/// many as this.
const MAX_LISTED: usize = 2_000_000;

/// The walk of every source: folders come from [`Tree::list`], ignore rules from [`Tree::read`].
pub(crate) fn walk<T: Tree + ?Sized>(
    tree: &T,
    scope: &Scope,
    watch: &Watch,
) -> Result<Listing, TreeError> {
    let walk = Walk { tree, scope, watch, state: Mutex::default(), wake: Condvar::new() };
    let start = match &scope.under {
        Some(under) => tree.resolve(under)?,
        None => RepoPath::root(),
    };
    let job = walk.job_at(&start)?;
    if let Kind::File { .. } = tree.kind(&start)? {
        let parent = start.parent().unwrap_or_else(RepoPath::root);
        let items = tree.list(&parent, watch)?.items;
        let entry =
            items.into_iter().find(|item| item.name == start.file_name()).and_then(|item| {
                let ItemKind::File { size, stamp } = item.kind else { return None };
                Some(Entry { path: start.clone(), size, stamp })
            });
        return Ok(Listing { entries: entry.into_iter().collect(), warnings: Vec::new() });
    }
    // The first folder is named by the caller: that it cannot be read is an error.
    let folder = tree.list(&start, watch)?;
    let first = walk.visit(&job, folder);
    walk.finish(Ok(first));

    let helpers = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS) - 1;
    thread::scope(|threads| {
        if !walk.lock().jobs.is_empty() {
            for _ in 0..helpers {
                // One thread less when the system has none to give.
                let _ = thread::Builder::new().spawn_scoped(threads, || walk.work());
            }
            walk.work();
        }
    });
    let state = walk.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = state.error {
        return Err(error);
    }
    let mut found = state.found;
    found.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(Listing { warnings: found.notes.into_warnings(), entries: found.entries })
}

/// Whether a walk of all of `tree` comes to the folder `dir`: no rule or hidden name keeps it out.
pub fn reaches(tree: &dyn Tree, dir: &RepoPath, watch: &Watch) -> Result<bool, TreeError> {
    let scope = Scope::default();
    let walk = Walk { tree, scope: &scope, watch, state: Mutex::default(), wake: Condvar::new() };
    let mut job = Job { dir: RepoPath::root(), rules: None };
    for segment in dir.segments() {
        let found = walk.visit(&job, tree.list(&job.dir, watch)?);
        match found.folders.into_iter().find(|next| next.dir.file_name() == segment) {
            Some(next) => job = next,
            None => return Ok(false),
        }
    }
    Ok(true)
}

struct Walk<'a, T: ?Sized> {
    tree: &'a T,
    scope: &'a Scope,
    watch: &'a Watch,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    /// Folders to visit; the last goes first, so that few wait at a time.
    jobs: Vec<Job>,
    busy: usize,
    /// Folders and files found.
    listed: usize,
    found: Found,
    error: Option<TreeError>,
}

struct Job {
    dir: RepoPath,
    /// Of the folders above.
    rules: Option<Arc<Rules>>,
}

#[derive(Default)]
struct Found {
    entries: Vec<Entry>,
    folders: Vec<Job>,
    notes: Notes,
}

impl<T: Tree + ?Sized> Walk<'_, T> {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Visits folders until none is left or one fails.
    fn work(&self) {
        loop {
            let job = {
                let mut state = self.lock();
                loop {
                    if state.error.is_some() {
                        return;
                    }
                    if let Some(job) = state.jobs.pop() {
                        state.busy += 1;
                        break job;
                    }
                    if state.busy == 0 {
                        return;
                    }
                    state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            };
            // Drops even when the visit panics, or the others would wait for ever.
            let _busy = Busy(self);
            let found = match self.tree.list(&job.dir, self.watch) {
                Ok(folder) => Ok(self.visit(&job, folder)),
                Err(TreeError::Stopped(stop)) => Err(stop.into()),
                Err(error) => {
                    let mut found = Found::default();
                    found.notes.unreadable(&job.dir, &error);
                    Ok(found)
                }
            };
            self.finish(found);
        }
    }

    fn finish(&self, found: Result<Found, TreeError>) {
        let mut state = self.lock();
        match found {
            Ok(found) => {
                state.listed += found.folders.len() + found.entries.len();
                if state.listed > MAX_LISTED {
                    state.error = Some(TreeError::Root {
                        message: format!(
                            "{}: more than {MAX_LISTED} files and folders",
                            self.tree.name()
                        ),
                        hint: "search a folder of it, or exclude folders in `.ignore`".to_owned(),
                    });
                }
                state.jobs.extend(found.folders);
                state.found.entries.extend(found.entries);
                state.found.notes.extend(found.notes);
            }
            Err(error) => state.error = Some(error),
        }
    }

    /// The job of visiting `dir`, with the rules of all folders above it.
    fn job_at(&self, dir: &RepoPath) -> Result<Job, TreeError> {
        let mut job = Job { dir: RepoPath::root(), rules: None };
        for segment in dir.segments() {
            // A folder that may be passed through but not listed has no rules one could read.
            match self.tree.list(&job.dir, self.watch) {
                Ok(folder) => job.rules = self.rules(&job, &folder, &mut Notes::default()),
                Err(TreeError::Stopped(stop)) => return Err(stop.into()),
                Err(_) => {}
            }
            job.dir = job.dir.child(segment)?;
        }
        Ok(job)
    }

    fn visit(&self, job: &Job, folder: Folder) -> Found {
        let mut found = Found::default();
        let rules = self.rules(job, &folder, &mut found.notes);
        for (name, why) in folder.unnamed {
            found.notes.unnamed(&job.dir, &name, &why);
        }
        for Item { name, kind } in folder.items {
            if matches!(kind, ItemKind::Link | ItemKind::Special) {
                continue;
            }
            let path = match job.dir.child(&name) {
                Ok(path) => path,
                Err(why) => {
                    found.notes.unnamed(&job.dir, &name.escape_debug().to_string(), &why);
                    continue;
                }
            };
            let is_dir = kind == ItemKind::Dir;
            let verdict =
                rules.as_ref().map_or(Verdict::Silent, |r| r.verdict(path.plain(), is_dir));
            let shown = match verdict {
                Verdict::Included => true,
                Verdict::Ignored if !self.scope.ignored => false,
                _ => self.scope.hidden || !name.starts_with('.'),
            };
            match kind {
                _ if !shown => {}
                ItemKind::File { size, stamp } => found.entries.push(Entry { path, size, stamp }),
                _ => found.folders.push(Job { dir: path, rules: rules.clone() }),
            }
        }
        found
    }

    fn rules(&self, job: &Job, folder: &Folder, notes: &mut Notes) -> Option<Arc<Rules>> {
        let mut above = job.rules.clone();
        for outer in &folder.outer_rules {
            above = Rules::outside(above, &outer.below, &outer.text);
        }
        let mut room = room(&above);
        let mut text = |name: &str| {
            // A link is not followed, as in git.
            let is_file =
                |item: &Item| item.name == name && matches!(item.kind, ItemKind::File { .. });
            folder.items.iter().find(|item| is_file(item))?;
            let path = job.dir.child(name).ok()?;
            match self.tree.read(&path, room) {
                Ok(blob) => {
                    if blob.size > room {
                        notes.add(Reason::LongRules, &path);
                    }
                    room -= blob.bytes.len() as u64;
                    Some(blob.bytes)
                }
                Err(_) => {
                    notes.add(Reason::UnreadableRules, &path);
                    None
                }
            }
        };
        let (gitignore, dot_ignore) = (text(".gitignore"), text(".ignore"));
        Rules::inside(
            above,
            job.dir.plain(),
            gitignore.as_deref(),
            dot_ignore.as_deref(),
            folder.is_repository,
        )
    }
}

struct Busy<'a, 'b, T: Tree + ?Sized>(&'a Walk<'b, T>);

impl<T: Tree + ?Sized> Drop for Busy<'_, '_, T> {
    fn drop(&mut self) {
        self.0.lock().busy -= 1;
        self.0.wake.notify_all();
    }
}
