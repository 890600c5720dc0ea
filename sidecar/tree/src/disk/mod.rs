mod beneath;
mod outer;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cap_std::fs::{FileType, Metadata};

use self::beneath::{Beneath, failure};
use crate::hash::stamp;
use crate::{Blob, Folder, History, ItemKind, Kind, OuterRules, RepoPath, Tree, TreeError, Watch};

/// A folder on disk.
///
/// Everything is opened beneath the root's handle, on Linux by `openat2` with `RESOLVE_BENEATH`.
/// The folder is the one that was opened, even if another takes its place.
#[derive(Debug)]
pub struct DiskTree {
    name: String,
    path: PathBuf,
    root: Beneath,
    outer_rules: Vec<OuterRules>,
}

impl DiskTree {
    /// Opens the folder `root`; links that lead to it are followed.
    ///
    /// [`TreeError::Root`] when it is missing, no folder or not readable.
    pub fn open(root: &Path) -> Result<Self, TreeError> {
        let path = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let name = path.display().to_string();
        let beneath = Beneath::open(root).map_err(|error| {
            let (what, hint) = match error.kind() {
                io::ErrorKind::NotFound => ("no such folder", "check the path for a typing error"),
                io::ErrorKind::NotADirectory => {
                    ("not a folder", "give the folder that holds the code")
                }
                io::ErrorKind::PermissionDenied => (
                    "permission denied",
                    "run as a user who may read it, or give that user read permission",
                ),
                _ => (&*error.to_string(), "check that the disk is there and readable"),
            };
            TreeError::Root { message: format!("{name}: {what}"), hint: hint.to_owned() }
        })?;
        Ok(Self { name, path, root: beneath, outer_rules: outer::outer_rules(root) })
    }

    /// Whether the folder that was opened is the one that now lies at `other`, by whatever name.
    pub fn is_at(&self, other: &Path) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let other = other.metadata().map(|other| (other.dev(), other.ino()));
            matches!((self.root.identity(), other), (Ok(own), Ok(other)) if own == other)
        }
        #[cfg(not(unix))]
        {
            // A name is all there is to compare.
            matches!((self.path.canonicalize(), other.canonicalize()), (Ok(a), Ok(b)) if a == b)
        }
    }
}

impl Tree for DiskTree {
    fn name(&self) -> &str {
        &self.name
    }

    fn list(&self, dir: &RepoPath, watch: &Watch) -> Result<Folder, TreeError> {
        let fail = |error| failure(dir, &error);
        let opened = self.root.dir(dir)?;
        let mut folder = Folder::default();
        for entry in opened.entries().map_err(fail)? {
            watch.check()?;
            let entry = entry.map_err(fail)?;
            let name = match entry.file_name().into_string() {
                Ok(name) => name,
                Err(name) => {
                    folder.add_not_utf8(&name.to_string_lossy());
                    continue;
                }
            };
            // Whatever vanished since the folder was read is not there.
            let Ok(file_type) = entry.file_type() else { continue };
            let kind = if file_type.is_dir() {
                ItemKind::Dir
            } else if file_type.is_symlink() {
                ItemKind::Link
            } else if file_type.is_file() || file_type == FileType::unknown() {
                let Ok(metadata) = entry.metadata() else { continue };
                item_kind(&metadata)
            } else {
                ItemKind::Special
            };
            folder.add(&name, kind);
        }
        if dir.is_root() {
            folder.outer_rules = self.outer_rules.clone();
        }
        Ok(folder)
    }

    fn link(&self, path: &RepoPath) -> Result<Option<String>, TreeError> {
        self.root.link(path)
    }

    fn resolve(&self, path: &RepoPath) -> Result<RepoPath, TreeError> {
        self.root.resolve(path)
    }

    fn kind(&self, path: &RepoPath) -> Result<Kind, TreeError> {
        match item_kind(&self.root.metadata(path)?) {
            ItemKind::File { size, .. } => Ok(Kind::File { size }),
            ItemKind::Dir => Ok(Kind::Dir),
            ItemKind::Link | ItemKind::Special => {
                Err(TreeError::Special { path: path.to_string() })
            }
        }
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Blob, TreeError> {
        let fail = |error| failure(path, &error);
        let file = self.root.file(path)?;
        let metadata = file.metadata().map_err(fail)?;
        if metadata.is_dir() {
            return Err(TreeError::IsDir { path: path.to_string() });
        }
        if !metadata.is_file() {
            return Err(TreeError::Special { path: path.to_string() });
        }
        let mut bytes = Vec::new();
        // One byte more lets the last read see the end without growing the buffer.
        let room = usize::try_from(metadata.len().min(limit).saturating_add(1));
        let too_large = || TreeError::TooLarge { path: path.to_string(), size: metadata.len() };
        bytes.try_reserve(room.unwrap_or(usize::MAX)).map_err(|_| too_large())?;
        file.take(limit).read_to_end(&mut bytes).map_err(fail)?;
        let read = bytes.len() as u64;
        // The end was seen unless the limit came first; the file may have changed since the stat.
        let size = if read < limit { read } else { metadata.len().max(read) };
        Ok(Blob { bytes, size })
    }

    fn history(&self) -> Option<History> {
        History::of_folder(&self.path)
    }
}

fn item_kind(metadata: &Metadata) -> ItemKind {
    if metadata.is_file() {
        ItemKind::File { size: metadata.len(), stamp: stamp_of(metadata) }
    } else if metadata.is_dir() {
        ItemKind::Dir
    } else if metadata.is_symlink() {
        ItemKind::Link
    } else {
        ItemKind::Special
    }
}

#[cfg(unix)]
fn stamp_of(metadata: &Metadata) -> u64 {
    use cap_std::fs::MetadataExt as _;
    // The change time moves even when a program sets the modification time back.
    stamp((
        (metadata.dev(), metadata.ino(), metadata.size()),
        (metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()),
    ))
}

#[cfg(not(unix))]
fn stamp_of(metadata: &Metadata) -> u64 {
    let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
    stamp((metadata.len(), modified))
}
