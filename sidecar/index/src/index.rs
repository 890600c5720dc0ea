use std::sync::Arc;

use codegrep_tree::{Entry, Event, RepoPath, Scope, Stage, Stop, Tree, TreeError, Watch};
use rayon::ThreadPool;
use rustc_hash::FxHashMap;

use crate::doc::{Bag, Doc, Scratch, Skip};
use crate::git::GitSignals;
use crate::lang::{Content, Language};
use crate::modules::Modules;
use crate::postings::Postings;
use crate::role::Role;
use crate::status::{IndexState, IndexStatus};
use crate::symbols::Symbol;
use crate::token::Term;
use crate::turns::in_turns;

/// A file's place in an [`Index`]; ascending with its path.
pub type DocId = u32;

/// Which terms of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Content,
    /// Names that the file defines.
    Symbols,
    /// The file's own name.
    Name,
    /// The names of its folders.
    Dirs,
}

/// One file as rankers see it.
#[derive(Debug, Clone, Copy)]
pub struct File<'a> {
    pub path: &'a RepoPath,
    /// Bytes.
    pub size: u64,
    /// 0 when the content is not indexed.
    pub lines: u32,
    pub language: Language,
    pub role: Role,
    /// Equal for a source and the tests named after it.
    pub subject: u64,
    /// Why the content is not in the index; such a file is known by its path only.
    pub skip: Option<Skip>,
    /// What it defines, in order of line.
    pub symbols: &'a [Symbol],
}

/// All files of a repository at one moment. Immutable; a refresh makes a new one that shares
/// what did not change.
#[derive(Debug, Default, Clone)]
pub struct Index {
    /// Sorted by path.
    docs: Arc<[Arc<Doc>]>,
    fields: Arc<Fields>,
    /// False for the empty index of a walk that never ended.
    walked: bool,
    /// Whether the files may have changed since.
    stale: bool,
    warnings: Vec<String>,
    git: Arc<GitSignals>,
}

/// What is looked up by term or name.
#[derive(Debug, Default)]
struct Fields {
    content: Postings,
    symbol_terms: Postings,
    names: Postings,
    dirs: Postings,
    defined: Postings,
    /// Bytes of code by language.
    languages: FxHashMap<Language, u64>,
    modules: Modules,
    /// Bytes of all this and the documents.
    memory: usize,
}

impl Index {
    /// Reads what `tree` holds now. Files that `old` knows by the same path and stamp are taken
    /// from it and not read again.
    ///
    /// Works on `pool` in turns with others. When the deadline of `watch` comes first, the files
    /// not yet read are there by path only and the state is [`IndexState::Partial`]; passing such
    /// an index as `old` continues it. Cancelling gives an error, and so does a deadline that comes
    /// before all files are listed.
    pub fn refreshed(
        old: Option<&Arc<Index>>,
        tree: &dyn Tree,
        pool: &ThreadPool,
        watch: &Watch,
    ) -> Result<Arc<Index>, TreeError> {
        let listing = tree.walk(&Scope::default(), watch)?;
        let mut docs = Vec::with_capacity(listing.entries.len());
        let mut scratch = Scratch::default();
        let mut reused = 0;
        for entry in &listing.entries {
            match old.and_then(|old| old.same(entry)) {
                Some(doc) => {
                    reused += usize::from(!doc.wants_reading());
                    docs.push(doc.clone());
                }
                None => docs.push(Arc::new(Doc::unread(entry, &mut scratch))),
            }
        }
        if let Some(old) = old
            && reused == old.docs.len()
            && reused == docs.len()
            && listing.warnings == old.warnings
        {
            return Ok(old.clone());
        }
        read_all(&mut docs, tree, pool, watch)?;
        Ok(Arc::new(Self::assembled(docs, listing.warnings, pool)))
    }

    fn assembled(docs: Vec<Arc<Doc>>, warnings: Vec<String>, pool: &ThreadPool) -> Self {
        let field = |pick: fn(&Doc) -> &Bag| {
            let bags: Vec<&Bag> = docs.iter().map(|doc| pick(doc)).collect();
            pool.install(|| Postings::build(&bags))
        };
        let content = field(|doc| &doc.content);
        let symbol_terms = field(|doc| &doc.symbol_terms);
        let names = field(|doc| &doc.name);
        let dirs = field(|doc| &doc.dirs);
        let defined = field(|doc| &doc.defined);
        let mut languages: FxHashMap<Language, u64> = FxHashMap::default();
        for doc in &docs {
            if doc.language.content() == Content::Code && doc.skip.is_none() {
                *languages.entry(doc.language).or_default() += doc.size;
            }
        }
        let modules = Modules::new(docs.iter().map(|doc| &doc.path));
        let memory = docs.iter().map(|doc| doc.memory()).sum::<usize>()
            + content.memory()
            + symbol_terms.memory()
            + names.memory()
            + dirs.memory()
            + defined.memory()
            + modules.memory();
        let fields =
            Fields { content, symbol_terms, names, dirs, defined, languages, modules, memory };
        Self {
            docs: docs.into(),
            fields: Arc::new(fields),
            walked: true,
            stale: false,
            warnings,
            git: Arc::default(),
        }
    }

    /// The same files with what their history tells.
    pub(crate) fn with_git(&self, git: Arc<GitSignals>) -> Self {
        Self { git, ..self.clone() }
    }

    /// The same files, which may have changed since.
    pub(crate) fn as_stale(&self) -> Arc<Self> {
        Arc::new(Self { stale: true, ..self.clone() })
    }

    /// Whether `tree` holds these files still, as far as a walk shows.
    pub(crate) fn is_of(&self, tree: &dyn Tree, watch: &Watch) -> Result<bool, TreeError> {
        let entries = tree.walk(&Scope::default(), watch)?.entries;
        Ok(entries.len() == self.len() && entries.iter().all(|entry| self.same(entry).is_some()))
    }

    /// What the newest commits tell of the files.
    pub fn git(&self) -> &Arc<GitSignals> {
        &self.git
    }

    /// The document of the same path and stamp.
    fn same(&self, entry: &Entry) -> Option<&Arc<Doc>> {
        let doc = &self.docs[self.find(&entry.path)? as usize];
        (doc.stamp == entry.stamp && doc.size == entry.size).then_some(doc)
    }

    pub fn len(&self) -> usize {
        self.docs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.docs.is_empty()
    }

    pub fn find(&self, path: &RepoPath) -> Option<DocId> {
        self.docs.binary_search_by(|doc| doc.path.cmp(path)).ok().map(|at| at as DocId)
    }

    pub fn file(&self, id: DocId) -> File<'_> {
        let doc = &self.docs[id as usize];
        File {
            path: &doc.path,
            size: doc.size,
            lines: doc.lines,
            language: doc.language,
            role: doc.role,
            subject: doc.subject,
            skip: doc.skip,
            symbols: &doc.symbols,
        }
    }

    fn postings(&self, field: Field) -> &Postings {
        match field {
            Field::Content => &self.fields.content,
            Field::Symbols => &self.fields.symbol_terms,
            Field::Name => &self.fields.names,
            Field::Dirs => &self.fields.dirs,
        }
    }

    /// The files that hold `term` in `field`, ascending, and how often each does.
    pub fn holding(&self, field: Field, term: Term) -> (&[DocId], &[u16]) {
        self.postings(field).of(term)
    }

    /// Terms of the file in `field`, repeats counted.
    pub fn length(&self, field: Field, id: DocId) -> u32 {
        self.postings(field).length(id)
    }

    /// Mean of [`Index::length`] over the files that have any.
    pub fn mean_length(&self, field: Field) -> f32 {
        self.postings(field).mean_length()
    }

    /// The files that define the name with this [`exact_name`](crate::exact_name), ascending.
    pub fn defining(&self, name: u64) -> &[DocId] {
        self.fields.defined.of(name).0
    }

    /// Share of the indexed code that is written in `language`, by bytes.
    pub fn language_share(&self, language: Language) -> f32 {
        let all: u64 = self.fields.languages.values().sum();
        let of = self.fields.languages.get(&language).copied().unwrap_or(0);
        of as f32 / all.max(1) as f32
    }

    /// Which files a module name or the end of a path means.
    pub fn modules(&self) -> &Modules {
        &self.fields.modules
    }

    /// The files that `id` imports, ascending; what cannot be told is left out.
    pub fn imports(&self, id: DocId) -> Vec<DocId> {
        let imports = self.docs[id as usize].imports.iter();
        let mut ids: Vec<DocId> = imports
            .flat_map(|import| self.fields.modules.imported(import))
            .filter(|to| *to != id)
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    pub fn status(&self) -> IndexStatus {
        let unread = self.docs.iter().filter(|doc| doc.wants_reading()).count();
        IndexStatus {
            state: match self.walked && unread == 0 {
                _ if self.stale => IndexState::Stale,
                true => IndexState::Ready,
                false => IndexState::Partial,
            },
            files: self.docs.len() - unread,
            total: self.docs.len(),
            git_signals: self.git.is_complete(),
        }
    }

    /// How many files are known by path only, by reason.
    pub fn skipped(&self) -> Vec<(Skip, usize)> {
        let mut counts = std::collections::BTreeMap::new();
        for skip in self.docs.iter().filter_map(|doc| doc.skip) {
            *counts.entry(skip).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    /// What the walk could not list.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Bytes it occupies, closely.
    pub fn memory(&self) -> usize {
        self.fields.memory + self.git.memory()
    }
}

/// Reads the documents that want it, code first so that a deadline costs the least.
fn read_all(
    docs: &mut [Arc<Doc>],
    tree: &dyn Tree,
    pool: &ThreadPool,
    watch: &Watch,
) -> Result<(), Stop> {
    let mut order: Vec<usize> = (0..docs.len()).filter(|at| docs[*at].wants_reading()).collect();
    order.sort_by_key(|at| match docs[*at].language.content() {
        Content::Code => u8::from(docs[*at].role != Role::default()),
        _ => 2,
    });
    let read = in_turns(pool, order.len(), watch, |turn, scratch| {
        let at = order[turn];
        let mut doc = Doc::clone(&docs[at]);
        doc.read(tree, scratch);
        if turn.is_multiple_of(512) {
            watch.report(progress(turn, order.len()));
        }
        (at, doc)
    });
    for (at, doc) in read {
        docs[at] = Arc::new(doc);
    }
    match watch.check() {
        Err(Stop::Cancelled) => Err(Stop::Cancelled),
        _ => Ok(()),
    }
}

fn progress(done: usize, total: usize) -> Event {
    Event {
        stage: Stage::Index,
        turn: 0,
        tool_calls: 0,
        message: format!("{done} of {total} files"),
        candidates: None,
    }
}
