use codegrep_tree::{RepoPath, Tree, TreeError, decode, is_utf16};
use rustc_hash::FxHashMap;

use crate::doc::CODE_LIMIT;
use crate::token::{Term, each_term, is_stop};

/// Where wanted terms occur in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hits {
    /// Terms up to the end of each line, common words left out; `[0]` before line 1.
    terms: Vec<u32>,
    /// 1-based line and what the lookup gave for the term, ascending by line.
    hits: Vec<(u32, u32)>,
}

impl Hits {
    /// The hits of lines `first..=last`.
    pub fn within(&self, first: u32, last: u32) -> &[(u32, u32)] {
        let start = self.hits.partition_point(|(line, _)| *line < first);
        let length = self.hits[start..].partition_point(|(line, _)| *line <= last);
        &self.hits[start..start + length]
    }

    /// Terms in lines `first..=last`, repeats counted.
    pub fn length(&self, first: u32, last: u32) -> u32 {
        let up_to = |line: u32| {
            let at = (line as usize).min(self.terms.len().saturating_sub(1));
            self.terms.get(at).copied().unwrap_or(0)
        };
        up_to(last) - up_to(first.saturating_sub(1)).min(up_to(last))
    }

    /// The lines that have any, ascending, each with its hits.
    pub fn lines(&self) -> impl Iterator<Item = &[(u32, u32)]> {
        self.hits.chunk_by(|a, b| a.0 == b.0)
    }
}

/// A file's text, read again for what the index does not keep: lines and passages.
#[derive(Debug)]
pub struct Source {
    text: Vec<u8>,
    /// Offset of each line's first byte.
    starts: Vec<u32>,
}

impl Source {
    /// Reads at most as much as the index does. UTF-16 becomes UTF-8, so that lines are those an
    /// editor shows; other bytes stay as they are.
    pub fn read(tree: &dyn Tree, path: &RepoPath) -> Result<Self, TreeError> {
        let bytes = tree.read(path, CODE_LIMIT)?.bytes;
        Ok(Self::new(match is_utf16(&bytes) {
            true => decode(&bytes).into_owned().into_bytes(),
            false => bytes,
        }))
    }

    pub fn new(text: Vec<u8>) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', &text).map(|at| at as u32 + 1));
        if starts.len() > 1 && starts.last() == Some(&(text.len() as u32)) {
            starts.pop();
        }
        Self { text, starts }
    }

    /// Number of lines; 1 for an empty file.
    pub fn lines(&self) -> u32 {
        self.starts.len() as u32
    }

    /// Line `number` (1-based) without its line break.
    pub fn line(&self, number: u32) -> Option<&[u8]> {
        let at = number.checked_sub(1)? as usize;
        let start = *self.starts.get(at)? as usize;
        let end = self.starts.get(at + 1).map_or(self.text.len(), |next| *next as usize - 1);
        let line = self.text.get(start..end).unwrap_or_default();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// All of it.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The line (1-based) in which the byte at `offset` stands.
    pub fn line_at(&self, offset: usize) -> u32 {
        self.starts.partition_point(|start| *start as usize <= offset).max(1) as u32
    }

    /// Looks for the `wanted` terms.
    pub fn hits(&self, wanted: &FxHashMap<Term, u32>) -> Hits {
        let mut found = Hits { terms: vec![0], hits: Vec::new() };
        let mut terms = 0;
        for number in 1..=self.lines() {
            each_term(self.line(number).unwrap_or_default(), |term| {
                if let Some(&which) = wanted.get(&term) {
                    found.hits.push((number, which));
                    terms += 1;
                } else if !is_stop(term) {
                    terms += 1;
                }
            });
            found.terms.push(terms);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whole_term;

    #[test]
    fn lines_come_without_their_breaks() {
        let source = Source::new(b"a\r\nbb\n\nc".to_vec());
        let lines: Vec<_> = (0..6).map(|n| source.line(n)).collect();
        let want: [Option<&[u8]>; 6] = [None, Some(b"a"), Some(b"bb"), Some(b""), Some(b"c"), None];
        assert_eq!(lines, want);
        assert_eq!(Source::new(b"a\n".to_vec()).lines(), 1);
        let empty = Source::new(Vec::new());
        assert_eq!((empty.lines(), empty.line(1)), (1, Some(&b""[..])));
    }

    #[test]
    fn hits_are_found_by_line() {
        let wanted = FxHashMap::from_iter([(whole_term(b"foo"), 0), (whole_term(b"bar"), 1)]);
        let hits = Source::new(b"foo baz the\nfoo bar\n\nfooBar\n".to_vec()).hits(&wanted);
        assert_eq!(hits.within(2, 3), [(2, 0), (2, 1)]);
        assert_eq!((hits.length(1, 2), hits.length(4, 4), hits.length(3, 9)), (4, 3, 3));
        let lines: Vec<usize> = hits.lines().map(<[_]>::len).collect();
        assert_eq!(lines, [1, 2, 2]);
        assert_eq!(Hits::default().length(1, 5), 0);
    }

    #[test]
    fn lines_of_utf16_are_those_an_editor_shows() {
        let wide = "\u{feff}caf\u{e9}\r\n\u{10a0a}b\n";
        let little: Vec<u8> = wide.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = wide.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let fixture = codegrep_tree::fixture::Fixture::new("//- /narrow\nx\n");
        fixture.write("little", little);
        fixture.write("big", big);
        let tree = codegrep_tree::DiskTree::open(fixture.path()).unwrap();
        for name in ["little", "big"] {
            let source = Source::read(&tree, &RepoPath::parse(name).unwrap()).unwrap();
            let lines: Vec<_> = (1..4).map(|n| source.line(n)).collect();
            let want = ["caf\u{e9}", "\u{10a0a}b"].map(|line| Some(line.as_bytes()));
            assert_eq!(lines, [want[0], want[1], None], "{name}");
        }
    }
}
