//! Where the daemon is met: a socket in a folder that only its user may enter.

use std::env;
use std::fs::{File, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use codegrep_tree::regular;

use crate::config::Places;

/// What a socket's address holds on every Unix, with room to spare.
const LONGEST_PATH: usize = 100;

/// A folder for the socket, the lock and what a starting daemon says.
#[derive(Debug, Clone)]
pub struct Meeting {
    folder: PathBuf,
}

/// Held by the daemon that listens. Whoever holds it may clear a dead one's socket away.
#[derive(Debug)]
pub struct Listening {
    pub listener: UnixListener,
    socket: PathBuf,
    inode: u64,
    _lock: File,
}

impl Meeting {
    /// Of this user's daemon. A folder too deep for a socket's address has a short one beside the
    /// user's other temporary files.
    pub fn of(places: &Places) -> Self {
        let fits = places.run.join("daemon.sock").as_os_str().as_bytes().len() <= LONGEST_PATH;
        let folder = if fits {
            places.run.clone()
        } else {
            let mut hasher = DefaultHasher::new();
            places.run.hash(&mut hasher);
            let user = rustix::process::getuid().as_raw();
            env::temp_dir().join(format!("codegrep-{user}-{:016x}", hasher.finish()))
        };
        Self { folder }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join("daemon.sock")
    }

    /// Reaches a daemon that listens.
    ///
    /// # Errors
    /// None does, or the folder belongs to somebody else.
    pub fn connect(&self) -> io::Result<UnixStream> {
        private(&self.folder)?;
        let stream = UnixStream::connect(self.socket())?;
        same_user(&stream)?;
        Ok(stream)
    }

    /// Listens, when nobody else does.
    ///
    /// # Errors
    /// `WouldBlock`: another daemon listens.
    pub fn listen(&self) -> io::Result<Listening> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        private(&self.folder)?;
        let mut options = File::options();
        options.create(true).truncate(false).write(true);
        let lock = regular::open_with(&self.folder.join("daemon.lock"), &mut options)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => ErrorKind::WouldBlock.into(),
            TryLockError::Error(error) => error,
        })?;
        let socket = self.socket();
        match std::fs::remove_file(&socket) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&socket)?;
        std::fs::set_permissions(&socket, PermissionsExt::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let inode = std::fs::symlink_metadata(&socket)?.ino();
        Ok(Listening { listener, socket, inode, _lock: lock })
    }
}

impl Listening {
    /// Whether the socket still lies where clients look for it.
    pub fn can_be_met(&self) -> bool {
        let inode = |path: &Path| std::fs::symlink_metadata(path).map(|found| found.ino()).ok();
        inode(&self.socket) == Some(self.inode)
    }
}

impl Drop for Listening {
    /// The socket goes while the lock is held: it is nobody else's, unless the lock was deleted.
    fn drop(&mut self) {
        if self.can_be_met() {
            let _ = std::fs::remove_file(&self.socket);
        }
    }
}

/// A folder that another user could write into could hold another user's socket.
fn private(folder: &Path) -> io::Result<()> {
    let found = std::fs::symlink_metadata(folder)?;
    let own = found.is_dir() && found.uid() == rustix::process::getuid().as_raw();
    if own && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    let folder = folder.display();
    Err(io::Error::new(
        ErrorKind::PermissionDenied,
        format!("{folder} is not a folder that this user alone may enter (mode 700)"),
    ))
}

/// The folder keeps other users out; root and a folder opened up later are caught here.
#[cfg(target_os = "linux")]
pub fn same_user(stream: &UnixStream) -> io::Result<()> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    if peer.uid == rustix::process::getuid() {
        return Ok(());
    }
    let message = format!("the other side belongs to user {}", peer.uid.as_raw());
    Err(io::Error::new(ErrorKind::PermissionDenied, message))
}

/// Only the folder's mode is known to keep others out here.
#[cfg(not(target_os = "linux"))]
pub fn same_user(_stream: &UnixStream) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meeting(below: &Path) -> Meeting {
        Meeting { folder: below.join("run") }
    }

    #[test]
    fn one_listens_and_a_dead_ones_socket_is_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let meeting = meeting(dir.path());
        assert_eq!(meeting.connect().unwrap_err().kind(), ErrorKind::NotFound);
        let first = meeting.listen().unwrap();
        assert_eq!(meeting.listen().unwrap_err().kind(), ErrorKind::WouldBlock);
        meeting.connect().unwrap();
        drop(first);
        assert!(!meeting.socket().exists());
        // A killed one leaves its socket.
        drop(UnixListener::bind(meeting.socket()).unwrap());
        assert_eq!(meeting.connect().unwrap_err().kind(), ErrorKind::ConnectionRefused);
        let _second = meeting.listen().unwrap();
        meeting.connect().unwrap();
    }

    #[test]
    fn a_folder_that_others_may_enter_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let meeting = meeting(dir.path());
        std::fs::create_dir(&meeting.folder).unwrap();
        std::fs::set_permissions(&meeting.folder, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(meeting.listen().unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!(meeting.connect().unwrap_err().kind(), ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_folder_too_deep_for_an_address_has_a_short_one() {
        let mut places = Places::below(Path::new("/h"));
        assert_eq!(Meeting::of(&places).socket(), Path::new("/h/run/daemon.sock"));
        places.run = PathBuf::from("/").join("d".repeat(120));
        assert!(Meeting::of(&places).socket().as_os_str().len() <= LONGEST_PATH);
    }
}
