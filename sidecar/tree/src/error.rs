use crate::{PathError, RepoPath, Stop};

/// Why a path gave nothing. The text is fit to be shown to a model or a person.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    #[error("{0}")]
    Path(#[from] PathError),
    #[error("{path}: no such file or folder")]
    NotFound { path: String },
    #[error("{path}: leaves the repository (a link that is absolute or points outside)")]
    Outside { path: String },
    #[error("{path}: is a folder, not a file")]
    IsDir { path: String },
    #[error("{path}: not a regular file (a pipe, socket or device)")]
    Special { path: String },
    /// In git's own folder, which holds no files of the repository.
    #[error("{path}: lies in git's own folder, which is not served")]
    GitDir { path: String },
    /// Too large to be handled whole.
    #[error("{path}: {size} bytes are too many to be read whole")]
    TooLarge { path: String, size: u64 },
    #[error("{path}: permission denied")]
    Denied { path: String },
    /// The root itself cannot serve; `hint` says what to do.
    #[error("{message}")]
    Root { message: String, hint: String },
    #[error("{path}: {message}")]
    Io { path: String, message: String },
    #[error(transparent)]
    Stopped(#[from] Stop),
}

impl TreeError {
    /// The same error of `path`: what a tree beneath another says, in the outer one's words.
    pub(crate) fn at(mut self, path: &RepoPath) -> Self {
        match &mut self {
            Self::NotFound { path: it }
            | Self::Outside { path: it }
            | Self::IsDir { path: it }
            | Self::Special { path: it }
            | Self::GitDir { path: it }
            | Self::TooLarge { path: it, .. }
            | Self::Denied { path: it }
            | Self::Io { path: it, .. } => *it = path.to_string(),
            Self::Path(_) | Self::Root { .. } | Self::Stopped(_) => {}
        }
        self
    }
}
