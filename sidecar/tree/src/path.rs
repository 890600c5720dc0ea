use std::fmt;
use std::sync::Arc;

/// A path inside a repository: relative, forward slashes, UTF-8, no `.`, `..` or empty segment.
///
/// The root itself is the empty path. Holding one proves the *form* only; opening beneath the
/// root's handle proves the rest.
///
/// One text means one path, so whatever a walk printed can be given back: `parse(p.as_str()) == p`.
/// A backslash separates folders only in a text without any forward slash (what Windows tools
/// write); beside a forward slash it is part of a name, as in `units/system-a\x2db.slice`. A name
/// that would be misread on its own (`a\b`, `c:d` in the root) is therefore written with a leading
/// `./`, the only place where one is kept. On Windows no name holds a backslash.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepoPath(Arc<str>);

/// Why a text is no path inside a repository.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Starts with a slash, a drive or a UNC host.
    #[error("{0}: absolute paths are refused; give a path relative to the repository root")]
    Absolute(String),
    /// Climbs above the root, read with either separator.
    #[error("{0}: leaves the repository")]
    Escapes(String),
    /// Holds a character that ends a line or steers a terminal.
    #[error("{0:?}: a path may not hold a NUL, control or line-separator character")]
    Control(String),
    /// Bytes of the text.
    #[error("a path of {0} bytes is too long (4096 at most)")]
    TooLong(usize),
    /// Bytes that are no text, made printable.
    #[error("{0}: not UTF-8")]
    NotUtf8(String),
    /// One segment that is no name: empty, `.` or with a slash in it.
    #[error("{0:?}: not a file name")]
    Name(String),
}

impl RepoPath {
    /// The most bytes a path may have, Linux's `PATH_MAX`.
    pub const MAX_LEN: usize = 4096;

    /// The repository's root.
    pub fn root() -> Self {
        Self(Arc::from(""))
    }

    /// Reads what a model, a person or a client wrote: `./a//b`, `a\b`, `a/../b` become `a/b` and
    /// `b`; whatever is absolute, has a drive or UNC prefix, climbs above the root or holds a NUL
    /// is refused.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.len() > Self::MAX_LEN {
            return Err(PathError::TooLong(text.len()));
        }
        if text.chars().any(breaks_lines) {
            return Err(PathError::Control(text.to_owned()));
        }
        if text.starts_with(['/', '\\']) || has_drive(text) {
            return Err(PathError::Absolute(text.to_owned()));
        }
        let text_slashes = if cfg!(windows) || !text.contains('/') {
            text.replace('\\', "/")
        } else {
            text.to_owned()
        };
        let mut parts: Vec<&str> = Vec::new();
        for part in text_slashes.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    if parts.pop().is_none() {
                        return Err(PathError::Escapes(text.to_owned()));
                    }
                }
                part if climbs(part) => return Err(PathError::Escapes(text.to_owned())),
                part => parts.push(part),
            }
        }
        Self::from_plain(parts.join("/"))
    }

    /// The entry `name` of this folder. For names that a file system or a git tree gives: nothing
    /// is normalised, a name that could not be read back is an error.
    pub fn child(&self, name: &str) -> Result<Self, PathError> {
        if matches!(name, "" | ".") || name.contains('/') || (cfg!(windows) && name.contains('\\'))
        {
            return Err(PathError::Name(name.to_owned()));
        }
        if climbs(name) {
            return Err(PathError::Escapes(name.to_owned()));
        }
        if name.chars().any(breaks_lines) {
            return Err(PathError::Control(name.to_owned()));
        }
        Self::from_plain(if self.is_root() {
            name.to_owned()
        } else {
            format!("{}/{name}", self.plain())
        })
    }

    /// `below` seen from this folder.
    pub fn join(&self, below: &RepoPath) -> Result<Self, PathError> {
        if self.is_root() || below.is_root() {
            return Ok(if self.is_root() { below.clone() } else { self.clone() });
        }
        Self::from_plain(format!("{}/{}", self.plain(), below.plain()))
    }

    fn from_plain(plain: String) -> Result<Self, PathError> {
        let misread = has_drive(&plain)
            || plain.starts_with('\\')
            || (plain.contains('\\') && !plain.contains('/'));
        let text = if misread { format!("./{plain}") } else { plain };
        if text.len() > Self::MAX_LEN {
            return Err(PathError::TooLong(text.len()));
        }
        Ok(Self(text.into()))
    }

    /// The text that names it, in answers as in messages; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The segments joined, without the `./` of a name that would be misread.
    pub(crate) fn plain(&self) -> &str {
        self.0.strip_prefix("./").unwrap_or(&self.0)
    }

    /// The names from the root down; none for the root.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.plain().split('/').filter(|segment| !segment.is_empty())
    }

    /// Whether it is the repository's root.
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
        let dir = self.plain().rsplit_once('/').map_or("", |(dir, _)| dir);
        // Shorter than a path that was accepted, so only the `./` can have to come back.
        Self::from_plain(dir.to_owned()).ok()
    }

    /// After the last dot of the file name, as written; `None` for `Makefile` and `.bashrc`.
    pub fn extension(&self) -> Option<&str> {
        self.file_name().rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ext)| ext)
    }

    /// Whether it is `other` or lies below it.
    pub fn is_under(&self, other: &RepoPath) -> bool {
        self.below(other).is_some()
    }

    /// The path seen from `dir`: empty when it is `dir` itself, `None` when it lies elsewhere.
    pub fn below(&self, dir: &RepoPath) -> Option<RepoPath> {
        if dir.is_root() {
            return Some(self.clone());
        }
        let rest = self.plain().strip_prefix(dir.plain())?;
        if !rest.is_empty() && !rest.starts_with('/') {
            return None;
        }
        Self::from_plain(rest.trim_start_matches('/').to_owned()).ok()
    }

    /// Whether a segment is `.git`, in any case: git's own folder is no part of a repository's
    /// files and holds credentials.
    pub(crate) fn in_git_dir(&self) -> bool {
        self.segments().any(is_git_dir)
    }
}

/// Whether git keeps its own files under this name: on systems that ignore case as well, and on
/// Windows under the other names that mean the same.
pub(crate) fn is_git_dir(name: &str) -> bool {
    if !cfg!(windows) {
        return name.eq_ignore_ascii_case(".git");
    }
    let name = name.split(':').next().unwrap_or(name).trim_end_matches(['.', ' ']);
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1")
}

/// Control characters, and the two separators that some readers end a line at: a name that holds
/// one can forge lines of whatever prints it.
fn breaks_lines(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

pub(crate) fn has_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// Whether a name climbs for a reader who takes backslashes for separators.
fn climbs(name: &str) -> bool {
    name.split('\\').any(|part| part == "..")
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
