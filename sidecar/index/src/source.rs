use codegrep_tree::{RepoPath, Tree, TreeError};
use rustc_hash::FxHashMap;

use crate::doc::CODE_LIMIT;
use crate::token::{Term, each_term, is_stop};

/// Consecutive lines with the wanted terms that occur in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// 1-based.
    pub first: u32,
    /// Inclusive.
    pub last: u32,
    /// All terms, repeats counted, common words left out.
    pub length: u32,
    /// What [`FxHashMap`] gave for each wanted term, with its count; ascending.
    pub hits: Vec<(u32, u32)>,
}

/// A file's text, read again for what the index does not keep: lines and passages.
#[derive(Debug)]
pub struct Source {
    text: Vec<u8>,
    /// Offset of each line's first byte.
    starts: Vec<u32>,
}

impl Source {
    /// Reads at most as much as the index does.
    pub fn read(tree: &dyn Tree, path: &RepoPath) -> Result<Self, TreeError> {
        Ok(Self::new(tree.read(path, CODE_LIMIT)?.bytes))
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

    /// Cuts the text into blocks of `size` lines and looks for `wanted` terms in each.
    pub fn blocks(&self, size: u32, wanted: &FxHashMap<Term, u32>) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut first = 1;
        while first <= self.lines() {
            let last = (first + size.max(1) - 1).min(self.lines());
            blocks.push(self.block(first, last, wanted));
            first = last + 1;
        }
        blocks
    }

    /// The lines `first..=last` as one block.
    pub fn block(&self, first: u32, last: u32, wanted: &FxHashMap<Term, u32>) -> Block {
        let start = self.starts.get(first as usize - 1).map_or(self.text.len(), |s| *s as usize);
        let end = self.starts.get(last as usize).map_or(self.text.len(), |s| *s as usize);
        let mut length = 0;
        let mut hits: Vec<(u32, u32)> = Vec::new();
        each_term(&self.text[start..end], |term| {
            if let Some(&which) = wanted.get(&term) {
                length += 1;
                hits.push((which, 1));
            } else if !is_stop(term) {
                length += 1;
            }
        });
        hits.sort_unstable();
        hits.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        Block { first, last, length, hits }
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
    fn blocks_count_what_is_wanted() {
        let wanted = FxHashMap::from_iter([(whole_term(b"foo"), 0), (whole_term(b"bar"), 1)]);
        let source = Source::new(b"foo baz the\nfoo bar\nfooBar\n".to_vec());
        assert_eq!(
            source.blocks(2, &wanted),
            [
                Block { first: 1, last: 2, length: 4, hits: vec![(0, 2), (1, 1)] },
                Block { first: 3, last: 3, length: 3, hits: vec![(0, 1), (1, 1)] },
            ]
        );
    }
}
