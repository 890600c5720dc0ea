use codegrep_index::{DocId, Field, Index, Term};
use codegrep_tree::Watch;
use rustc_hash::FxHashMap;

use crate::query::{PARTS, Query};

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

/// The text's terms that this repository's contents or paths hold, the heaviest
/// [`MOST`] of them, in order of appearance.
pub(crate) fn weighted(query: &Query, index: &Index) -> Vec<Weighted> {
    let files = index.len() as f32;
    let mut all: Vec<Weighted> = Vec::new();
    for word in &query.words {
        let held = |field| index.holding(field, word.term).0.len();
        let df = held(Field::Content).max(held(Field::Name)).max(held(Field::Dirs)) as f32;
        if df == 0.0 {
            continue;
        }
        // The variant that is never negative, as in Lucene.
        let idf = (1.0 + (files - df + 0.5).max(0.5) / (df + 0.5)).ln();
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

/// Where each term stands in `terms`, for a look into files.
pub(crate) fn places(terms: &[Weighted]) -> FxHashMap<Term, u32> {
    (0..).zip(terms).map(|(at, term)| (term.term, at)).collect()
}

/// How well each file matches, by part of the text.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Match {
    pub bm25: [f32; PARTS],
    /// Summed weight of the terms it holds, by part.
    pub held: [f32; PARTS],
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
            for part in 0..PARTS {
                file.bm25[part] += term.parts[part] * tf;
                file.held[part] += term.parts[part];
            }
        }
    }
    matches
}
