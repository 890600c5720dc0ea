//! A log that never grows without bound: when it is full it becomes the old one, and a new one
//! begins.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use codegrep_tree::regular;

/// Of the current log, and of the old one.
pub const MOST_BYTES: u64 = 4 << 20;

/// Appends to a file, and to `FILE.old` what was there before. A log that cannot be written is lost
/// and stops nobody.
pub struct Capped {
    path: PathBuf,
    most: u64,
    file: Option<File>,
    size: u64,
}

impl Capped {
    pub fn open(path: PathBuf) -> Self {
        Self::with_room(path, MOST_BYTES)
    }

    fn with_room(path: PathBuf, most: u64) -> Self {
        let mut log = Self { path, most, file: None, size: 0 };
        if let Some(folder) = log.path.parent() {
            let _ = fs::create_dir_all(folder);
        }
        log.reopen();
        log
    }

    fn reopen(&mut self) {
        let mut options = File::options();
        self.file = regular::open_with(&self.path, options.create(true).append(true)).ok();
        self.size =
            self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
    }
}

impl Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.size > 0 && self.size + bytes.len() as u64 > self.most {
            let _ = fs::rename(&self.path, self.path.with_extension("log.old"));
            self.reopen();
        }
        if let Some(file) = &mut self.file {
            let _ = file.write_all(bytes);
        }
        self.size += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_becomes_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/daemon.log");
        let mut log = Capped::with_room(path.clone(), 20);
        for line in ["first line\n", "second\n", "third line\n"] {
            log.write_all(line.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "third line\n");
        assert_eq!(
            fs::read_to_string(path.with_extension("log.old")).unwrap(),
            "first line\nsecond\n"
        );
        // One that cannot be written stops nobody.
        assert_eq!(Capped::open("/proc/none/daemon.log".into()).write(b"x").unwrap(), 1);
    }
}
