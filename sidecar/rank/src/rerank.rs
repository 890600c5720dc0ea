use codegrep_index::{DocId, Index, Skip, Source};
use codegrep_tree::{Tree, Watch};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::features::Features;
use crate::history::changed_together;
use crate::passages::passages;
use crate::phrases::quoted;
use crate::query::Query;
use crate::signals::normalise;
use crate::terms::{Weighted, places};

/// A file under closer inspection.
#[derive(Debug)]
pub(crate) struct Read {
    pub id: DocId,
    pub features: Features,
    /// Score of the first model, for what files say of each other.
    pub standing: f64,
    /// `None` when it could not be read (any more), or the deadline came first.
    pub source: Option<Source>,
    /// The line of the rarest quoted phrase it holds, 1-based.
    pub phrase: Option<u32>,
    /// Its best window, 1-based lines, when any term matches.
    pub window: Option<(u32, u32)>,
}

/// Reads the files and fills the features that need their text or the other candidates.
///
/// `pool` is best first. Runs on the current rayon pool; files the deadline leaves unread keep
/// what the index knows of them.
pub(crate) fn rerank(
    pool: Vec<(DocId, Features, f64)>,
    query: &Query,
    terms: &[Weighted],
    index: &Index,
    tree: &dyn Tree,
    watch: &Watch,
) -> Vec<Read> {
    let wanted = places(terms);
    let mut files: Vec<Read> = pool
        .into_par_iter()
        .with_max_len(1)
        .map(|(id, features, standing)| {
            let mut file =
                Read { id, features, standing, source: None, phrase: None, window: None };
            if watch.check().is_ok() && index.file(id).skip != Some(Skip::Binary) {
                file.source = Source::read(tree, index.file(id).path).ok();
            }
            if let Some(source) = &file.source
                && index.file(id).skip.is_none()
            {
                let hits = source.hits(&wanted);
                let symbols = index.file(id).symbols;
                file.window = passages(&mut file.features, source, &hits, symbols, terms);
            }
            file
        })
        .collect();
    quoted(&mut files, &query.phrases);
    neighbours(&mut files, index);
    let mut all: Vec<Features> = files.iter().map(|file| file.features).collect();
    // Best and second window share a scale.
    let best = all.iter().map(|f| f.chunk_all).fold(1e-6, f32::max);
    all.iter_mut().for_each(|f| f.chunk_second /= best);
    let features: [fn(&mut Features) -> &mut f32; 10] = [
        |f| &mut f.phrases,
        |f| &mut f.cochange,
        |f| &mut f.chunk_all,
        |f| &mut f.chunk_title,
        |f| &mut f.chunk_code,
        |f| &mut f.unit_all,
        |f| &mut f.unit_title,
        |f| &mut f.unit_code,
        |f| &mut f.imported_by,
        |f| &mut f.imports,
    ];
    for feature in features {
        normalise(&mut all, feature);
    }
    for (file, features) in files.iter_mut().zip(all) {
        file.features = features;
    }
    files
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
    changed_together(files, &standing, &place, index);
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
