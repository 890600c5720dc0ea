//! Files outside any tree: git's own, `.gitignore` above a root, and what users keep for the
//! program. A pipe or device among them is an error at once instead of a wait or an endless read.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// Opening a pipe must not wait for its other end, nor a terminal become ours.
#[cfg(unix)]
pub const NO_WAIT: i32 =
    rustix::fs::OFlags::NONBLOCK.union(rustix::fs::OFlags::NOCTTY).bits() as i32;

/// Opens a regular file to read; links to it are followed. `InvalidInput` when it is none.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, OpenOptions::new().read(true))
}

/// Opens a regular file as `options` say; they should not truncate, which happens before the
/// look at what it is. `InvalidInput` when it is none.
pub fn open_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(NO_WAIT);
    }
    let file = options.open(path).map_err(|error| match not_regular(path) {
        // A pipe that nobody reads, a socket: the system's word for it helps nobody.
        true => refused(),
        false => error,
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused()) }
}

/// The first `limit` bytes of such a file.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of such a file; `InvalidData` when it is longer than `limit` bytes or not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let invalid = |message| io::Error::new(io::ErrorKind::InvalidData, message);
    let bytes = read(path, limit.saturating_add(1))?;
    if bytes.len() as u64 > limit {
        return Err(invalid(format!("larger than {} KiB", limit >> 10)));
    }
    String::from_utf8(bytes).map_err(|_| invalid("not UTF-8".to_owned()))
}

fn not_regular(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| !meta.is_file())
}

fn refused() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn a_pipe_or_a_device_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            for options in [OpenOptions::new().read(true), OpenOptions::new().append(true)] {
                let error = open_with(path, options).unwrap_err();
                assert_eq!(error.to_string(), "not a regular file", "{}", path.display());
            }
        }
    }

    #[test]
    fn a_text_has_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x".repeat(1024)).unwrap();
        assert_eq!(read_text(&file, 1024).unwrap().len(), 1024);
        std::fs::write(&file, "x".repeat(1025)).unwrap();
        assert_eq!(read_text(&file, 1024).unwrap_err().to_string(), "larger than 1 KiB");
        std::fs::write(&file, b"\xff").unwrap();
        assert_eq!(read_text(&file, 1024).unwrap_err().to_string(), "not UTF-8");
    }
}
