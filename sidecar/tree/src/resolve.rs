use crate::path::has_drive;
use crate::{RepoPath, TreeError};

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// Follows the links in `path`, one segment at a time, within the root.
///
/// `link` is [`crate::Tree::link`].
pub(crate) fn resolve(
    path: &RepoPath,
    mut link: impl FnMut(&RepoPath) -> Result<Option<String>, TreeError>,
) -> Result<RepoPath, TreeError> {
    if path.in_git_dir() {
        return Err(TreeError::GitDir { path: path.to_string() });
    }
    let outside = || TreeError::Outside { path: path.to_string() };
    let mut todo: Vec<String> = path.segments().rev().map(str::to_owned).collect();
    let mut at = RepoPath::root();
    let mut links = 0;
    while let Some(segment) = todo.pop() {
        match segment.as_str() {
            "" | "." => continue,
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
        let Some(target) = link(&next).map_err(|error| error.at(path))? else {
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
