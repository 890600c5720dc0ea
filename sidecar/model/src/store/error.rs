use std::io;

use codegrep_tree::Stop;

/// Why the store could not do what was asked. Each says what to do next in its hint.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Cancelled, or out of time.
    #[error(transparent)]
    Stopped(#[from] Stop),
    /// What was asked for is wrong: no such model, no model at all, a name that is taken.
    #[error("{message}")]
    Request {
        /// What happened and why.
        message: String,
        /// What to do next.
        hint: String,
    },
    /// The hub could not be reached, or does not give what was asked for.
    #[error("{message}")]
    Hub {
        /// What happened and why.
        message: String,
        /// What to do next.
        hint: String,
    },
    /// A file or folder of this machine is in the way.
    #[error("{message}")]
    Disk {
        /// What happened and why.
        message: String,
        /// What to do next.
        hint: String,
    },
}

impl StoreError {
    /// What to do next; empty when nothing is to be done.
    pub fn hint(&self) -> &str {
        match self {
            Self::Stopped(_) => "",
            Self::Request { hint, .. } | Self::Hub { hint, .. } | Self::Disk { hint, .. } => hint,
        }
    }

    pub(super) fn request(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Request { message: message.into(), hint: hint.into() }
    }

    pub(super) fn hub(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Hub { message: message.into(), hint: hint.into() }
    }
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "make room, or set CODEGREP_HOME to a folder on a larger disk"
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "make the folder yours to write, or set CODEGREP_HOME to one that is"
            }
            _ => "",
        };
        Self::Disk { message: error.to_string(), hint: hint.to_owned() }
    }
}
