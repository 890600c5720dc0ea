use std::io::{self, Read as _};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileType, Metadata, OpenOptions};

use crate::hash::stamp;
use crate::path::is_git_dir;
use crate::resolve::resolve;
use crate::{Blob, Folder, Item, ItemKind, Kind, PathError, RepoPath, Tree, TreeError, Watch};

/// A folder on disk.
///
/// Everything is opened beneath the root's handle, on Linux by `openat2` with `RESOLVE_BENEATH`:
/// the kernel refuses what leaves the root, however links and folders change meanwhile.
#[derive(Debug)]
pub struct DiskTree {
    name: String,
    root: Dir,
}

impl DiskTree {
    /// Opens the folder `root`; links that lead to it are followed.
    ///
    /// [`TreeError::Root`] when it is missing, no folder or not readable.
    pub fn open(root: &Path) -> Result<Self, TreeError> {
        let name = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let name = name.display().to_string();
        let fail = |what: &str, hint: &str| TreeError::Root {
            message: format!("{name}: {what}"),
            hint: hint.to_owned(),
        };
        let opened = Dir::open_ambient_dir(root, ambient_authority())
            // The first entry is asked for, since a folder that opens may still not be readable.
            .and_then(|dir| dir.entries()?.next().transpose().map(|_| dir));
        match opened {
            Ok(root) => Ok(Self { name, root }),
            Err(error) => Err(match error.kind() {
                io::ErrorKind::NotFound => {
                    fail("no such folder", "check the path for a typing error")
                }
                io::ErrorKind::NotADirectory => {
                    fail("not a folder", "give the folder that holds the code")
                }
                io::ErrorKind::PermissionDenied => fail(
                    "permission denied",
                    "run as a user who may read it, or give that user read permission",
                ),
                _ => fail(&error.to_string(), "check that the disk is there and readable"),
            }),
        }
    }

    fn link(&self, path: &RepoPath) -> Result<Option<String>, TreeError> {
        let metadata = self.root.symlink_metadata(path.plain()).map_err(|e| failure(path, &e))?;
        if !metadata.is_symlink() {
            return Ok(None);
        }
        let target = self.root.read_link_contents(path.plain()).map_err(|e| failure(path, &e))?;
        // Where a name is not UTF-8, nothing lies that a `RepoPath` could name.
        let not_found = || TreeError::NotFound { path: path.to_string() };
        target.into_os_string().into_string().map(Some).map_err(|_| not_found())
    }

    /// The path without links as a file system takes it.
    fn real(&self, path: &RepoPath) -> Result<RepoPath, TreeError> {
        if path.in_git_dir() {
            return Err(TreeError::GitDir { path: path.to_string() });
        }
        if has_no_links(&self.root, path) {
            return Ok(path.clone());
        }
        resolve(path, |at| self.link(at))
    }
}

impl Tree for DiskTree {
    fn name(&self) -> &str {
        &self.name
    }

    fn list(&self, dir: &RepoPath, watch: &Watch) -> Result<Folder, TreeError> {
        let real = self.real(dir)?;
        let fail = |error: io::Error| failure(dir, &error);
        let opened = self.root.open_dir(on_disk(&real)).map_err(fail)?;
        let mut folder = Folder::default();
        for entry in opened.entries().map_err(fail)? {
            watch.check()?;
            let entry = entry.map_err(fail)?;
            let name = match entry.file_name().into_string() {
                Ok(name) => name,
                Err(name) => {
                    let name = name.to_string_lossy().escape_debug().to_string();
                    folder.unnamed.push((name.clone(), PathError::NotUtf8(name)));
                    continue;
                }
            };
            if is_git_dir(&name) {
                folder.is_repository = true;
                continue;
            }
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
            folder.items.push(Item { name, kind });
        }
        Ok(folder)
    }

    fn resolve(&self, path: &RepoPath) -> Result<RepoPath, TreeError> {
        self.real(path)
    }

    fn kind(&self, path: &RepoPath) -> Result<Kind, TreeError> {
        let real = self.real(path)?;
        let metadata = self.root.metadata(on_disk(&real)).map_err(|error| failure(path, &error))?;
        if metadata.is_dir() {
            Ok(Kind::Dir)
        } else if metadata.is_file() {
            Ok(Kind::File { size: metadata.len() })
        } else {
            Err(TreeError::Special { path: path.to_string() })
        }
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Blob, TreeError> {
        let fail = |error: io::Error| failure(path, &error);
        let real = self.real(path)?;
        let file = self.root.open_with(on_disk(&real), &reading()).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        if metadata.is_dir() {
            return Err(TreeError::IsDir { path: path.to_string() });
        }
        if !metadata.is_file() {
            return Err(TreeError::Special { path: path.to_string() });
        }
        let mut bytes = Vec::new();
        // One byte more lets the last read see the end without growing the buffer.
        let room = metadata.len().min(limit).saturating_add(1);
        let too_large = || TreeError::TooLarge { path: path.to_string(), size: metadata.len() };
        bytes.try_reserve(usize::try_from(room).unwrap_or(usize::MAX)).map_err(|_| too_large())?;
        file.take(limit).read_to_end(&mut bytes).map_err(fail)?;
        let read = bytes.len() as u64;
        // The end was seen unless the limit came first; the file may have changed since the stat.
        let size = if read < limit { read } else { metadata.len().max(read) };
        Ok(Blob { bytes, size })
    }
}

fn on_disk(path: &RepoPath) -> &str {
    if path.is_root() { "." } else { path.plain() }
}

/// Opening a pipe must not wait for its writer, nor a terminal become ours.
fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        use rustix::fs::OFlags;
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32);
    }
    options
}

/// Whether the path names something and no segment is a link; `false` where one cannot tell at
/// once. Only spares the way through [`resolve`]: opening afterwards is safe either way.
fn has_no_links(root: &Dir, path: &RepoPath) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        openat2(root, on_disk(path), flags, Mode::empty(), resolve).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = root;
        path.is_root()
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

fn failure(path: &RepoPath, error: &io::Error) -> TreeError {
    use io::ErrorKind;
    let path = path.to_string();
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) {
        // What opening a socket gives.
        return TreeError::Special { path };
    }
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => {
            TreeError::NotFound { path }
        }
        // The refusal to leave the root is cap-std's own and carries no system error.
        ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            TreeError::Outside { path }
        }
        ErrorKind::PermissionDenied => TreeError::Denied { path },
        _ => TreeError::Io { path, message: error.to_string() },
    }
}
