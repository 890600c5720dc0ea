use codegrep_index::{DocId, Field, Index, Term};
use codegrep_tree::Watch;
use rustc_hash::FxHashMap;

use crate::query::{PARTS, Part, Query};

/// Okapi BM25 (Robertson & Zaragoza 2009, eq. 3.15), the same for all fields but for `b`.
pub(crate) const K1: f32 = 1.2;
/// The most distinct terms of a text that are looked up: those of the highest weight.
const MOST: usize = 256;

/// A term of the text with its weights in this repository.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighted {
    pub term: Term,
    /// Its weight in each [`Part`](crate::query::Part) of the text.
    pub parts: [f32; PARTS],
}

/// The text's terms that this repository's contents, paths or log hold, the heaviest
/// [`MOST`] of them, in order of appearance.
pub(crate) fn weighted(query: &Query, index: &Index) -> Vec<Weighted> {
    let files = index.len() as f32;
    let mut all: Vec<Weighted> = Vec::new();
    for word in &query.words {
        let held = |field| index.holding(field, word.term).0.len();
        let mut df = held(Field::Content).max(held(Field::Name)).max(held(Field::Dirs)) as f32;
        // Users' words may stand in the log alone.
        if df == 0.0 {
            df = index.git().saying(word.term).0.len() as f32;
        }
        if df == 0.0 {
            continue;
        }
        let idf = idf(files, df);
        // A word said five times is not five times as important.
        let saturated = |count: f32| 2.0 * count / (count + 1.0);
        let parts = word.counts.map(|count| saturated(count) * idf);
        all.push(Weighted { term: word.term, parts });
    }
    if all.len() > MOST {
        let importance = |w: &Weighted| w.parts.iter().sum::<f32>();
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by(|a, b| importance(&all[*b]).total_cmp(&importance(&all[*a])));
        order.truncate(MOST);
        order.sort_unstable();
        all = order.into_iter().map(|at| all[at]).collect();
    }
    all
}

/// Inverse document frequency of a term that `df` of `all` documents hold; the variant that is
/// never negative, as in Lucene.
pub(crate) fn idf(all: f32, df: f32) -> f32 {
    (1.0 + (all - df + 0.5).max(0.5) / (df + 0.5)).ln()
}

/// Where each term stands in `terms`, for a look into files.
pub(crate) fn places(terms: &[Weighted]) -> FxHashMap<Term, u32> {
    (0..).zip(terms).map(|(at, term)| (term.term, at)).collect()
}

/// How well each file matches, by part of the text.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Match {
    pub bm25: [f32; PARTS],
    /// Summed weight of the terms it holds.
    pub held: f32,
}

/// BM25 of every file in one field; what the deadline leaves undone counts nothing.
pub(crate) fn score(
    index: &Index,
    field: Field,
    b: f32,
    terms: &[Weighted],
    watch: &Watch,
) -> Vec<Match> {
    let mut matches = vec![Match::default(); index.len()];
    let mean = index.mean_length(field);
    let norm: Vec<f32> = (0..index.len())
        .map(|id| K1 * (1.0 - b + b * index.length(field, id as DocId) as f32 / mean))
        .collect();
    for term in terms {
        if watch.check().is_err() {
            break;
        }
        let (ids, counts) = index.holding(field, term.term);
        for (id, count) in ids.iter().zip(counts) {
            let count = f32::from(*count);
            let tf = count * (K1 + 1.0) / (count + norm[*id as usize]);
            let file = &mut matches[*id as usize];
            file.held += term.parts[Part::All as usize];
            for part in 0..PARTS {
                file.bm25[part] += term.parts[part] * tf;
            }
        }
    }
    matches
}

/// Weight and length normalisation of each field in [`fused`].
const FIELDS: [(Field, f32, f32); 4] = [
    (Field::Content, 1.0, 0.75),
    (Field::Symbols, 2.0, 0.75),
    (Field::Name, 5.0, 0.5),
    (Field::Dirs, 2.0, 0.5),
];

/// BM25F of every file (Robertson, Zaragoza & Taylor, CIKM 2004): occurrences in all fields are
/// added up before they saturate, so that one term cannot count again in each field.
pub(crate) fn fused(index: &Index, terms: &[Weighted], watch: &Watch) -> Vec<[f32; PARTS]> {
    let mut scores = vec![[0.0; PARTS]; index.len()];
    // Weighted occurrences of one term; zero between terms.
    let mut occurrences = vec![0.0f32; index.len()];
    let mut touched: Vec<DocId> = Vec::new();
    for term in terms {
        if watch.check().is_err() {
            break;
        }
        for (field, weight, b) in FIELDS {
            let mean = index.mean_length(field);
            let (ids, counts) = index.holding(field, term.term);
            for (id, count) in ids.iter().zip(counts) {
                let length = index.length(field, *id) as f32;
                let place = &mut occurrences[*id as usize];
                if *place == 0.0 {
                    touched.push(*id);
                }
                *place += weight * f32::from(*count) / (1.0 - b + b * length / mean);
            }
        }
        for id in touched.drain(..) {
            let count = std::mem::take(&mut occurrences[id as usize]);
            let tf = count * (K1 + 1.0) / (count + K1);
            for (score, weight) in scores[id as usize].iter_mut().zip(term.parts) {
                *score += weight * tf;
            }
        }
    }
    scores
}
