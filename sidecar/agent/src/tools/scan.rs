use std::io;

use codegrep_tree::{Stop, Watch};
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkMatch};

use super::text::excerpt;

/// Bytes searched between two looks at the watch. Only lines longer than this are searched in
/// pieces, which overlap so that no match of up to [`OVERLAP`] bytes is missed.
const WINDOW: usize = 4 << 10;
const OVERLAP: usize = 512;

/// Bytes shown of a long line.
const SHOWN: usize = 240;

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    /// 1-based, or [`Hit::BINARY`].
    pub(super) line: u32,
    /// Without surrounding blanks; of a long line, the part around the match.
    pub(super) text: String,
    /// Something stands before or after `text`.
    pub(super) cut: (bool, bool),
}

impl Hit {
    /// Instead of a line: somewhere in a binary file.
    pub(super) const BINARY: u32 = 0;

    pub(super) fn binary() -> Self {
        Self { line: Self::BINARY, text: String::new(), cut: (false, false) }
    }
}

/// Searches texts for one pattern; each thread has its own, for the matcher's cache.
pub(super) struct Scanner {
    matcher: RegexMatcher,
    searcher: Searcher,
}

impl Scanner {
    pub(super) fn new(matcher: &RegexMatcher) -> Self {
        let searcher = SearcherBuilder::new().bom_sniffing(false).build();
        Self { matcher: matcher.clone(), searcher }
    }

    /// The first `most` lines that match.
    pub(super) fn scan(
        &mut self,
        text: &[u8],
        most: usize,
        watch: &Watch,
    ) -> Result<Vec<Hit>, Stop> {
        let mut hits = Vec::new();
        let (mut at, mut before) = (0, 0);
        while at < text.len() && hits.len() < most {
            watch.check()?;
            let (window, step) = window(&text[at..]);
            let gather = Gather { matcher: &self.matcher, text, at, before, most, hits: &mut hits };
            // Neither the matcher nor the sink has an error to give.
            let searched = self.searcher.search_slice(&self.matcher, window, gather);
            debug_assert!(searched.is_ok(), "{searched:?}");
            if at + step < text.len() {
                before += memchr::memchr_iter(b'\n', &text[at..at + step]).count() as u64;
            }
            at += step;
        }
        Ok(hits)
    }
}

/// What to search next and how far to go on: whole lines as far as they fit, else a piece of one.
fn window(text: &[u8]) -> (&[u8], usize) {
    if text.len() <= WINDOW {
        return (text, text.len());
    }
    match memchr::memrchr(b'\n', &text[..WINDOW]) {
        Some(end) => (&text[..=end], end + 1),
        None => (&text[..WINDOW], WINDOW - OVERLAP),
    }
}

struct Gather<'a> {
    matcher: &'a RegexMatcher,
    text: &'a [u8],
    /// Where the window begins in the text, and the lines before it.
    at: usize,
    before: u64,
    most: usize,
    hits: &'a mut Vec<Hit>,
}

impl Sink for Gather<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let number = self.before + found.line_number().unwrap_or(1);
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        // The next piece of a long line that has matched already.
        if self.hits.last().is_some_and(|hit| hit.line == number) {
            return Ok(true);
        }
        let focus = match found.bytes().len() {
            0..=SHOWN => 0,
            _ => self.matcher.find(found.bytes())?.map_or(0, |m| m.start()),
        };
        // What was searched may be a piece of the line.
        let focus = self.at + found.absolute_byte_offset() as usize + focus;
        let (above, below) = self.text.split_at(focus);
        let start = memchr::memrchr(b'\n', above).map_or(0, |newline| newline + 1);
        let end = focus + memchr::memchr(b'\n', below).unwrap_or(below.len());
        let (text, head, tail) = excerpt(&self.text[start..end], focus - start, SHOWN);
        self.hits.push(Hit { line: number, text: text.trim().to_owned(), cut: (head, tail) });
        Ok(self.hits.len() < self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::pattern::compile;
    use std::time::{Duration, Instant};

    fn scan(pattern: &str, text: &[u8], most: usize) -> Vec<Hit> {
        let pattern = compile(pattern, false, true).unwrap();
        Scanner::new(&pattern.matcher).scan(text, most, &Watch::idle()).unwrap()
    }

    fn numbers(hits: &[Hit]) -> Vec<u32> {
        hits.iter().map(|hit| hit.line).collect()
    }

    #[test]
    fn lines_are_numbered_across_windows() {
        let text: String = (1..=5000).map(|i| format!("line {i} of many\n")).collect();
        assert_eq!(
            numbers(&scan("line (1|2500|5000) .*many$", text.as_bytes(), 9)),
            [1, 2500, 5000]
        );
        assert_eq!(numbers(&scan("^line", text.as_bytes(), 3)), [1, 2, 3]);
        assert_eq!(scan("^$", text.as_bytes(), 9), []);
        assert_eq!(numbers(&scan("^$", b"a\n\nb\n", 9)), [2]);
    }

    #[test]
    fn a_match_across_the_pieces_of_a_long_line_is_found_once() {
        for at in [0, 3_500, 4_090, 4_096, 16_000, 29_990] {
            let mut line = vec![b'-'; 30_000];
            line[at..at + 10].copy_from_slice(b"needle1234");
            let text = [b"first\n", &line[..], b"\nlast needle1"].concat();
            let hits = scan(r"needle\d+", &text, 9);
            assert_eq!(numbers(&hits), [2, 3], "{at}");
            assert!(hits[0].text.contains("needle1234") && hits[0].text.len() <= SHOWN, "{at}");
            assert_eq!(hits[0].cut, (at > 60, at < 29_000), "{at}");
        }
    }

    #[test]
    fn a_hard_pattern_on_a_hard_text_is_left_soon_after_the_cancel() {
        let mut state = 1u32;
        let mut bit = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            b"ab"[(state % 2) as usize]
        };
        let text: Vec<u8> = (0..16 << 20).map(|_| bit()).collect();
        let pattern = compile("[ab]*a[ab]{450}c", false, true).unwrap();
        let watch = Watch::idle();
        let stopped = std::thread::scope(|scope| {
            let search =
                scope.spawn(|| Scanner::new(&pattern.matcher).scan(&text, 1, &watch).map(drop));
            std::thread::sleep(Duration::from_millis(50));
            watch.cancel();
            let cancelled = Instant::now();
            assert_eq!(search.join().unwrap(), Err(Stop::Cancelled));
            cancelled.elapsed()
        });
        assert!(stopped < Duration::from_secs(2), "{stopped:?}");
    }
}
