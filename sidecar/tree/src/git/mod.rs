mod history;
mod loose;
mod objects;
mod packs;
mod refs;
mod store;

use std::path::{Path, PathBuf};

use git2::Oid;

pub use self::history::{Commit, History};
use self::objects::{NodeKind, Objects};
use self::refs::{GitDirs, Rev};
use crate::hash::stamp;
use crate::{Blob, BlobId, Folder, ItemKind, Kind, RepoPath, Tree, TreeError, Watch};

/// As long as Linux lets the target of a link be.
const LINK_LIMIT: u64 = 4095;

/// The files of one commit, read from git's objects; nothing is checked out.
///
/// Only objects and references are read, never the configuration: no hook, filter, file monitor,
/// include or other worktree that it names plays a part. A submodule is an empty folder, as in a
/// fresh checkout.
pub struct GitTree {
    name: String,
    /// Where its objects lie.
    folder: PathBuf,
    objects: Objects,
    commit: Oid,
    root: Oid,
}

impl GitTree {
    /// Opens the commit `rev` of the repository at `repo`, a worktree's top folder or bare.
    ///
    /// `rev` is `HEAD`, 7 to 40 hex digits, or the name of a branch or tag; expressions such as
    /// `main~2` are refused. [`TreeError::Root`] when the repository or the commit is missing.
    pub fn open(repo: &Path, rev: &str) -> Result<Self, TreeError> {
        let dirs = GitDirs::find(repo)?;
        let shown = std::path::absolute(repo).unwrap_or_else(|_| repo.to_owned());
        let shown = shown.display();
        let fail = |message: String, hint: &str| TreeError::Root {
            message: format!("{shown}: {message}"),
            hint: hint.to_owned(),
        };
        let damaged = |message| {
            fail(message, "give a commit's full id; `git fsck` says whether something is damaged")
        };
        let unknown = || match rev {
            "HEAD" => fail("no commit yet".to_owned(), "commit something, or search the folder"),
            _ => fail(
                format!("no commit `{rev}`"),
                "`git log --all` lists the commits; a shallow clone may not have it",
            ),
        };
        let folder = dirs.common.join("objects");
        let objects = Objects::open(&folder).map_err(damaged)?;
        let found = dirs.resolve(rev)?.ok_or_else(unknown)?;
        let missing = || match &found {
            // A reference promises its commit; an id of the caller's promises nothing.
            Rev::Id(id) if !id.eq_ignore_ascii_case(rev) => fail(
                format!("{rev} is the commit {id}, which is not there"),
                "a pack is missing or damaged: `git fsck` says more, `git fetch` may bring it back",
            ),
            _ => unknown(),
        };
        let (commit, root) = objects.commit(&found).map_err(damaged)?.ok_or_else(missing)?;
        let name = format!("{shown}@{:.10}", commit.to_string());
        Ok(Self { name, folder, objects, commit, root })
    }

    /// The commit's full id.
    pub fn commit_id(&self) -> String {
        self.commit.to_string()
    }

    /// What `path` names, links in it not followed.
    fn at(&self, path: &RepoPath) -> Result<NodeKind, TreeError> {
        let not_found = || TreeError::NotFound { path: path.to_string() };
        let mut at = NodeKind::Dir(self.root);
        for segment in path.segments() {
            let NodeKind::Dir(id) = at else { return Err(not_found()) };
            let nodes = self.objects.tree(id).map_err(|message| io(path, message))?;
            let found = nodes.binary_search_by(|node| node.name.as_slice().cmp(segment.as_bytes()));
            at = nodes[found.map_err(|_| not_found())?].kind;
        }
        Ok(at)
    }

    /// The blob that `path` names, links followed.
    fn blob(&self, path: &RepoPath) -> Result<Oid, TreeError> {
        match self.at(&self.resolve(path)?)? {
            NodeKind::File(id) | NodeKind::Link(id) => Ok(id),
            NodeKind::Dir(_) | NodeKind::Submodule => {
                Err(TreeError::IsDir { path: path.to_string() })
            }
        }
    }
}

impl Tree for GitTree {
    fn name(&self) -> &str {
        &self.name
    }

    fn list(&self, dir: &RepoPath, watch: &Watch) -> Result<Folder, TreeError> {
        let fail = |message| io(dir, message);
        let mut folder = Folder::default();
        let id = match self.at(&self.resolve(dir)?)? {
            NodeKind::Dir(id) => id,
            NodeKind::Submodule => return Ok(folder),
            _ => return Err(TreeError::NotFound { path: dir.to_string() }),
        };
        let nodes = self.objects.tree(id).map_err(fail)?;
        for node in nodes.iter() {
            watch.check()?;
            let kind = match node.kind {
                NodeKind::Dir(_) | NodeKind::Submodule => ItemKind::Dir,
                NodeKind::Link(_) => ItemKind::Link,
                NodeKind::File(id) => ItemKind::File {
                    size: self.objects.size_at(node, id),
                    stamp: stamp(id.as_bytes()),
                },
            };
            match std::str::from_utf8(&node.name) {
                Ok(name) => folder.add(name, kind),
                Err(_) => folder.add_not_utf8(&String::from_utf8_lossy(&node.name)),
            }
        }
        Ok(folder)
    }

    fn link(&self, path: &RepoPath) -> Result<Option<String>, TreeError> {
        let NodeKind::Link(id) = self.at(path)? else { return Ok(None) };
        let target = self.objects.blob(id, LINK_LIMIT).map_err(|message| io(path, message))?;
        // Where a name is not UTF-8, nothing lies that a `RepoPath` could name.
        let not_found = |_| TreeError::NotFound { path: path.to_string() };
        String::from_utf8(target.bytes).map(Some).map_err(not_found)
    }

    fn kind(&self, path: &RepoPath) -> Result<Kind, TreeError> {
        match self.at(&self.resolve(path)?)? {
            NodeKind::Dir(_) | NodeKind::Submodule => Ok(Kind::Dir),
            NodeKind::File(id) | NodeKind::Link(id) => {
                let size = self.objects.size(id).map_err(|message| io(path, message))?;
                Ok(Kind::File { size })
            }
        }
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Blob, TreeError> {
        self.objects.blob(self.blob(path)?, limit).map_err(|message| io(path, message))
    }

    fn blob_id(&self, path: &RepoPath) -> Result<BlobId, TreeError> {
        Ok(BlobId(self.blob(path)?.to_string()))
    }

    fn history(&self) -> Option<History> {
        let objects = Objects::open(&self.folder).ok()?;
        Some(History::at(objects, self.commit, RepoPath::root()))
    }
}

fn io(path: &RepoPath, message: String) -> TreeError {
    TreeError::Io { path: path.to_string(), message }
}
