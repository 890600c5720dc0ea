use codegrep_index::{DocId, Index, Skip, Source, Term};
use codegrep_tree::{Tree, Watch};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::features::Features;
use crate::signals::{normalise, reciprocal_ranks};
use crate::terms::{K1, Weighted};

/// Two neighbouring blocks make a window of 60 lines, about a screen and a half.
const BLOCK: u32 = 30;
/// Terms of a window of usual code; what longer and shorter ones are measured against.
const WINDOW_TERMS: f32 = 350.0;

/// A file under closer inspection.
#[derive(Debug)]
pub(crate) struct Read {
    pub id: DocId,
    pub features: Features,
    /// Score of the first model, for what files say of each other.
    pub standing: f64,
    /// `None` when it could not be read (any more), or the deadline came first.
    pub source: Option<Source>,
    /// Its best window, 1-based lines, when any term matches.
    pub window: Option<(u32, u32)>,
}

/// Reads the files and fills the features that need their text or the other candidates.
///
/// `pool` is best first. Runs on the current rayon pool; files the deadline leaves unread keep
/// what the index knows of them.
pub(crate) fn rerank(
    pool: Vec<(DocId, Features, f64)>,
    terms: &[Weighted],
    index: &Index,
    tree: &dyn Tree,
    watch: &Watch,
) -> Vec<Read> {
    let wanted: FxHashMap<Term, u32> =
        terms.iter().enumerate().map(|(at, term)| (term.word.term, at as u32)).collect();
    let mut files: Vec<Read> = pool
        .into_par_iter()
        .with_max_len(1)
        .map(|(id, features, standing)| {
            let mut file = Read { id, features, standing, source: None, window: None };
            if watch.check().is_ok() && index.file(id).skip != Some(Skip::Binary) {
                file.source = Source::read(tree, index.file(id).path).ok();
            }
            if index.file(id).skip.is_none() {
                passages(&mut file, terms, &wanted);
            }
            file
        })
        .collect();
    neighbours(&mut files, index);
    let mut all: Vec<Features> = files.iter().map(|file| file.features).collect();
    // Best and second window share a scale.
    let best = all.iter().map(|f| f.chunk_all).fold(1e-6, f32::max);
    all.iter_mut().for_each(|f| f.chunk_second /= best);
    let features: [fn(&mut Features) -> &mut f32; 5] = [
        |f| &mut f.chunk_all,
        |f| &mut f.chunk_title,
        |f| &mut f.chunk_code,
        |f| &mut f.imported_by,
        |f| &mut f.imports,
    ];
    for feature in features {
        normalise(&mut all, feature);
    }
    reciprocal_ranks(&mut all, |f| f.chunk_all, |f| &mut f.rank_chunk);
    for (file, features) in files.iter_mut().zip(all) {
        file.features = features;
    }
    files
}

/// BM25 of each window of [`BLOCK`] × 2 lines, by part of the text.
fn passages(file: &mut Read, terms: &[Weighted], wanted: &FxHashMap<Term, u32>) {
    let Some(source) = &file.source else { return };
    let blocks = source.blocks(BLOCK, wanted);
    let mut windows: Vec<(f32, u32, u32)> = Vec::new();
    let features = &mut file.features;
    for at in 0..blocks.len().saturating_sub(1).max(1) {
        let Some(first) = blocks.get(at) else { break };
        let second = blocks.get(at + 1);
        let length = first.length + second.map_or(0, |block| block.length);
        let norm = K1 * (0.25 + 0.75 * length as f32 / WINDOW_TERMS);
        let mut parts = [0.0f32; 3];
        for (which, count) in merged(&first.hits, second.map_or(&[], |block| &block.hits)) {
            let count = count as f32;
            let tf = count * (K1 + 1.0) / (count + norm);
            for (part, sum) in parts.iter_mut().enumerate() {
                *sum += terms[which as usize].parts[part] * tf;
            }
        }
        if parts[0] > 0.0 {
            windows.push((parts[0], first.first, second.map_or(first.last, |block| block.last)));
        }
        features.chunk_title = features.chunk_title.max(parts[1]);
        features.chunk_code = features.chunk_code.max(parts[2]);
    }
    let best = windows.iter().copied().reduce(|a, b| if b.0 > a.0 { b } else { a });
    let Some(best) = best else { return };
    features.chunk_all = best.0;
    file.window = Some((best.1, best.2));
    features.chunk_second = windows
        .iter()
        .filter(|window| window.2 < best.1 || window.1 > best.2)
        .map(|window| window.0)
        .fold(0.0, f32::max);
}

/// Both ascending lists as one, counts of equal entries added.
fn merged<'a>(a: &'a [(u32, u32)], b: &'a [(u32, u32)]) -> impl Iterator<Item = (u32, u32)> + 'a {
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || match (a.get(i), b.get(j)) {
        (None, None) => None,
        (Some(x), Some(y)) if x.0 == y.0 => {
            (i, j) = (i + 1, j + 1);
            Some((x.0, x.1 + y.1))
        }
        (Some(x), y) if y.is_none_or(|y| x.0 < y.0) => {
            i += 1;
            Some(*x)
        }
        (_, y) => {
            j += 1;
            y.copied()
        }
    })
}

/// What the candidates say of each other: imports both ways, and folders shared.
fn neighbours(files: &mut [Read], index: &Index) {
    let highest = files.iter().map(|f| f.standing).fold(f64::NEG_INFINITY, f64::max);
    let lowest = files.iter().map(|f| f.standing).fold(f64::INFINITY, f64::min);
    let span = (highest - lowest).max(1e-9);
    let standing: Vec<f32> = files.iter().map(|f| ((f.standing - lowest) / span) as f32).collect();
    let place: FxHashMap<DocId, usize> =
        files.iter().enumerate().map(|(at, file)| (file.id, at)).collect();
    for from in 0..files.len() {
        for id in index.imports(files[from].id) {
            if let Some(&to) = place.get(&id) {
                files[to].features.imported_by += standing[from];
                files[from].features.imports += standing[to];
            }
        }
    }
    let folder = |file: &Read| {
        let path = index.file(file.id).path.as_str();
        path.rsplit_once('/').map_or("", |(folder, _)| folder)
    };
    // The two best of each folder, so that a file does not speak for itself.
    let mut best: FxHashMap<&str, [f32; 2]> = FxHashMap::default();
    for (file, standing) in files.iter().zip(&standing) {
        let two = best.entry(folder(file)).or_default();
        if *standing > two[0] {
            *two = [*standing, two[0]];
        } else if *standing > two[1] {
            two[1] = *standing;
        }
    }
    let siblings: Vec<f32> = files
        .iter()
        .zip(&standing)
        .map(|(file, own)| {
            let [first, second] = best.get(folder(file)).copied().unwrap_or_default();
            if *own >= first { second } else { first }
        })
        .collect();
    for (file, siblings) in files.iter_mut().zip(siblings) {
        file.features.siblings = siblings;
    }
}
