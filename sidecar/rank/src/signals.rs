use codegrep_index::{Content, DocId, Field, Index, exact_name, is_package_file};
use codegrep_tree::{RepoPath, Watch};
use rustc_hash::FxHashMap;

use crate::features::Features;
use crate::history;
use crate::query::{Part, Query};
use crate::terms::{self, Weighted};

/// A name that more files define than this tells nothing.
const COMMON: usize = 100;

/// What the index alone says about every file, in order of [`DocId`].
///
/// Fills the fields of [`Features`] that need no reading of files and no view of the other
/// candidates; `rerank` fills the rest.
pub(crate) fn signals(
    query: &Query,
    terms: &[Weighted],
    index: &Index,
    watch: &Watch,
) -> Vec<Features> {
    let mut all = vec![Features::default(); index.len()];
    about_files(&mut all, query, index);
    bm25(&mut all, terms, index, watch);
    definitions(&mut all, query, index);
    qualified(&mut all, query, index);
    mentioned(&mut all, query, index);
    modules(&mut all, query, index);
    traced(&mut all, query, index);
    tested(&mut all, index);
    history::signals(&mut all, terms, index);
    all
}

/// Whether the file is of the kind that fixes are made in. Change logs and tests repeat the words
/// of every report: scores are measured against the best source, not against them.
fn is_source(f: &Features) -> bool {
    f.test_name + f.test_dir + f.docs + f.example + f.generated + f.vendored + f.prose + f.config
        == 0.0
}

/// Divides a feature by its highest value among sources; what lies above counts 1.
pub(crate) fn normalise(all: &mut [Features], feature: fn(&mut Features) -> &mut f32) {
    let mut highest = 0.0f32;
    let mut highest_source = 0.0f32;
    for file in all.iter_mut() {
        let value = *feature(file);
        highest = highest.max(value);
        if is_source(file) {
            highest_source = highest_source.max(value);
        }
    }
    let unit = if highest_source > 0.0 { highest_source } else { highest };
    if unit > 0.0 {
        for file in all {
            *feature(file) = (*feature(file) / unit).min(1.0);
        }
    }
}

fn bm25(all: &mut [Features], terms: &[Weighted], index: &Index, watch: &Watch) {
    let total = terms.iter().map(|t| t.parts[Part::All as usize]).sum::<f32>().max(1e-6);
    for (file, m) in all.iter_mut().zip(terms::score(index, Field::Content, 0.75, terms, watch)) {
        [file.content_all, file.content_title, file.content_code] = m.bm25;
        file.coverage = m.held / total;
    }
    for (file, m) in all.iter_mut().zip(terms::score(index, Field::Name, 0.5, terms, watch)) {
        [file.name_all, file.name_title, file.name_code] = m.bm25;
    }
    for (file, m) in all.iter_mut().zip(terms::score(index, Field::Dirs, 0.5, terms, watch)) {
        [file.dirs_all, file.dirs_title, ..] = m.bm25;
    }
    for (file, m) in all.iter_mut().zip(terms::score(index, Field::Symbols, 0.75, terms, watch)) {
        [file.symbols_all, file.symbols_title, file.symbols_code] = m.bm25;
    }
    for (file, parts) in all.iter_mut().zip(terms::fused(index, terms, watch)) {
        [file.fused_all, file.fused_title, file.fused_code] = parts;
    }
    let features: [fn(&mut Features) -> &mut f32; 14] = [
        |f| &mut f.fused_all,
        |f| &mut f.fused_title,
        |f| &mut f.fused_code,
        |f| &mut f.content_all,
        |f| &mut f.content_title,
        |f| &mut f.content_code,
        |f| &mut f.name_all,
        |f| &mut f.name_title,
        |f| &mut f.name_code,
        |f| &mut f.dirs_all,
        |f| &mut f.dirs_title,
        |f| &mut f.symbols_all,
        |f| &mut f.symbols_title,
        |f| &mut f.symbols_code,
    ];
    for feature in features {
        normalise(all, feature);
    }
}

fn definitions(all: &mut [Features], query: &Query, index: &Index) {
    let most = (1.0 + index.len() as f32).ln().max(1e-6);
    for name in &query.names {
        let ids = index.defining(exact_name(name.text.as_bytes()));
        if ids.is_empty() || ids.len() > COMMON {
            continue;
        }
        let value = name.weight * (1.0 + (index.len() / ids.len()) as f32).ln() / most;
        for &id in ids {
            let file = &mut all[id as usize];
            file.defines += value;
            file.defines_best = file.defines_best.max(value);
        }
    }
    normalise(all, |f| &mut f.defines);
}

/// `a.b.C.method`: a file that defines `method` and is named or defines the other parts.
fn qualified(all: &mut [Features], query: &Query, index: &Index) {
    for parts in &query.dotted {
        let Some((last, before)) = parts.split_last() else { continue };
        // A call on a local variable (`x.append`) names the method only.
        let before: Vec<&String> = before.iter().filter(|part| part.len() > 2).collect();
        let ids = index.defining(exact_name(last.as_bytes()));
        if before.is_empty() || ids.len() > COMMON {
            continue;
        }
        for &id in ids {
            let file = index.file(id);
            let agrees = |part: &&&String| {
                let name = exact_name(part.as_bytes());
                file.symbols.iter().any(|symbol| symbol.name == name)
                    || path_parts(file.path.as_str()).any(|p| p.eq_ignore_ascii_case(part))
            };
            let share = before.iter().filter(agrees).count() as f32 / before.len() as f32;
            let value = share / (ids.len() as f32).sqrt();
            let feature = &mut all[id as usize].qualified;
            *feature = feature.max(value);
        }
    }
}

fn path_parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').map(|part| part.split_once('.').map_or(part, |(stem, _)| stem))
}

fn mentioned(all: &mut [Features], query: &Query, index: &Index) {
    for mention in &query.mentions {
        let (depth, ids) = index.modules().ending_with(&mention.path);
        let value = path_value(depth, &mention.path) / ids.len().max(1) as f32;
        for id in ids {
            let feature = &mut all[id as usize].mentioned;
            *feature = feature.max(value);
        }
    }
}

/// How surely `depth` matching segments mean that `path` is a file of this repository.
fn path_value(depth: usize, path: &str) -> f32 {
    let segments = path.split('/').count();
    match depth {
        0 => 0.0,
        // The name alone of a longer path, or one that many files have: likely another file.
        1 if segments > 1 || RepoPath::parse(path).is_ok_and(|path| is_package_file(&path)) => 0.2,
        1 => 0.8,
        _ => 1.0,
    }
}

fn modules(all: &mut [Features], query: &Query, index: &Index) {
    for parts in &query.dotted {
        // The longest prefix that names a module with all its parts wins.
        for end in (1..=parts.len()).rev() {
            let (depth, ids) = index.modules().named(&parts[..end].join("/"));
            if depth < end || ids.len() > COMMON {
                continue;
            }
            let sure = if end >= 2 { 1.0 } else { 0.3 };
            for &id in &ids {
                let feature = &mut all[id as usize].module;
                *feature = feature.max(sure / ids.len() as f32);
            }
            break;
        }
    }
}

fn traced(all: &mut [Features], query: &Query, index: &Index) {
    let mut standing = 1.0;
    for frame in &query.frames {
        let (depth, ids) = index.modules().ending_with(&frame.path);
        let value = path_value(depth, &frame.path) / ids.len().max(1) as f32;
        if value < 0.1 {
            continue;
        }
        for id in ids {
            let file = &mut all[id as usize];
            file.trace = file.trace.max(value * standing);
            if standing == 1.0 {
                file.trace_top = file.trace_top.max(value);
            }
        }
        if value >= 0.5 {
            standing *= 0.8;
        }
    }
}

fn about_files(all: &mut [Features], query: &Query, index: &Index) {
    for word in &query.title {
        let (_, ids) = index.modules().named(word);
        for &id in &ids {
            all[id as usize].stem_in_title = 1.0 / (ids.len() as f32).sqrt();
        }
    }
    for (id, f) in all.iter_mut().enumerate() {
        let file = index.file(id as DocId);
        let flag = |is: bool| f32::from(u8::from(is));
        f.language_share = index.language_share(file.language);
        f.length = (1.0 + index.length(Field::Content, id as DocId) as f32).ln() / 10.0;
        f.depth = file.path.as_str().matches('/').count() as f32 / 10.0;
        let role = file.role;
        f.test_name = flag(role.test_name);
        f.test_dir = flag(role.test_dir);
        f.test_asked = flag((role.test_name || role.test_dir) && query.about_tests);
        f.docs = flag(role.docs);
        f.example = flag(role.example);
        f.generated = flag(role.generated);
        f.vendored = flag(role.vendored);
        f.prose = flag(file.language.content() == Content::Prose);
        f.config = flag(matches!(file.language.content(), Content::Config | Content::Data));
        f.package_file = flag(is_package_file(file.path));
        f.unread = flag(file.skip.is_some());
    }
}

/// Gives each source the standing of the best test that is named after it.
fn tested(all: &mut [Features], index: &Index) {
    let is_test = |f: &Features| f.test_name + f.test_dir > 0.0;
    let mut best: FxHashMap<u64, f32> = FxHashMap::default();
    for (id, f) in (0..).zip(all.iter()) {
        if is_test(f) && f.content_all > 0.0 {
            let standing = best.entry(index.file(id).subject).or_default();
            *standing = standing.max(f.content_all);
        }
    }
    for (id, f) in (0..).zip(all.iter_mut()) {
        if !is_test(f) {
            f.tested_by = best.get(&index.file(id).subject).copied().unwrap_or(0.0);
        }
    }
}
