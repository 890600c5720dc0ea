use codegrep_agent::tools::Pool;
use codegrep_agent::{Rules, StopReason, turns};
use codegrep_tree::{Blob, BlobId, DiskTree, Folder, Kind, RepoPath, Tree, TreeError, Watch};

use crate::given::{READ, TASK, calls, opening, repository, scripted};

/// A folder whose user loses patience while a file is read.
struct Impatient {
    disk: DiskTree,
    watch: Watch,
}

impl Tree for Impatient {
    fn name(&self) -> &str {
        self.disk.name()
    }
    fn list(&self, dir: &RepoPath, watch: &Watch) -> Result<Folder, TreeError> {
        self.disk.list(dir, watch)
    }
    fn link(&self, path: &RepoPath) -> Result<Option<String>, TreeError> {
        self.disk.link(path)
    }
    fn kind(&self, path: &RepoPath) -> Result<Kind, TreeError> {
        self.disk.kind(path)
    }
    fn read(&self, path: &RepoPath, limit: u64) -> Result<Blob, TreeError> {
        self.watch.cancel();
        self.disk.read(path, limit)
    }
    fn blob_id(&self, path: &RepoPath) -> Result<BlobId, TreeError> {
        self.disk.blob_id(path)
    }
}

/// The calls are on record, their results were never shown to the model.
#[test]
fn a_cancel_while_tools_run_ends_as_cancelled() {
    let fixture = repository();
    let watch = Watch::idle();
    let tree = Impatient { disk: DiskTree::open(fixture.path()).unwrap(), watch: watch.clone() };
    let model = scripted(&format!("--- turn\n{}\n--- turn\n{{}}\n", calls(&[READ])));
    let rules = Rules::default();
    let opening = opening(TASK, &rules);
    let episode = turns::run(opening, &tree, &model, &Pool::default(), &rules, &watch);
    assert_eq!((episode.stop, &episode.error), (StopReason::Cancelled, &None));
    assert_eq!((episode.turns().count(), episode.tool_calls()), (1, 1));
    assert!(crate::given::shown(&episode).is_empty());
}
