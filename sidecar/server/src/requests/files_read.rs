use std::time::Duration;

use codegrep_plugin_sdk::{FilesRead, ReadParams, ReadResponse};
use codegrep_tree::{READ_LIMIT, RepoPath, Stop, TreeError, Watch};

use super::{BUDGET, roots};
use crate::config::Settings;
use crate::core::{Engines, Serve, Workspace};
use crate::failure::Failure;

/// The most bytes of one answer.
const MOST_BYTES: usize = 4 << 20;

impl Serve for FilesRead {
    fn budget(_: &ReadParams, _: &Settings) -> Duration {
        BUDGET
    }

    fn serve(
        params: ReadParams,
        engines: &Engines,
        watch: &Watch,
    ) -> Result<ReadResponse, Failure> {
        let (first, last) = params.line_range.unwrap_or((1, u32::MAX));
        if first == 0 || last < first {
            return Err(Failure::usage(format!(
                "lineRange [{first}, {last}] is no range of lines"
            ))
            .hint("lines are counted from 1, and the last is not before the first"));
        }
        let roots = roots(std::slice::from_ref(&params.root), &engines.settings)?;
        let workspace = Workspace::open(roots, params.open_files, watch)?;
        let path = RepoPath::parse(&params.path).map_err(TreeError::from)?;
        watch.check()?;
        let blob = workspace.tree.read(&path, READ_LIMIT)?;
        let cut = blob.size > blob.bytes.len() as u64;
        Ok(lines(&blob.bytes, first, last, cut, watch)?)
    }
}

/// Lines `first` to `last` of a file that is itself cut when `cut`.
fn lines(
    bytes: &[u8],
    first: u32,
    last: u32,
    cut: bool,
    watch: &Watch,
) -> Result<ReadResponse, Stop> {
    watch.check()?;
    let (mut total, mut shown, mut truncated) = (0, None, cut);
    let mut text = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        total += 1;
        if total % 100_000 == 0 {
            watch.check()?;
        }
        if total < first || total > last || (truncated && !cut) {
            continue;
        }
        if text.len() + line.len() > MOST_BYTES {
            truncated = true;
            continue;
        }
        text.extend_from_slice(line);
        shown = Some((first, total));
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(ReadResponse { text, line_range: shown, total_lines: total, truncated })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], first: u32, last: u32) -> (String, Option<(u32, u32)>, u32, bool) {
        let ReadResponse { text, line_range, total_lines, truncated } =
            lines(text, first, last, false, &Watch::idle()).unwrap();
        (text, line_range, total_lines, truncated)
    }

    #[test]
    fn ranges_of_a_file() {
        assert_eq!(read(b"a\nb\r\nc", 2, 3), ("b\r\nc".into(), Some((2, 3)), 3, false));
        assert_eq!(read(b"a\nb\n", 2, u32::MAX), ("b\n".into(), Some((2, 2)), 2, false));
        assert_eq!(read(b"a\n", 5, 9), (String::new(), None, 1, false));
        assert_eq!(read(b"", 1, 9), (String::new(), None, 0, false));
        assert_eq!(read(b"\xff\n", 1, 1), ("\u{fffd}\n".into(), Some((1, 1)), 1, false));
    }

    #[test]
    fn a_read_that_came_too_late_is_none() {
        let late = Watch::idle().within(Duration::ZERO);
        assert_eq!(lines(b"a\n", 1, 1, false, &late), Err(Stop::Deadline));
    }

    #[test]
    fn an_answer_is_cut_at_a_line() {
        let line = [b"x".repeat(MOST_BYTES / 2), b"\n".to_vec()].concat();
        let (text, range, total, truncated) = read(&line.repeat(3), 1, u32::MAX);
        assert_eq!((text.len(), range, total, truncated), (line.len(), Some((1, 1)), 3, true));
    }
}
