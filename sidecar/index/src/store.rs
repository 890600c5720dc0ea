use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use codegrep_tree::{Stop, Tree, TreeError, Watch};
use rayon::ThreadPool;

use crate::git::Commits;
use crate::index::Index;

/// How often a waiting request looks at its own watch.
const GLANCE: Duration = Duration::from_millis(20);
/// A history that takes longer is read by several requests, each going on where the last stopped.
const PATIENCE: Duration = Duration::from_millis(700);

/// Indexes of several repositories under one memory cap, shared by all requests.
pub struct Store {
    /// Both made by the first request, so that its failure is that request's error.
    indexing: Pool,
    /// Apart, so that what is indexed can be searched whatever else is being read.
    searching: Pool,
    /// Bytes of indexes to keep.
    cap: usize,
    commits: Commits,
    /// The longest that a request waits for a history to be read.
    patience: Option<Duration>,
    slots: Mutex<Slots>,
    changed: Condvar,
}

type Pool = OnceLock<Result<ThreadPool, String>>;

#[derive(Default)]
struct Slots {
    by_root: BTreeMap<String, Slot>,
    clock: u64,
}

#[derive(Default)]
struct Slot {
    index: Option<Arc<Index>>,
    /// A request is building; others of the same root wait for it.
    busy: bool,
    last_used: u64,
}

impl Store {
    /// Bytes of indexes kept by default.
    pub const MEMORY_CAP: usize = 1 << 30;

    /// A store that keeps at most about `cap` bytes of indexes (one is kept whatever its size)
    /// and works on its own few threads.
    pub fn new(cap: usize) -> Self {
        Self {
            indexing: OnceLock::new(),
            searching: OnceLock::new(),
            cap,
            commits: Commits::default(),
            patience: Some(PATIENCE),
            slots: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Also keeps what was read of histories in `folder`, for later processes.
    pub fn kept_in(self, folder: PathBuf) -> Self {
        Self { commits: Commits::kept_in(folder), ..self }
    }

    /// Waits until a history is read whole, however long it takes: for measuring and fitting.
    pub fn patient(self) -> Self {
        Self { patience: None, ..self }
    }

    /// The index of `tree` as it is now, built or refreshed as needed.
    ///
    /// Roots are told apart by [`Tree::name`]; one request at a time works on a root, the others
    /// wait until it is done or their own watch says stop. On a deadline the index is what there
    /// is by then (see [`Index::refreshed`]): what was built before, marked as stale, when the files
    /// were not looked at again; else an empty one or [`Stop::Deadline`].
    pub fn index(&self, tree: &dyn Tree, watch: &Watch) -> Result<Arc<Index>, TreeError> {
        let old = match self.enter(tree.name(), watch)? {
            Entered::Working(old) => old,
            Entered::OutOfTime(old) => {
                return Ok(old.map(|old| old.as_stale()).unwrap_or_default());
            }
        };
        let mut leave = Leave { store: self, root: tree.name(), index: old.clone() };
        let pool = made(&self.indexing, "index")?;
        let index = match (Index::refreshed(old.as_ref(), tree, pool, watch), old) {
            (Err(TreeError::Stopped(Stop::Deadline)), Some(old)) => return Ok(old.as_stale()),
            (index, _) => self.with_git(tree, index?, pool, watch)?,
        };
        leave.index = Some(index.clone());
        drop(leave);
        Ok(index)
    }

    fn with_git(
        &self,
        tree: &dyn Tree,
        index: Arc<Index>,
        pool: &ThreadPool,
        watch: &Watch,
    ) -> Result<Arc<Index>, TreeError> {
        if watch.check().is_err() {
            return Ok(index);
        }
        let Some(history) = tree.history() else { return Ok(index) };
        let nearer = self.patience.map_or(watch.clone(), |patience| watch.within(patience));
        let git = self.commits.signals(tree.name(), &index, &history, pool, &nearer)?;
        if Arc::ptr_eq(&git, index.git()) {
            return Ok(index);
        }
        Ok(Arc::new(index.with_git(git)))
    }

    /// Threads for searching what is indexed; no repository that is being read keeps them.
    pub fn pool(&self) -> Result<&ThreadPool, TreeError> {
        made(&self.searching, "search")
    }

    /// What is kept for a root, if anything is: marked as stale unless a walk shows that it still
    /// holds. Nothing is read or refreshed.
    pub fn kept(&self, tree: &dyn Tree, watch: &Watch) -> Result<Option<Arc<Index>>, TreeError> {
        let index = self.lock().by_root.get(tree.name()).and_then(|slot| slot.index.clone());
        let Some(index) = index else { return Ok(None) };
        Ok(Some(match index.is_of(tree, watch) {
            Ok(true) => index,
            Ok(false) | Err(TreeError::Stopped(Stop::Deadline)) => index.as_stale(),
            Err(error) => return Err(error),
        }))
    }

    fn enter(&self, root: &str, watch: &Watch) -> Result<Entered, Stop> {
        let mut slots = self.lock();
        loop {
            slots.clock += 1;
            let now = slots.clock;
            let slot = slots.by_root.entry(root.to_owned()).or_default();
            slot.last_used = now;
            if !slot.busy {
                slot.busy = true;
                return Ok(Entered::Working(slot.index.clone()));
            }
            match watch.check() {
                Ok(()) => {}
                Err(Stop::Cancelled) => return Err(Stop::Cancelled),
                Err(Stop::Deadline) => return Ok(Entered::OutOfTime(slot.index.clone())),
            }
            slots =
                self.changed.wait_timeout(slots, GLANCE).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        // Every change under the lock leaves the slots consistent.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn made<'a>(pool: &'a Pool, name: &'static str) -> Result<&'a ThreadPool, TreeError> {
    let pool = pool.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // An editor runs on the same machine: leave it a core where there are several.
        let threads = if cores > 2 { (cores - 1).min(8) } else { cores };
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(move |n| format!("codegrep-{name}-{n}"))
            .build()
            .map_err(|error| error.to_string())
    });
    pool.as_ref().map_err(|message| TreeError::Root {
        message: format!("cannot start threads: {message}"),
        hint: "the system's limit of processes may be reached; close some or raise it".to_owned(),
    })
}

enum Entered {
    Working(Option<Arc<Index>>),
    OutOfTime(Option<Arc<Index>>),
}

/// Gives the slot back however the work ended, a panic included.
struct Leave<'a> {
    store: &'a Store,
    root: &'a str,
    index: Option<Arc<Index>>,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let mut slots = self.store.lock();
        if let Some(slot) = slots.by_root.get_mut(self.root) {
            slot.index = self.index.take();
            slot.busy = false;
        }
        slots.evict(self.store.cap, self.root);
        drop(slots);
        self.store.changed.notify_all();
    }
}

impl Slots {
    /// Drops the least recently used indexes until the rest fits, never that of `root`.
    fn evict(&mut self, cap: usize, root: &str) {
        let size = |slot: &Slot| slot.index.as_ref().map_or(0, |index| index.memory());
        let mut total: usize = self.by_root.values().map(size).sum();
        while total > cap {
            let oldest = self
                .by_root
                .iter()
                .filter(|(name, slot)| *name != root && !slot.busy && slot.index.is_some())
                .min_by_key(|(_, slot)| slot.last_used)
                .map(|(name, _)| name.clone());
            let Some(slot) = oldest.and_then(|name| self.by_root.remove(&name)) else { break };
            total -= size(&slot);
        }
        self.by_root.retain(|_, slot| slot.busy || slot.index.is_some());
    }
}

impl Default for Store {
    fn default() -> Self {
        Self::new(Self::MEMORY_CAP)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("roots", &self.lock().by_root.len()).finish()
    }
}
