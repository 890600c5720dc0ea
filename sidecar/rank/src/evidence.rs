use codegrep_index::{Index, Source, defined_name, exact_name};

use crate::query::Query;
use crate::rerank::Read;
use crate::terms::{Weighted, places};
use crate::{Evidence, EvidenceKind};

/// The most lines shown for a file.
const MOST: usize = 3;
/// Longer lines are shown in part.
const WIDTH: usize = 200;
/// Lines around a lone line of interest.
const AROUND: u32 = 10;
/// How lines begin that only comment.
const COMMENTS: [&[u8]; 10] =
    [b"# ", b"##", b"//", b"/*", b"*", b"--", b"<!--", b"\"\"\"", b"'''", b";"];

/// The lines that speak for a file, the most telling first, and the line ranges to read.
///
/// Never empty: a file that nothing inside speaks for is known by its path, and its first line
/// that says something stands for it.
pub(crate) fn evidence(
    file: &Read,
    query: &Query,
    terms: &[Weighted],
    index: &Index,
) -> (Vec<Evidence>, Vec<(u32, u32)>) {
    let empty = Source::new(Vec::new());
    let source = file.source.as_ref().unwrap_or(&empty);
    let mut shown = Shown { source, lines: Vec::new() };
    let mut ranges = Vec::new();
    for line in traced_lines(file, query, index) {
        if shown.add(line, EvidenceKind::Trace) {
            ranges.push((line.saturating_sub(AROUND).max(1), (line + AROUND).min(source.lines())));
        }
    }
    if let Some(line) = file.phrase
        && shown.add(line, EvidenceKind::String)
    {
        ranges.push((line.saturating_sub(AROUND).max(1), (line + AROUND).min(source.lines())));
    }
    for (line, end) in defined_lines(file, query, index, source) {
        if shown.add(line, EvidenceKind::Definition) {
            ranges.push((line, end));
        }
    }
    let by_path = file.features.mentioned > 0.0 || file.features.module > 0.0;
    if by_path && shown.lines.is_empty() {
        shown.add(first_meaningful(source), EvidenceKind::Path);
    }
    if let Some(window) = file.window {
        ranges.push(window);
        if shown.lines.len() < MOST
            && let Some(line) = best_line(source, window, terms)
        {
            shown.add(line, EvidenceKind::Match);
        }
    }
    if shown.lines.is_empty() {
        shown.force(first_meaningful(source), EvidenceKind::Path);
    }
    (shown.lines, joined(ranges))
}

struct Shown<'a> {
    source: &'a Source,
    lines: Vec<Evidence>,
}

impl Shown<'_> {
    /// Adds a line that says something and is not there yet; whether it is there now.
    fn add(&mut self, line: u32, kind: EvidenceKind) -> bool {
        let known = self.lines.iter().any(|evidence| evidence.line == line);
        if known || self.lines.len() == MOST || self.text(line).is_empty() {
            return known;
        }
        self.force(line, kind);
        true
    }

    fn force(&mut self, line: u32, kind: EvidenceKind) {
        self.lines.push(Evidence { line, text: self.text(line), kind });
    }

    fn text(&self, line: u32) -> String {
        quoted(self.source.line(line).unwrap_or_default())
    }
}

/// A line as [`Evidence`] quotes it: as it stands in the file, without the blanks around it; its
/// first 200 characters when it is long, nothing when it is not UTF-8.
pub fn quoted(line: &[u8]) -> String {
    // Whole characters of a long line, wherever the cut falls.
    let head = &line[..line.len().min(WIDTH * 8)];
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return String::new(),
    };
    let text = text.trim();
    let end = text.char_indices().nth(WIDTH).map_or(text.len(), |(end, _)| end);
    text[..end].trim_end().to_owned()
}

fn traced_lines(file: &Read, query: &Query, index: &Index) -> Vec<u32> {
    if file.features.trace == 0.0 && file.features.mentioned == 0.0 {
        return Vec::new();
    }
    let frames = query.frames.iter().map(|frame| (&frame.path, frame.line));
    let mentions = query.mentions.iter().filter_map(|m| Some((&m.path, m.line?)));
    frames
        .chain(mentions)
        .filter(|(path, _)| index.modules().ending_with(path).1.contains(&file.id))
        .map(|(_, line)| line)
        .take(MOST)
        .collect()
}

/// First and last line of what the file defines and the text names, the plainest names first.
fn defined_lines(file: &Read, query: &Query, index: &Index, source: &Source) -> Vec<(u32, u32)> {
    let dotted = query.dotted.iter().filter_map(|parts| parts.last()).map(|name| (name, 1.0));
    let named = query.names.iter().map(|name| (&name.text, name.weight));
    let symbols = index.file(file.id).symbols;
    let language = index.file(file.id).language;
    let mut found: Vec<(f32, u32, u32)> = Vec::new();
    for (name, weight) in named.chain(dotted) {
        let hash = exact_name(name.as_bytes());
        let weight = weight / (index.defining(hash).len().max(1) as f32).sqrt();
        for (at, symbol) in symbols.iter().enumerate().filter(|(_, s)| s.name == hash).take(MOST) {
            // The file may have changed since it was indexed.
            let line = source.line(symbol.line).unwrap_or_default();
            if defined_name(language, line) == Some(name.as_bytes()) {
                let next = symbols.get(at + 1).map_or(source.lines(), |next| next.line - 1);
                found.push((weight, symbol.line, next.min(symbol.line + 60).max(symbol.line)));
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    found.into_iter().map(|(_, line, end)| (line, end)).take(MOST).collect()
}

/// The line of the window with the heaviest terms.
fn best_line(source: &Source, (first, last): (u32, u32), terms: &[Weighted]) -> Option<u32> {
    let weight = |line: &[(u32, u32)]| -> f32 {
        line.iter().map(|(_, at)| terms[*at as usize].parts.iter().sum::<f32>()).sum()
    };
    let hits = source.hits(&places(terms));
    let scored = hits.within(first, last).chunk_by(|a, b| a.0 == b.0).map(|l| (weight(l), l[0].0));
    scored.reduce(|a, b| if b.0 > a.0 { b } else { a }).map(|(_, line)| line)
}

/// The first line that is more than punctuation, a comment's start or a licence.
fn first_meaningful(source: &Source) -> u32 {
    let says = |line: &u32, comments: bool| {
        let text = source.line(*line).unwrap_or_default().trim_ascii();
        std::str::from_utf8(text).is_ok()
            && text.iter().filter(|b| b.is_ascii_alphanumeric() || **b >= 0x80).count() >= 2
            && (comments || !COMMENTS.iter().any(|mark| text.starts_with(mark)))
    };
    let within = 1..=source.lines().min(200);
    within
        .clone()
        .find(|line| says(line, false))
        .or_else(|| within.clone().find(|line| says(line, true)))
        .unwrap_or(1)
}

/// Sorted, touching ones joined, the first few only.
fn joined(mut ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    ranges.truncate(MOST + 1);
    ranges.sort_unstable();
    let mut joined: Vec<(u32, u32)> = Vec::new();
    for (first, last) in ranges {
        match joined.last_mut() {
            Some(open) if first <= open.1.saturating_add(1) => open.1 = open.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    joined
}
