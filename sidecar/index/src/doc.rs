use codegrep_tree::{Entry, RepoPath, Tree};
use rustc_hash::FxHashMap;

use crate::imports::{Import, imports};
use crate::lang::{Content, Language};
use crate::role::{Role, is_package_file, says_generated, subject};
use crate::symbols::{Symbol, each_symbol};
use crate::token::{Term, each_term, exact_name, is_stop};

/// Code files above this many bytes are known by path only.
pub const CODE_LIMIT: u64 = 1 << 20;
/// The same for prose and settings: beyond it they are data.
pub const TEXT_LIMIT: u64 = 256 << 10;

/// Why a file's content is not in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Skip {
    Binary,
    /// Lines far longer than a person writes.
    Minified,
    /// Above [`CODE_LIMIT`] or [`TEXT_LIMIT`].
    Huge,
    /// Tables, translations and the like.
    Data,
    Unreadable,
    /// The deadline came first.
    NotYet,
}

/// Distinct terms with how often each occurs, sorted by term.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bag {
    pub terms: Box<[Term]>,
    pub counts: Box<[u16]>,
    /// All occurrences, common words left out.
    pub length: u32,
}

impl Bag {
    fn from_counts(counts: &mut FxHashMap<Term, u32>) -> Self {
        let mut pairs: Vec<(Term, u32)> =
            counts.drain().filter(|(term, _)| !is_stop(*term)).collect();
        pairs.sort_unstable();
        Self {
            terms: pairs.iter().map(|(term, _)| *term).collect(),
            counts: pairs.iter().map(|(_, n)| (*n).min(u16::MAX.into()) as u16).collect(),
            length: pairs.iter().fold(0, |sum, (_, n)| sum.saturating_add(*n)),
        }
    }

    pub fn of(text: &[u8], scratch: &mut Scratch) -> Self {
        each_term(text, |term| *scratch.counts.entry(term).or_insert(0) += 1);
        Self::from_counts(&mut scratch.counts)
    }
}

/// One file as the index holds it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Doc {
    pub path: RepoPath,
    pub stamp: u64,
    pub size: u64,
    pub language: Language,
    pub role: Role,
    /// Hash of what its name says it tests, or of its own stem.
    pub subject: u64,
    pub skip: Option<Skip>,
    pub content: Bag,
    /// Terms of the names it defines.
    pub symbol_terms: Bag,
    /// [`exact_name`](crate::exact_name) of what it defines.
    pub defined: Bag,
    /// Terms of its own name.
    pub name: Bag,
    /// Terms of its folders.
    pub dirs: Bag,
    /// In order of line.
    pub symbols: Box<[Symbol]>,
    pub imports: Box<[Import]>,
    pub lines: u32,
}

/// Reused between files of one thread.
#[derive(Default)]
pub(crate) struct Scratch {
    counts: FxHashMap<Term, u32>,
    symbols: Vec<Symbol>,
}

impl Doc {
    /// What the listing alone tells.
    pub fn unread(entry: &Entry, scratch: &mut Scratch) -> Self {
        let path = &entry.path;
        let dirs = path.as_str().rsplit_once('/').map_or("", |(dirs, _)| dirs);
        // `plugin/utc/index.js` is known as `utc`.
        let name_start = if is_package_file(path) {
            dirs.rfind('/').map_or(0, |slash| slash + 1)
        } else {
            path.as_str().len() - path.file_name().len()
        };
        let name = &path.as_str()[name_start..];
        let language = Language::of(path);
        let limit = match language.content() {
            Content::Code => CODE_LIMIT,
            Content::Prose | Content::Config | Content::Data => TEXT_LIMIT,
        };
        let skip = match language.content() {
            Content::Data => Skip::Data,
            _ if entry.size > limit => Skip::Huge,
            _ => Skip::NotYet,
        };
        Self {
            path: path.clone(),
            stamp: entry.stamp,
            size: entry.size,
            language,
            role: Role::of(path),
            subject: exact_name(subject(path).as_bytes()),
            skip: Some(skip),
            content: Bag::default(),
            symbol_terms: Bag::default(),
            defined: Bag::default(),
            name: Bag::of(name.as_bytes(), scratch),
            dirs: Bag::of(dirs.as_bytes(), scratch),
            symbols: Box::default(),
            imports: Box::default(),
            lines: 0,
        }
    }

    /// Whether reading it would add anything.
    pub fn wants_reading(&self) -> bool {
        self.skip == Some(Skip::NotYet)
    }

    /// Reads and analyses the content.
    pub fn read(&mut self, tree: &dyn Tree, scratch: &mut Scratch) {
        // One byte more than allowed shows a file that grew since it was listed.
        let blob = match tree.read(&self.path, CODE_LIMIT + 1) {
            Ok(blob) => blob,
            Err(_) => {
                self.skip = Some(Skip::Unreadable);
                return;
            }
        };
        let text = &blob.bytes[..];
        self.skip = refuse(text);
        if self.skip.is_some() {
            return;
        }
        self.role.generated |= says_generated(text);
        self.content = Bag::of(text, scratch);
        if self.language.content() == Content::Code {
            let Scratch { counts, symbols } = scratch;
            each_symbol(self.language, text, |symbol, name| {
                symbols.push(symbol);
                each_term(name, |term| *counts.entry(term).or_insert(0) += 1);
            });
            self.symbol_terms = Bag::from_counts(&mut scratch.counts);
            for symbol in &scratch.symbols {
                *scratch.counts.entry(symbol.name).or_insert(0) += 1;
            }
            self.defined = Bag::from_counts(&mut scratch.counts);
            self.symbols = scratch.symbols.drain(..).collect();
            let dir = self.path.as_str().rsplit_once('/').map_or("", |(dir, _)| dir);
            self.imports = imports(self.language, dir, text).into();
        }
        self.lines = memchr::memchr_iter(b'\n', text).count() as u32 + 1;
    }

    /// Bytes it occupies, closely.
    pub fn memory(&self) -> usize {
        let bag = |bag: &Bag| bag.terms.len() * (size_of::<Term>() + size_of::<u16>());
        let import = |import: &Import| match import {
            Import::Exact(path) | Import::Suffix(path) => path.len() + 24,
        };
        size_of::<Self>()
            + self.path.as_str().len()
            + bag(&self.content)
            + bag(&self.symbol_terms)
            + bag(&self.defined)
            + bag(&self.name)
            + bag(&self.dirs)
            + self.symbols.len() * size_of::<Symbol>()
            + self.imports.iter().map(import).sum::<usize>()
    }
}

fn refuse(text: &[u8]) -> Option<Skip> {
    if text.len() as u64 > CODE_LIMIT {
        return Some(Skip::Huge);
    }
    if memchr::memchr(0, &text[..text.len().min(8192)]).is_some() {
        return Some(Skip::Binary);
    }
    let lines = memchr::memchr_iter(b'\n', text).count() + 1;
    if text.len() > 8192 && text.len() / lines > 400 {
        return Some(Skip::Minified);
    }
    None
}
