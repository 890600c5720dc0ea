use std::fmt;
use std::sync::Arc;

/// A path inside a repository: relative, forward slashes, UTF-8, no `.`, `..` or empty segment.
///
/// The root itself is the empty path. Holding one proves the *form* only; opening beneath the
/// root's handle proves the rest.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepoPath(Arc<str>);

/// Why a text is no path inside a repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("{0}: absolute paths are refused; give a path relative to the repository root")]
    Absolute(String),
    #[error("{0}: leaves the repository")]
    Escapes(String),
    #[error("{0:?}: a path may not hold a NUL or control character")]
    Control(String),
    #[error("a path of {0} bytes is too long (4096 at most)")]
    TooLong(usize),
}

impl RepoPath {
    /// The repository's root.
    pub fn root() -> Self {
        Self(Arc::from(""))
    }

    /// Reads what a model, a person or a client wrote: `./a//b`, `a\b`, `a/../b` become `a/b` and
    /// `b`; whatever is absolute, has a drive or UNC prefix, climbs above the root or holds a NUL
    /// is refused.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.len() > 4096 {
            return Err(PathError::TooLong(text.len()));
        }
        if text.chars().any(|c| c.is_control()) {
            return Err(PathError::Control(text.to_owned()));
        }
        let text_slashes = text.replace('\\', "/");
        let drive = text.len() >= 2
            && text.as_bytes()[1] == b':'
            && text.as_bytes()[0].is_ascii_alphabetic();
        if text_slashes.starts_with('/') || drive {
            return Err(PathError::Absolute(text.to_owned()));
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in text_slashes.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    if parts.pop().is_none() {
                        return Err(PathError::Escapes(text.to_owned()));
                    }
                }
                part => parts.push(part),
            }
        }
        Ok(Self(parts.join("/").into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The last segment; empty for the root.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or("")
    }

    /// The folder that holds it; `None` for the root.
    pub fn parent(&self) -> Option<RepoPath> {
        if self.is_root() {
            return None;
        }
        Some(Self(self.0.rsplit_once('/').map_or("", |(dir, _)| dir).into()))
    }

    /// After the last dot of the file name, as written; `None` for `Makefile` and `.bashrc`.
    pub fn extension(&self) -> Option<&str> {
        self.file_name().rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ext)| ext)
    }

    /// Whether it is `other` or lies below it.
    pub fn is_under(&self, other: &RepoPath) -> bool {
        other.is_root()
            || self
                .0
                .strip_prefix(&*other.0)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_models_write_is_normalised() {
        for (text, want) in
            [("./a//b", "a/b"), ("a\\b.c", "a/b.c"), ("a/../b", "b"), (".", ""), ("", "")]
        {
            assert_eq!(RepoPath::parse(text).unwrap().as_str(), want);
        }
    }

    #[test]
    fn what_leaves_is_refused() {
        for text in [
            "..",
            "a/../../b",
            "/etc/passwd",
            "C:\\x",
            "c:x",
            "\\\\host\\share",
            "//host/share",
            "a\0b",
        ] {
            assert!(RepoPath::parse(text).is_err(), "{text:?}");
        }
    }
}
