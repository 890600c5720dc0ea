//! Names of commits, read from git's files without its configuration.
//!
//! Opening a repository the usual way would read `config` and whatever it includes; a hostile one
//! could name a pipe, another worktree or a program. Nothing here does.

use std::io;
use std::path::{Path, PathBuf};

use crate::{TreeError, regular};

/// Where a repository keeps its files.
pub(crate) struct GitDirs {
    /// `HEAD` lies here: `.git`, a linked worktree's folder, or the bare repository itself.
    git: PathBuf,
    /// References and objects lie here.
    pub common: PathBuf,
}

/// What a revision names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rev {
    /// 40 hex digits.
    Id(String),
    /// 7 to 39 hex digits, lower case.
    Prefix(String),
}

const POINTER_LIMIT: u64 = 8 << 10;
const PACKED_REFS_LIMIT: u64 = 256 << 20;
/// As many symbolic references as git follows.
const MAX_SYMBOLIC: usize = 5;

impl GitDirs {
    /// Finds them for a worktree's top folder or a bare repository.
    pub(crate) fn find(repo: &Path) -> Result<Self, TreeError> {
        let dot_git = repo.join(".git");
        let git = if dot_git.is_dir() {
            dot_git
        } else if dot_git.is_file() {
            let text = pointer(&dot_git)?.unwrap_or_default();
            let path = text.strip_prefix("gitdir: ").ok_or_else(|| not_a_repository(repo))?;
            repo.join(path)
        } else {
            repo.to_owned()
        };
        let common = match pointer(&git.join("commondir"))? {
            Some(path) => git.join(path),
            None => git.clone(),
        };
        if !common.join("objects").is_dir() || !git.join("HEAD").exists() {
            return Err(not_a_repository(repo));
        }
        Ok(Self { git, common })
    }

    /// Reads `rev`: `HEAD`, 7 to 40 hex digits, or the name of a branch or tag. `None` when no such
    /// name exists.
    pub(crate) fn resolve(&self, rev: &str) -> Result<Option<Rev>, TreeError> {
        let is_hex = rev.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex && rev.len() == 40 {
            return Ok(Some(Rev::Id(rev.to_owned())));
        }
        if is_hex && rev.len() == 64 {
            return Err(TreeError::Root {
                message: format!("{rev}: a SHA-256 commit"),
                hint: "repositories in git's SHA-256 format cannot be read; check the commit out \
                       and give the folder instead"
                    .to_owned(),
            });
        }
        if rev == "HEAD" {
            return Ok(self.reference("HEAD", 0)?.map(Rev::Id));
        }
        if !is_plain_name(rev) {
            return Err(TreeError::Root {
                message: format!("{rev:?}: no name of a commit"),
                hint: "give 7 to 40 hex digits, HEAD, or the name of a branch or tag".to_owned(),
            });
        }
        for folder in ["refs/tags/", "refs/heads/", "refs/remotes/", ""] {
            if folder.is_empty() && !rev.starts_with("refs/") {
                continue;
            }
            if let Some(id) = self.reference(&format!("{folder}{rev}"), 0)? {
                return Ok(Some(Rev::Id(id)));
            }
        }
        Ok((is_hex && (7..40).contains(&rev.len())).then(|| Rev::Prefix(rev.to_owned())))
    }

    /// The id that the reference `name` holds.
    fn reference(&self, name: &str, depth: usize) -> Result<Option<String>, TreeError> {
        let dir = if name == "HEAD" { &self.git } else { &self.common };
        let Some(text) = pointer(&dir.join(name))? else { return self.packed(name) };
        if let Some(target) = text.strip_prefix("ref: ") {
            // What another reference says is no more trusted than what a caller says.
            let safe = depth < MAX_SYMBOLIC && target.starts_with("refs/") && is_plain_name(target);
            return if safe { self.reference(target, depth + 1) } else { Ok(None) };
        }
        Ok(is_id(&text).then_some(text))
    }

    fn packed(&self, name: &str) -> Result<Option<String>, TreeError> {
        let path = self.common.join("packed-refs");
        let Some(text) = read(&path, PACKED_REFS_LIMIT)? else { return Ok(None) };
        let line = text.split(|&byte| byte == b'\n').find_map(|line| {
            let (id, rest) = line.split_at_checked(40)?;
            (rest.strip_prefix(b" ")? == name.as_bytes()).then_some(id)
        });
        Ok(line.map(|id| String::from_utf8_lossy(id).into_owned()).filter(|id| is_id(id)))
    }
}

/// A small file of one line.
fn pointer(path: &Path) -> Result<Option<String>, TreeError> {
    let text = read(path, POINTER_LIMIT)?.and_then(|text| String::from_utf8(text).ok());
    Ok(text.map(|text| text.trim_end().to_owned()))
}

/// One of git's files; `None` when there is none, or a folder of references.
fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, TreeError> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match regular::read(path, limit) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(_) if path.is_dir() => Ok(None),
        Err(error) => Err(TreeError::Root {
            message: format!("{}: {error}", path.display()),
            hint: "git's own files must be readable and regular".to_owned(),
        }),
    }
}

fn is_id(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `git check-ref-format`, and no leading dash: such a name is neither an option nor a path out.
fn is_plain_name(name: &str) -> bool {
    name.len() <= 1024
        && !name.starts_with('-')
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && !name.chars().any(|c| c.is_control() || " ~^:?*[\\".contains(c))
        && name
            .split('/')
            .all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock"))
}

fn not_a_repository(repo: &Path) -> TreeError {
    TreeError::Root {
        message: format!("{}: not a git repository", repo.display()),
        hint: "give the top folder of a git worktree, or a bare repository".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rev_is_never_an_option_a_path_or_an_expression() {
        for rev in [
            "",
            "-h",
            "--upload-pack=x",
            "..",
            "../x",
            "/etc/passwd",
            "a/../b",
            "a//b",
            "a/",
            "main~1",
            "HEAD^",
            "HEAD@{1}",
            "a b",
            "a\nb",
            ":/x",
            ".git",
            "a/.b",
            "x.lock",
            "a\\b",
        ] {
            assert!(!is_plain_name(rev), "{rev:?}");
        }
        for rev in ["main", "v1.2.3", "feature/a-b_c", "refs/heads/main", "@x", "héllo"] {
            assert!(is_plain_name(rev), "{rev:?}");
        }
    }
}
