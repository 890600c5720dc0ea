use codegrep_tree::{Entry, Kind, READ_LIMIT, RepoPath, Scope, Watch};

use super::args::Read;
use super::context::{Context, LISTING};
use super::page::{count, page};
use super::text::{Text, excerpt, load};
use super::{Line, Observation, paths};

/// Bytes shown of a long line.
const SHOWN: usize = 1000;

pub(super) fn run(asked: &Read, cx: &Context<'_>) -> Observation {
    let watch = cx.watch.within(cx.limits.read_time);
    match paths::named(cx, Some(&asked.path)) {
        Err(refused) => refused,
        Ok((path, Kind::Dir)) => folder(&path, cx, &watch),
        Ok((path, Kind::File { size })) => match load(cx.tree, &path, size, false, &watch) {
            Err(err) => cx.error(&err, "reading the file", cx.limits.read_time),
            Ok(text) if text.binary => Observation::error(format!(
                "{path}: a binary file of {} bytes",
                count(text.size as usize)
            )),
            // Bounded by the limit on files: milliseconds.
            Ok(text) => lines(path, &text, asked, cx),
        },
    }
}

fn lines(path: RepoPath, text: &Text, asked: &Read, cx: &Context<'_>) -> Observation {
    let bytes = &text.bytes[..];
    let total = memchr::memchr_iter(b'\n', bytes).count()
        + usize::from(bytes.last().is_some_and(|last| *last != b'\n'));
    let of = match text.cut {
        true => format!("{} in its first {} MB", count(total), READ_LIMIT >> 20),
        false => count(total),
    };
    let first = asked.start.unwrap_or(1);
    if total == 0 {
        return Observation {
            text: format!("{path} is empty"),
            seen: vec![path],
            ..Observation::default()
        };
    }
    if first > total {
        let first = count(first);
        return Observation::error(format!("{path} ends before line {first}; lines: {of}"));
    }
    let wanted = asked.end.unwrap_or(total).min(total);
    let last = wanted.min(first.saturating_add(cx.limits.read_lines.max(1) - 1));
    let mut rest = bytes;
    let mut kept = Vec::new();
    for number in 1..=last {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        if number >= first {
            let (text, _, cut) = excerpt(&rest[..end], 0, SHOWN);
            let shown = format!("{number}: {text}{}", if cut { "…" } else { "" });
            kept.push((shown, Line { path: path.clone(), number: number as u32, text }));
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    let shown: Vec<String> = kept.iter().map(|(shown, _)| shown.clone()).collect();
    // The head says which lines follow, so its length depends on how many fit.
    let head = |fit: usize| format!("{path}, lines {first}-{} of {of}:\n", first + fit - 1);
    let limit = cx.limits.result_chars.saturating_sub(head(shown.len()).chars().count());
    let (body, fit) = page(&shown, limit, |fit| match first + fit {
        next if next <= wanted => format!("(cut; read on with start_line {next})"),
        _ => String::new(),
    });
    let text = match fit {
        0 => body,
        fit => head(fit) + &body,
    };
    Observation {
        text,
        hits: fit,
        seen: if fit > 0 { vec![path] } else { Vec::new() },
        lines: kept.into_iter().take(fit).map(|(_, line)| line).collect(),
        cut: first + fit <= wanted,
        ..Observation::default()
    }
}

/// What a folder holds, itself: a model that reads a folder wants to know what is there.
fn folder(path: &RepoPath, cx: &Context<'_>, watch: &Watch) -> Observation {
    let scope = Scope { under: (!path.is_root()).then(|| path.clone()), ..Scope::default() };
    let walked = cx.walk(&scope, watch);
    let listing = match walked.listing() {
        Ok(listing) => listing,
        Err(err) => return cx.error(err, LISTING, cx.limits.read_time),
    };
    let mut names: Vec<(String, Option<&Entry>)> = Vec::new();
    for entry in &listing.entries {
        let Some(below) = entry.path.below(path) else { continue };
        let mut segments = below.segments();
        match (segments.next(), segments.next()) {
            (Some(folder), Some(_)) => names.push((format!("{folder}/"), None)),
            _ => names.push((below.file_name().to_owned(), Some(entry))),
        }
    }
    names.sort_by(|(a, _), (b, _)| a.cmp(b));
    names.dedup_by(|(a, _), (b, _)| a == b);
    if names.is_empty() {
        let text = format!("{path} is a folder without files to show");
        return Observation { text, ..Observation::default() };
    }
    let head = format!("{path} is a folder; it holds:");
    let lines: Vec<String> =
        std::iter::once(head).chain(names.iter().map(|(name, _)| name.clone())).collect();
    let (text, shown) = page(&lines, cx.limits.result_chars, |shown| match lines.len() - shown {
        0 => String::new(),
        more => format!("({} more; use glob with a pattern to see them)", count(more)),
    });
    let hits = shown.saturating_sub(1);
    let seen = names[..hits].iter().filter_map(|(_, entry)| entry.map(|e| e.path.clone()));
    Observation { text, hits, seen: seen.collect(), cut: hits < names.len(), ..Default::default() }
}
