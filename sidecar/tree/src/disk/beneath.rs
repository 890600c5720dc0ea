use std::io;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use crate::resolve::{Missing, resolve};
use crate::{RepoPath, TreeError};

/// A root's handle and every way in. The kernel (on Linux), or cap-std one segment at a time,
/// refuses what leaves the root, however links and folders change meanwhile.
#[derive(Debug)]
pub(super) struct Beneath(Dir);

impl Beneath {
    /// Links that lead to the root are followed.
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(root, ambient_authority())?;
        // The first entry is asked for, since a folder that opens may still not be readable.
        dir.entries()?.next().transpose()?;
        Ok(Self(dir))
    }

    /// Device and inode.
    #[cfg(unix)]
    pub(super) fn identity(&self) -> io::Result<(u64, u64)> {
        use cap_std::fs::MetadataExt as _;
        let own = self.0.dir_metadata()?;
        Ok((own.dev(), own.ino()))
    }

    /// The path without links; what it names exists.
    pub(super) fn resolve(&self, path: &RepoPath) -> Result<RepoPath, TreeError> {
        if straight(&self.0, path, Want::Place).is_some() {
            return Ok(path.clone());
        }
        resolve(path, Missing::Fails, |at| self.link(at))
    }

    /// Where the link at `path` points; links in its parents are not followed.
    pub(super) fn link(&self, path: &RepoPath) -> Result<Option<String>, TreeError> {
        let fail = |error| failure(path, &error);
        if !self.0.symlink_metadata(on_disk(path)).map_err(fail)?.is_symlink() {
            return Ok(None);
        }
        let target = self.0.read_link_contents(path.plain()).map_err(fail)?;
        // Where a name is not UTF-8, nothing lies that a `RepoPath` could name.
        let not_found = |_| TreeError::NotFound { path: path.to_string() };
        target.into_os_string().into_string().map(Some).map_err(not_found)
    }

    /// What `path` names, without opening it: it need not be readable.
    pub(super) fn metadata(&self, path: &RepoPath) -> Result<Metadata, TreeError> {
        let real = self.resolve(path)?;
        self.0.symlink_metadata(on_disk(&real)).map_err(|error| failure(path, &error))
    }

    /// Opens the file that `path` names, which may be a folder or special; a pipe is not waited
    /// for.
    pub(super) fn file(&self, path: &RepoPath) -> Result<File, TreeError> {
        if let Some(file) = straight(&self.0, path, Want::Bytes) {
            return Ok(File::from_std(file));
        }
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt as _;
            options.custom_flags(crate::regular::NO_WAIT);
        }
        let real = self.resolve(path)?;
        self.0.open_with(on_disk(&real), &options).map_err(|error| failure(path, &error))
    }

    /// Opens the folder that `path` names.
    pub(super) fn dir(&self, path: &RepoPath) -> Result<Dir, TreeError> {
        if let Some(file) = straight(&self.0, path, Want::Place) {
            return Ok(Dir::from_std_file(file));
        }
        let real = self.resolve(path)?;
        self.0.open_dir(on_disk(&real)).map_err(|error| failure(path, &error))
    }
}

/// The path as the system takes it.
fn on_disk(path: &RepoPath) -> &str {
    if path.is_root() { "." } else { path.plain() }
}

enum Want {
    Bytes,
    /// Only a place to look from.
    Place,
}

/// Opens what `path` names if no segment is a link, which one call can tell on Linux; `None` leaves
/// everything else, errors too, to the longer way.
fn straight(root: &Dir, path: &RepoPath, want: Want) -> Option<std::fs::File> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
        if path.in_git_dir() {
            return None;
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let flags = OFlags::CLOEXEC
            | match want {
                Want::Bytes => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
                Want::Place => OFlags::PATH,
            };
        let file = openat2(root, on_disk(path), flags, Mode::empty(), resolve).ok()?;
        Some(file.into())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (root, path, want);
        None
    }
}

/// A system's error in our words.
pub(super) fn failure(path: &RepoPath, error: &io::Error) -> TreeError {
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
