use codegrep_tree::{Kind, READ_LIMIT, RepoPath, Stop, Tree, Watch};

use crate::record::Found;
use crate::syntax::AnswerFile;
use crate::tools::decode;

/// The files of an answer that exist, each once, with line ranges inside the file; and how many
/// do not exist. An answer that came at the last moment still counts: only a cancel stops this.
pub(crate) fn check(
    answer: Vec<AnswerFile>,
    tree: &dyn Tree,
    watch: &Watch,
) -> Result<(Vec<Found>, u32), Stop> {
    let mut found: Vec<Found> = Vec::new();
    let mut unknown = 0;
    for file in answer {
        if watch.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        let Some(path) = existing(&file.path, tree) else {
            unknown += 1;
            continue;
        };
        let lines = if file.line_ranges.is_empty() { 0 } else { count_lines(&path, tree) };
        let mut ranges = file.line_ranges;
        if let Some(same) = found.iter_mut().find(|f| f.path == path.as_str()) {
            ranges.append(&mut same.line_ranges);
            same.line_ranges = within(ranges, lines);
        } else {
            let line_ranges = within(ranges, lines);
            found.push(Found { path: path.as_str().to_owned(), line_ranges });
        }
    }
    Ok((found, unknown))
}

/// The file that `written` names: as it stands, without a leading slash, or without `:12-30`
/// behind it. Links are resolved, since the ranking knows files under their own paths only.
fn existing(written: &str, tree: &dyn Tree) -> Option<RepoPath> {
    let written = written.trim().trim_start_matches('/');
    let bare = written.rsplit_once(':').map(|(path, _)| path);
    [Some(written), bare].into_iter().flatten().find_map(|text| {
        let path = tree.resolve(&RepoPath::parse(text).ok()?).ok()?;
        matches!(tree.kind(&path), Ok(Kind::File { .. })).then_some(path)
    })
}

fn count_lines(path: &RepoPath, tree: &dyn Tree) -> u32 {
    let Ok(blob) = tree.read(path, READ_LIMIT) else { return 0 };
    let bytes = decode(blob.bytes);
    let unfinished = bytes.last().is_some_and(|byte| *byte != b'\n');
    let newlines = memchr::memchr_iter(b'\n', &bytes).count();
    u32::try_from(newlines + usize::from(unfinished)).unwrap_or(u32::MAX)
}

/// `ranges` clamped to `1..=lines`, in order and apart; those outside are dropped.
fn within(mut ranges: Vec<(u32, u32)>, lines: u32) -> Vec<(u32, u32)> {
    for (start, end) in &mut ranges {
        if start > end {
            std::mem::swap(start, end);
        }
        (*start, *end) = ((*start).max(1), (*end).min(lines));
    }
    ranges.retain(|(start, end)| start <= end);
    ranges.sort_unstable();
    let mut out: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
    for (start, end) in ranges {
        match out.last_mut() {
            Some(last) if start <= last.1.saturating_add(1) => last.1 = last.1.max(end),
            _ => out.push((start, end)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_clamped_sorted_and_joined() {
        assert_eq!(
            within(vec![(30, 20), (0, 3), (4, 5), (90, 200), (101, 120), (22, 25)], 100),
            [(1, 5), (20, 30), (90, 100)]
        );
        assert_eq!(within(vec![(1, 5)], 0), []);
        assert_eq!(within(vec![(u32::MAX, u32::MAX), (1, u32::MAX)], u32::MAX), [(1, u32::MAX)]);
    }
}
