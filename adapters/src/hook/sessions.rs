use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use fs_err as fs;
use sha2::{Digest, Sha256};

/// What each session was shown already: a file is worth an agent's attention once.
///
/// One small file a session, of hashes: neither paths nor session ids are kept. It is locked while
/// it is read and appended to, so hooks of one session that run at the same time agree; a line that
/// a crash cut off is ignored.
#[derive(Debug)]
pub struct Sessions {
    folder: PathBuf,
}

/// Sessions that are remembered; the oldest go first.
const MOST_SESSIONS: usize = 256;

/// Of one session's file; a session that was shown some 2,000 files is shown no more.
const MOST_BYTES: u64 = 64 << 10;

/// Hex digits of a hash.
const DIGITS: usize = 32;

/// A lock wakes nobody, so it is tried this often.
const LOOK: Duration = Duration::from_millis(5);

impl Sessions {
    /// Kept in `folder`, which is made when first needed.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// `block` without the files of `root` that `session` was shown before, and notes the rest as
    /// shown; `None` when none is left.
    ///
    /// # Errors
    /// The folder cannot be written, or another process held the session's file until `deadline`.
    pub fn fresh(
        &self,
        client: &str,
        session: &str,
        root: &Path,
        block: &str,
        deadline: Instant,
    ) -> io::Result<Option<String>> {
        let mut file = self.open(&hash(&[client.as_bytes(), session.as_bytes()]))?;
        lock(&file, deadline)?;
        let mut bytes = Vec::new();
        (&file).take(MOST_BYTES).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == MOST_BYTES {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&bytes);
        let shown: HashSet<&str> = text.lines().filter(|line| line.len() == DIGITS).collect();

        // A line that a crash cut off ends here.
        let mut noted = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" }.to_owned();
        let (mut kept, mut files) = (String::new(), 0);
        for line in block.split_inclusive('\n') {
            if let Some(path) = line.strip_prefix("- ") {
                let name = root.as_os_str().as_encoded_bytes();
                let mark = hash(&[name, path.trim_end().as_bytes()]);
                if shown.contains(mark.as_str()) {
                    continue;
                }
                files += 1;
                noted += &mark;
                noted.push('\n');
            }
            kept += line;
        }
        if files == 0 {
            return Ok(None);
        }
        // Before anything is printed: shown twice is worse than not at all.
        file.write_all(noted.as_bytes())?;
        Ok(Some(kept))
    }

    fn open(&self, name: &str) -> io::Result<File> {
        let path = self.folder.join(name);
        if !path.is_file() {
            fs::create_dir_all(&self.folder)?;
            self.prune()?;
        }
        OpenOptions::new().create(true).read(true).append(true).open(path)
    }

    /// Leaves room for one more.
    fn prune(&self) -> io::Result<()> {
        let mut sessions = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            // One that another process has just removed is none.
            if let Ok(meta) = entry.metadata() {
                sessions.push((meta.modified()?, entry.path()));
            }
        }
        sessions.sort();
        let surplus = (sessions.len() + 1).saturating_sub(MOST_SESSIONS);
        for (_, path) in sessions.into_iter().take(surplus) {
            let _ = fs::remove_file(path);
        }
        Ok(())
    }
}

/// Released when the file is closed, however the process ends.
fn lock(file: &File, deadline: Instant) -> io::Result<()> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(LOOK),
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::TimedOut.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// The first half of a SHA-256 over the parts, in hex.
fn hash(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut hex = String::with_capacity(DIGITS);
    for byte in &hasher.finalize()[..DIGITS / 2] {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(files: &[&str]) -> String {
        let lines: String = files.iter().map(|file| format!("- {file}\n")).collect();
        format!("\n\n<candidate_files>\n{lines}</candidate_files>\n")
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn a_file_is_shown_once_a_session_and_root() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::at(dir.path().join("s"));
        let fresh = |client, session, root: &str, files: &[&str]| {
            sessions.fresh(client, session, Path::new(root), &block(files), soon()).unwrap()
        };
        assert_eq!(fresh("c", "1", "/r", &["a", "b"]), Some(block(&["a", "b"])));
        assert_eq!(fresh("c", "1", "/r", &["b", "x", "a"]), Some(block(&["x"])));
        assert_eq!(fresh("c", "1", "/r", &["a", "x"]), None);
        for (client, session, root) in [("c", "2", "/r"), ("d", "1", "/r"), ("c", "1", "/q")] {
            assert_eq!(fresh(client, session, root, &["a"]), Some(block(&["a"])));
        }
    }

    #[test]
    fn a_line_that_a_crash_cut_off_spoils_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::at(dir.path().to_owned());
        let fresh = |file| {
            sessions.fresh("c", "1", Path::new("/r"), &block(&[file]), soon()).unwrap().is_some()
        };
        assert!(fresh("a"));
        let path = fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(b"\xff0123");
        fs::write(&path, bytes).unwrap();
        assert_eq!(["a", "b", "b"].map(fresh), [false, true, false]);
    }

    #[test]
    fn of_hooks_at_the_same_time_one_shows_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::at(dir.path().to_owned());
        let shown = thread::scope(|scope| {
            let fresh = || sessions.fresh("c", "1", Path::new("/r"), &block(&["a"]), soon());
            let hooks: Vec<_> = (0..8).map(|_| scope.spawn(fresh)).collect();
            hooks.into_iter().filter_map(|hook| hook.join().unwrap().unwrap()).count()
        });
        assert_eq!(shown, 1);
    }

    #[test]
    fn the_oldest_sessions_are_forgotten_and_a_held_lock_ends_in_time() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::at(dir.path().to_owned());
        let fresh = |session: &str, deadline| {
            sessions.fresh("c", session, Path::new("/r"), &block(&["a"]), deadline)
        };
        for session in 0..MOST_SESSIONS + 9 {
            assert!(fresh(&session.to_string(), soon()).unwrap().is_some());
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), MOST_SESSIONS);
        let held = sessions.open(&hash(&[b"c", b"z"])).unwrap();
        held.lock().unwrap();
        let error = fresh("z", Instant::now()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
