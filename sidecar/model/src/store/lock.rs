use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::Duration;

use codegrep_tree::{Watch, regular};

use super::StoreError;

/// Holds other processes off until it is dropped; the system lets go of it when this one dies.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Locks the file at `path`, which is made when it is missing. `Ok(None)`: another process
    /// has it.
    pub(super) fn try_take(path: &Path) -> Result<Option<Self>, StoreError> {
        let file = regular::open_with(path, OpenOptions::new().create(true).write(true)).map_err(
            |error| {
                std::io::Error::new(
                    error.kind(),
                    format!("cannot open {}: {error}", path.display()),
                )
            },
        )?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => {
                Err(std::io::Error::other(format!("cannot lock {}: {error}", path.display()))
                    .into())
            }
        }
    }

    /// Waits for its turn; such locks are held for moments.
    pub(super) fn take(path: &Path, watch: &Watch) -> Result<Self, StoreError> {
        loop {
            if let Some(lock) = Self::try_take(path)? {
                return Ok(lock);
            }
            watch.check()?;
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
