//! A repository as the retriever sees it: names, bytes and blob ids, whether they lie on disk,
//! in git objects, or in an editor's unsaved buffers.
//!
//! Knows nothing about indexes, models or the wire. A workspace is hostile: every path is opened
//! beneath a directory handle, and nothing here runs a program the repository names.

mod disk;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
mod hash;
mod path;
mod resolve;
mod rules;
mod walk;
mod watch;

pub use disk::DiskTree;
pub use path::{PathError, RepoPath};
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

/// One folder as it lies there, before any ignore rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folder {
    /// In no particular order; `.git` is never among them.
    pub items: Vec<Item>,
    /// Names that no [`RepoPath`] can hold, made printable, and why.
    pub unnamed: Vec<(String, PathError)>,
    /// Whether it is the top of a git repository: rules of folders above do not reach into it.
    pub is_repository: bool,
    /// `.gitignore` files from above the tree's root that hold here, outermost first.
    pub outer_rules: Vec<OuterRules>,
}

/// An entry of a [`Folder`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub name: String,
    pub kind: ItemKind,
}

/// What an [`Item`] is, links not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// `size` in bytes; `stamp` as in [`Entry`].
    File {
        size: u64,
        stamp: u64,
    },
    Dir,
    Link,
    /// A pipe, socket or device.
    Special,
}

/// A `.gitignore` that lies above a tree's root, in the git repository that holds the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OuterRules {
    /// From the folder that holds the `.gitignore` down to the tree's root, such as `packages/app`.
    pub below: String,
    pub text: Vec<u8>,
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

/// Why a path gave nothing. The text is fit to be shown to a model or a person.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    #[error("{0}")]
    Path(#[from] PathError),
    #[error("{path}: no such file or folder")]
    NotFound { path: String },
    #[error("{path}: leaves the repository (a link that points outside it)")]
    Outside { path: String },
    #[error("{path}: is a folder, not a file")]
    IsDir { path: String },
    #[error("{path}: not a regular file (a pipe, socket or device)")]
    Special { path: String },
    /// In git's own folder, which holds no files of the repository.
    #[error("{path}: lies in git's own folder, which is not served")]
    GitDir { path: String },
    /// Too large to be handled whole.
    #[error("{path}: {size} bytes are too many to be read whole")]
    TooLarge { path: String, size: u64 },
    #[error("{path}: permission denied")]
    Denied { path: String },
    /// The root itself cannot serve; `hint` says what to do.
    #[error("{message}")]
    Root { message: String, hint: String },
    #[error("{path}: {message}")]
    Io { path: String, message: String },
    #[error(transparent)]
    Stopped(#[from] Stop),
}

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
    /// The path without links that names the same file or folder.
    fn resolve(&self, path: &RepoPath) -> Result<RepoPath, TreeError>;
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
    /// The regular files in `scope`, sorted by path. Symbolic links are not followed and not
    /// listed, except that `scope.under` itself may lead through links: its files are then listed
    /// under the path without links.
    fn walk(&self, scope: &Scope, watch: &Watch) -> Result<Listing, TreeError> {
        walk::walk(self, scope, watch)
    }
}
