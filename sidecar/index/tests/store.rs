//! Indexes as requests meet them: refreshed, shared, evicted, stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use codegrep_index::{Field, Index, IndexState, Skip, Store, exact_name, whole_term};
use codegrep_tree::fixture::Fixture;
use codegrep_tree::{
    Blob, BlobId, DiskTree, Folder, Kind, Listing, RepoPath, Scope, Stop, Tree, TreeError, Watch,
};

/// A tree that counts reads and can spring a surprise before one.
struct Probe<'a> {
    tree: DiskTree,
    reads: AtomicUsize,
    before_read: Box<dyn Fn() + Send + Sync + 'a>,
}

impl<'a> Probe<'a> {
    fn new(fixture: &Fixture, before_read: impl Fn() + Send + Sync + 'a) -> Self {
        Self {
            tree: DiskTree::open(fixture.path()).unwrap(),
            reads: AtomicUsize::new(0),
            before_read: Box::new(before_read),
        }
    }

    fn taken_reads(&self) -> usize {
        self.reads.swap(0, Ordering::SeqCst)
    }
}

impl Tree for Probe<'_> {
    fn name(&self) -> &str {
        self.tree.name()
    }
    fn walk(&self, scope: &Scope, watch: &Watch) -> Result<Listing, TreeError> {
        self.tree.walk(scope, watch)
    }
    fn list(&self, path: &RepoPath, watch: &Watch) -> Result<Folder, TreeError> {
        self.tree.list(path, watch)
    }
    fn link(&self, path: &RepoPath) -> Result<Option<String>, TreeError> {
        self.tree.link(path)
    }
    fn kind(&self, path: &RepoPath) -> Result<Kind, TreeError> {
        self.tree.kind(path)
    }
    fn read(&self, path: &RepoPath, limit: u64) -> Result<Blob, TreeError> {
        (self.before_read)();
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.tree.read(path, limit)
    }
    fn blob_id(&self, path: &RepoPath) -> Result<BlobId, TreeError> {
        self.tree.blob_id(path)
    }
}

fn holding(index: &Index, word: &str) -> Vec<String> {
    let (ids, _) = index.holding(Field::Content, whole_term(word.as_bytes()));
    ids.iter().map(|id| index.file(*id).path.to_string()).collect()
}

fn three() -> Fixture {
    Fixture::new(
        "//- /a.py\ndef alpha(): pass\n//- /b.py\ndef beta(): pass\n//- /c.py\nx = alpha\n",
    )
}

#[test]
fn a_refresh_reads_what_changed_and_forgets_what_went() {
    let fixture = three();
    let store = Store::default();
    let tree = Probe::new(&fixture, || {});
    let index = store.index(&tree, &Watch::idle()).unwrap();
    assert_eq!(
        (tree.taken_reads(), holding(&index, "alpha")),
        (3, vec!["a.py".into(), "c.py".into()])
    );
    let same = store.index(&tree, &Watch::idle()).unwrap();
    assert!(Arc::ptr_eq(&index, &same) && tree.taken_reads() == 0);

    fixture.write("b.py", "def gamma(): return alpha\n");
    fixture.remove("c.py");
    fixture.write("sub/d.py", "def alpha(): return 1\n");
    let index = store.index(&tree, &Watch::idle()).unwrap();
    assert_eq!(tree.taken_reads(), 2);
    assert_eq!(holding(&index, "alpha"), ["a.py", "b.py", "sub/d.py"]);
    assert_eq!(holding(&index, "beta"), [] as [&str; 0]);
    let defining = |name: &str| index.defining(exact_name(name.as_bytes())).to_vec();
    assert_eq!(
        (defining("alpha"), defining("beta"), defining("gamma")),
        (vec![0, 2], vec![], vec![1])
    );
    let fresh = Store::default().index(&tree, &Watch::idle()).unwrap();
    assert_eq!(holding(&fresh, "alpha"), holding(&index, "alpha"));
    assert_eq!(fresh.len(), index.len());
}

#[test]
fn a_deadline_leaves_a_usable_part_that_the_next_request_completes() {
    let fixture = three();
    let store = Store::default();
    let watch = Watch::new(Some(Instant::now()), None);
    // The walk itself is given time; the deadline falls on the reading.
    let tree = Probe::new(&fixture, || {});
    match store.index(&tree, &watch) {
        Ok(index) => assert_eq!(index.status().state, IndexState::Partial),
        Err(error) => assert!(matches!(error, TreeError::Stopped(Stop::Deadline)), "{error:?}"),
    }
    let index = store.index(&tree, &Watch::idle()).unwrap();
    assert_eq!(index.status().state, IndexState::Ready);
    assert_eq!(holding(&index, "beta"), ["b.py"]);
}

#[test]
fn a_refresh_without_time_gives_what_was_known_and_calls_it_stale() {
    let fixture = three();
    let store = Store::default();
    let tree = DiskTree::open(fixture.path()).unwrap();
    let spent = Watch::new(Some(Instant::now()), None);
    let state = |index: &Index| index.status().state;
    assert!(store.kept(&tree, &Watch::idle()).unwrap().is_none());
    store.index(&tree, &Watch::idle()).unwrap();
    assert_eq!(state(&store.kept(&tree, &Watch::idle()).unwrap().unwrap()), IndexState::Ready);
    assert_eq!(state(&store.kept(&tree, &spent).unwrap().unwrap()), IndexState::Stale);

    fixture.write("b.py", "def gamma(): pass\n");
    let index = store.index(&tree, &spent).unwrap();
    assert_eq!((state(&index), holding(&index, "beta")), (IndexState::Stale, vec!["b.py".into()]));
    assert_eq!(state(&store.kept(&tree, &Watch::idle()).unwrap().unwrap()), IndexState::Stale);

    // So it is while another request is at work on the same root.
    let meanwhile = Probe::new(&fixture, || {
        let index = store.index(&tree, &spent).unwrap();
        assert_eq!((state(&index), index.len()), (IndexState::Stale, 3));
    });
    let index = store.index(&meanwhile, &Watch::idle()).unwrap();
    assert_eq!((meanwhile.taken_reads(), state(&index)), (1, IndexState::Ready));
    assert_eq!(holding(&index, "gamma"), ["b.py"]);
}

#[test]
fn a_slow_repository_keeps_no_other_waiting() {
    let (slow, warm) = (Fixture::new("//- /a.py\n"), three());
    for n in 0..1000 {
        slow.write(format!("f{n}.py"), "x\n");
    }
    let store = Store::default();
    let tree = DiskTree::open(warm.path()).unwrap();
    store.index(&tree, &Watch::idle()).unwrap();
    let (begun, watch) = (std::sync::Barrier::new(2), Watch::idle());
    let first = std::sync::Once::new();
    let slow = Probe::new(&slow, || {
        first.call_once(|| {
            begun.wait();
        });
        std::thread::sleep(std::time::Duration::from_millis(20));
    });
    std::thread::scope(|scope| {
        let building = scope.spawn(|| store.index(&slow, &watch));
        begun.wait();
        warm.write("b.py", "def gamma(): pass\n");
        assert_eq!(holding(&store.index(&tree, &Watch::idle()).unwrap(), "gamma"), ["b.py"]);
        // Where a ranking reads files.
        store.pool().unwrap().install(|| ());
        assert!(!building.is_finished());
        watch.cancel();
        let error = building.join().unwrap().unwrap_err();
        assert!(matches!(error, TreeError::Stopped(Stop::Cancelled)), "{error:?}");
    });
}

#[test]
fn cancelling_while_reading_stops_and_leaves_the_store_usable() {
    let fixture = three();
    let store = Store::default();
    let watch = Watch::idle();
    let tree = Probe::new(&fixture, || watch.cancel());
    let error = store.index(&tree, &watch).unwrap_err();
    assert!(matches!(error, TreeError::Stopped(Stop::Cancelled)), "{error:?}");
    assert_eq!(store.index(&tree, &Watch::idle()).unwrap().status().files, 3);
}

#[test]
fn requests_for_one_root_share_one_build() {
    let fixture = three();
    let store = Store::default();
    let tree = Probe::new(&fixture, || std::thread::sleep(std::time::Duration::from_millis(5)));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(store.index(&tree, &Watch::idle()).unwrap().len(), 3));
        }
    });
    assert_eq!(tree.taken_reads(), 3);
}

#[test]
fn the_least_recently_used_root_is_dropped_above_the_cap() {
    let (one, two) = (three(), three());
    let store = Store::new(1);
    let (first, second) = (Probe::new(&one, || {}), Probe::new(&two, || {}));
    store.index(&first, &Watch::idle()).unwrap();
    store.index(&second, &Watch::idle()).unwrap();
    store.index(&second, &Watch::idle()).unwrap();
    assert_eq!(second.taken_reads(), 3, "the one in use stays");
    store.index(&first, &Watch::idle()).unwrap();
    assert_eq!(first.taken_reads(), 6, "the other was dropped");
}

#[test]
fn what_is_not_text_is_known_by_path_only() {
    let fixture = three();
    fixture.write("image.py", b"\0\0\0");
    fixture.write("big.py", vec![b'x'; (codegrep_index::CODE_LIMIT + 1) as usize]);
    fixture.write("app.min.js", "var a=1;".repeat(4000));
    fixture.write("table.csv", "alpha,beta\n");
    let store = Store::default();
    let index = store.index(&DiskTree::open(fixture.path()).unwrap(), &Watch::idle()).unwrap();
    assert_eq!(
        index.skipped(),
        [(Skip::Binary, 1), (Skip::Minified, 1), (Skip::Huge, 1), (Skip::Data, 1)]
    );
    assert_eq!(holding(&index, "alpha"), ["a.py", "c.py"]);
    let (ids, _) = index.holding(Field::Name, whole_term(b"big"));
    assert_eq!(ids.len(), 1);
}

/// Each commit's changed files, newest first.
fn changes(index: &Index) -> Vec<Vec<String>> {
    let name = |id: &u32| index.file(*id).path.to_string();
    index.git().changes().iter().map(|ids| ids.iter().map(name).collect()).collect()
}

#[test]
fn commits_are_known_by_their_files_and_words_and_a_new_one_is_seen() {
    let fixture = three();
    fixture.commit("begin with three");
    let store = Store::default();
    let index = store.index(&DiskTree::open(fixture.path()).unwrap(), &Watch::idle()).unwrap();
    assert!(index.status().git_signals);
    assert_eq!(changes(&index), [["a.py", "b.py", "c.py"]]);
    let again = store.index(&DiskTree::open(fixture.path()).unwrap(), &Watch::idle()).unwrap();
    assert!(Arc::ptr_eq(&index, &again), "nothing was committed");
    fixture.write("b.py", "def gamma(): pass\n");
    fixture.remove("c.py");
    fixture.commit("rename beta to gamma");
    let index = store.index(&DiskTree::open(fixture.path()).unwrap(), &Watch::idle()).unwrap();
    assert_eq!(changes(&index), [&["b.py"][..], &["a.py", "b.py"]]);
    assert_eq!(index.git().saying(whole_term(b"gamma")), (&[0][..], &[1][..]));
}

#[test]
fn what_a_history_told_is_kept_for_the_next_process() {
    let fixture = three();
    fixture.commit("begin");
    let cache = tempfile::tempdir().unwrap();
    let folder = cache.path().join("history");
    let tree = DiskTree::open(fixture.path()).unwrap();
    let read = || {
        let store = Store::default().kept_in(folder.clone());
        changes(&store.index(&tree, &Watch::idle()).unwrap())
    };
    assert_eq!(read(), [["a.py", "b.py", "c.py"]]);
    let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&file).unwrap();
    // What the file says is believed, so that nothing is compared twice …
    std::fs::write(&file, text.replace(r#""b.py","#, "")).unwrap();
    assert_eq!(read(), [["a.py", "c.py"]]);
    // … and a damaged one is as good as none.
    for damage in [&text[..text.len() / 2], "", "{\"id\":3}\n\0\n", "nonsense"] {
        std::fs::write(&file, damage).unwrap();
        assert_eq!(read(), [["a.py", "b.py", "c.py"]], "{damage}");
    }
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert_eq!(read(), [["a.py", "b.py", "c.py"]]);
}

#[test]
fn a_sweeping_commit_tells_nothing() {
    let fixture = Fixture::new("//- /a.py\n");
    for n in 0..50 {
        fixture.write(format!("f{n}.py"), "x\n");
    }
    fixture.commit("everything");
    let index =
        Store::default().index(&DiskTree::open(fixture.path()).unwrap(), &Watch::idle()).unwrap();
    assert_eq!(changes(&index), [[""; 0]]);
}
