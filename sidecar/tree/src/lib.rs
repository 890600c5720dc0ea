//! A repository as the retriever sees it: names, bytes and blob ids, whether they lie on disk,
//! in git objects, or in an editor's unsaved buffers.
//!
//! Knows nothing about indexes, models or the wire. A workspace is hostile: every path is opened
//! beneath a directory handle, and nothing here runs a program the repository names.

mod disk;
mod error;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod folder;
mod forest;
mod git;
mod hash;
mod notes;
mod overlay;
mod path;
pub mod regular;
mod resolve;
mod rules;
mod text;
mod walk;
mod watch;

pub use disk::DiskTree;
pub use error::TreeError;
pub use folder::{Folder, Item, ItemKind, OuterRules};
pub use forest::ForestTree;
pub use git::{Commit, GitTree, History};
pub use overlay::OverlayTree;
pub use path::{PathError, RepoPath};
pub use text::{decode, is_binary, is_unseen, is_utf16};
pub use walk::reaches;
pub use watch::{Event, Sink, Stage, Stop, Watch};

/// The most bytes [`Tree::read`] returns by default: larger files are cut, never loaded whole.
pub const READ_LIMIT: u64 = 16 << 20;

/// Which files a walk names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Only files at or below this path; the root when `None`. A hidden or ignored path that is
    /// named here is walked although its parents would hide it.
    pub under: Option<RepoPath>,
    /// Also files whose name, or a parent's name, starts with a dot (`.git` never).
    pub hidden: bool,
    /// Also files that `.gitignore` or `.ignore` exclude.
    pub ignored: bool,
}

/// One regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub path: RepoPath,
    /// Bytes.
    pub size: u64,
    /// Changes whenever the content may have changed (mtime and inode on disk, blob id in git,
    /// a hash of the text for a buffer). Compare for equality only.
    pub stamp: u64,
}

/// What a walk found, sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    pub entries: Vec<Entry>,
    /// What could not be listed and why (an unreadable folder, a name that is not UTF-8), for the
    /// user: a sentence each, at most [`Listing::MAX_WARNINGS`].
    pub warnings: Vec<String>,
}

impl Listing {
    pub const MAX_WARNINGS: usize = 20;
}

/// What a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File { size: u64 },
    Dir,
}

/// The start of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    pub bytes: Vec<u8>,
    /// Bytes of the whole file; `bytes` is shorter when it was cut at the limit.
    pub size: u64,
}

/// Git's id of the content: hex SHA-1 of `blob <size>\0<content>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(pub String);

/// A repository's files at one moment.
///
/// One conformance suite (`sidecar/tree/tests/`) holds for every source: the same repository on
/// disk, in git objects and under unsaved buffers lists, reads and refuses alike. Git's own folder
/// is refused everywhere.
pub trait Tree: Send + Sync {
    /// The root as the user knows it, for messages.
    fn name(&self) -> &str;
    /// What lies in one folder, ignored and hidden entries too; links in the path are followed
    /// within the root.
    fn list(&self, dir: &RepoPath, watch: &Watch) -> Result<Folder, TreeError>;
    /// Where the symbolic link at `path` points, as written; `None` when it is something else.
    /// Links in the parents are not followed.
    fn link(&self, path: &RepoPath) -> Result<Option<String>, TreeError>;
    /// The path without links that names the same file or folder.
    fn resolve(&self, path: &RepoPath) -> Result<RepoPath, TreeError> {
        resolve::resolve(path, resolve::Missing::Fails, |at| self.link(at))
    }
    /// What `path` names; links are followed only within the root.
    fn kind(&self, path: &RepoPath) -> Result<Kind, TreeError>;
    /// The first `limit` bytes of a file. Never blocks on a pipe, never leaves the root.
    fn read(&self, path: &RepoPath, limit: u64) -> Result<Blob, TreeError>;
    /// Git's id of the file's content as it is now; [`TreeError::TooLarge`] above [`READ_LIMIT`]
    /// where it would have to be computed.
    fn blob_id(&self, path: &RepoPath) -> Result<BlobId, TreeError> {
        let blob = self.read(path, READ_LIMIT)?;
        if blob.size > blob.bytes.len() as u64 {
            return Err(TreeError::TooLarge { path: path.to_string(), size: blob.size });
        }
        Ok(BlobId::of(&blob.bytes))
    }
    /// The commits that led to these files; `None` where there are none.
    fn history(&self) -> Option<History> {
        None
    }
    /// The regular files in `scope`, sorted by path. Symbolic links are not followed and not
    /// listed, except that `scope.under` itself may lead through links: its files are then listed
    /// under the path without links.
    fn walk(&self, scope: &Scope, watch: &Watch) -> Result<Listing, TreeError> {
        walk::walk(self, scope, watch)
    }
}
