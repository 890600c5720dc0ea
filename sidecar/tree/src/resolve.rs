use crate::path::has_drive;
use crate::{RepoPath, TreeError};

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// What [`resolve`] makes of a segment that names nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Fails,
    /// It would be a file or folder of its own.
    Stays,
}

/// Follows the links in `path`, one segment at a time, within the root.
///
/// `link` is [`crate::Tree::link`].
pub(crate) fn resolve(
    path: &RepoPath,
    on_missing: Missing,
    mut link: impl FnMut(&RepoPath) -> Result<Option<String>, TreeError>,
) -> Result<RepoPath, TreeError> {
    if path.in_git_dir() {
        return Err(TreeError::GitDir { path: path.to_string() });
    }
    let not_found = || TreeError::NotFound { path: path.to_string() };
    let outside = || TreeError::Outside { path: path.to_string() };
    let mut todo: Vec<String> = path.segments().rev().map(str::to_owned).collect();
    let mut at = RepoPath::root();
    let mut links = 0;
    let mut missing = false;
    while let Some(segment) = todo.pop() {
        match segment.as_str() {
            "" | "." => continue,
            // No way leads up out of a folder that is not there.
            ".." if missing => return Err(not_found()),
            ".." => {
                at = at.parent().ok_or_else(outside)?;
                continue;
            }
            _ => {}
        }
        let next = at.child(&segment)?;
        if next.in_git_dir() {
            return Err(TreeError::GitDir { path: path.to_string() });
        }
        // Nothing lies below what is not there, and each question costs a look at every parent.
        let found = if missing { Ok(None) } else { link(&next) };
        let target = match found {
            Err(TreeError::NotFound { .. }) if on_missing == Missing::Stays => {
                missing = true;
                None
            }
            target => target.map_err(|error| error.at(path))?,
        };
        let Some(target) = target else {
            at = next;
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            return Err(TreeError::Io {
                path: path.to_string(),
                message: "a loop of symbolic links".to_owned(),
            });
        }
        let target = if cfg!(windows) { target.replace('\\', "/") } else { target };
        // An absolute target is refused even if it points back inside: it says where this machine
        // keeps the repository, which no other source of the same files could follow.
        if target.starts_with('/') || (cfg!(windows) && has_drive(&target)) {
            return Err(outside());
        }
        todo.extend(target.split('/').rev().map(str::to_owned));
    }
    Ok(at)
}
