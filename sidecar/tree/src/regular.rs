use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// Opening a pipe must not wait for its writer, nor a terminal become ours.
#[cfg(unix)]
pub(crate) const NO_WAIT: i32 =
    rustix::fs::OFlags::NONBLOCK.union(rustix::fs::OFlags::NOCTTY).bits() as i32;

/// Opens a regular file; links to it are followed. A pipe or device is `InvalidInput` at once
/// instead of a wait.
///
/// For the few files that lie outside a tree's root by their nature: git's own, and `.gitignore`
/// above the root.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(NO_WAIT);
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// The first `limit` bytes of such a file.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
