use std::sync::Arc;
use std::time::Instant;

use codegrep_index::{Index, IndexState, Skip, Store};
use codegrep_tree::{Stop, Tree, TreeError, Watch};

use crate::evidence::evidence;
use crate::features::Features;
use crate::query::Query;
use crate::rerank::{Read, rerank};
use crate::signals::signals;
use crate::terms::{Weighted, weighted};
use crate::weights::{Judged, Weights};
use crate::{Candidate, RankError, Ranked, Source};

/// The files that are read and compared closely.
const POOL: usize = 60;
/// Share of the time left that reading the repository may take; the rest is for ranking.
const INDEX_SHARE: f64 = 0.8;

/// Indexes and weights; one is shared by all requests.
pub struct Ranker {
    store: Arc<Store>,
    weights: Arc<Weights>,
    told: Option<Told>,
}

type Told = Box<dyn Fn(&Ranked) + Send + Sync>;

impl Ranker {
    /// The most files a ranking names.
    pub const MAX_CANDIDATES: usize = 50;

    pub fn new(store: Store, weights: Weights) -> Self {
        Self { store: Arc::new(store), weights: Arc::new(weights), told: None }
    }

    /// The same ranker for one request, which tells `told` the ranking as soon as there is one:
    /// for whoever has to answer before the rest of the work ends.
    pub fn telling(&self, told: impl Fn(&Ranked) + Send + Sync + 'static) -> Self {
        let (store, weights) = (Arc::clone(&self.store), Arc::clone(&self.weights));
        Self { store, weights, told: Some(Box::new(told)) }
    }

    /// The bar the gate uses unless told otherwise.
    pub fn default_bar(&self) -> f64 {
        self.weights.bar
    }

    pub fn store(&self) -> &Store {
        &self.store
    }
}

impl std::fmt::Debug for Ranker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ranker").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Default for Ranker {
    /// The weights that ship and the usual memory cap.
    fn default() -> Self {
        Self::new(Store::default(), Weights::built_in())
    }
}

/// Ranks the files of `tree` by how likely the task `text` is about them.
///
/// Blocks; works on the ranker's own threads. The index of the tree is built on the first call
/// and refreshed on later ones. When the deadline of `watch` comes near, what was found so far is
/// returned with a partial index state; cancelling gives [`RankError::Stopped`].
pub fn candidates(
    text: &str,
    tree: &dyn Tree,
    ranker: &Ranker,
    watch: &Watch,
) -> Result<Ranked, RankError> {
    let start = Instant::now();
    let (index, mut warnings) = index(tree, ranker, watch)?;
    let index_time = start.elapsed();

    let start = Instant::now();
    let query = Query::new(text);
    let terms = weighted(&query, &index);
    let files = ranked(&query, &terms, &index, tree, ranker, watch)?;
    let candidates = candidates_of(&files, &query, &terms, &index);
    match watch.check() {
        Err(Stop::Cancelled) => return Err(Stop::Cancelled.into()),
        Err(Stop::Deadline) => warnings.push("the time budget ended the ranking early".to_owned()),
        Ok(()) => {}
    }
    if query.left_out > 0 {
        warnings.push(format!(
            "the text is very long: {} bytes in its middle were not looked at",
            query.left_out
        ));
    }
    let status = index.status();
    let ranked =
        Ranked { candidates, index: status, index_time, rank_time: start.elapsed(), warnings };
    if let Some(told) = &ranker.told {
        told(&ranked);
    }
    Ok(ranked)
}

/// The features of the files that [`candidates`] compares closely, best first: what weights are
/// fitted on.
pub fn explain(
    text: &str,
    tree: &dyn Tree,
    ranker: &Ranker,
    watch: &Watch,
) -> Result<Vec<(codegrep_tree::RepoPath, Features)>, RankError> {
    let (index, _) = index(tree, ranker, watch)?;
    let query = Query::new(text);
    let terms = weighted(&query, &index);
    let files = ranked(&query, &terms, &index, tree, ranker, watch)?;
    watch.check()?;
    Ok(files.iter().map(|(f, _)| (index.file(f.id).path.clone(), f.features)).collect())
}

fn index(
    tree: &dyn Tree,
    ranker: &Ranker,
    watch: &Watch,
) -> Result<(Arc<Index>, Vec<String>), RankError> {
    let nearer = watch.left().map_or(watch.clone(), |left| watch.within(left.mul_f64(INDEX_SHARE)));
    let index = match ranker.store.index(tree, &nearer) {
        Ok(index) => index,
        Err(TreeError::Stopped(Stop::Deadline)) => Arc::default(),
        Err(TreeError::Stopped(Stop::Cancelled)) => return Err(Stop::Cancelled.into()),
        Err(error) => return Err(RankError::Tree(error)),
    };
    let mut warnings = index.warnings().to_vec();
    if index.status().state == IndexState::Stale {
        warnings.push(
            "the time budget ended before changed files were looked for: these are the files as \
             they were known before"
                .to_owned(),
        );
    }
    if let Some((_, count)) = index.skipped().iter().find(|(skip, _)| *skip == Skip::Unreadable) {
        warnings.push(format!("{count} files could not be read"));
    }
    Ok((index, warnings))
}

/// The files compared closely, best first.
fn ranked(
    query: &Query,
    terms: &[Weighted],
    index: &Index,
    tree: &dyn Tree,
    ranker: &Ranker,
    watch: &Watch,
) -> Result<Vec<(Read, Judged)>, RankError> {
    let all = signals(query, terms, index, watch);
    let weights = &ranker.weights;
    let mut pool: Vec<_> = (0u32..)
        .zip(all)
        .filter(|(id, features)| {
            index.file(*id).skip != Some(Skip::Binary) && is_spoken_for(features)
        })
        .map(|(id, features)| (id, features, weights.first.score(&features.values())))
        .collect();
    pool.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    pool.truncate(POOL);
    let threads = ranker.store.pool().map_err(RankError::Tree)?;
    let files = threads.install(|| rerank(pool, query, terms, index, tree, watch));
    let rows: Vec<_> = files.iter().map(|file| file.features.values()).collect();
    let mut files: Vec<_> = files.into_iter().zip(weights.judge(&rows)).collect();
    files.sort_by(|(a, x), (b, y)| y.score.total_cmp(&x.score).then(a.id.cmp(&b.id)));
    Ok(files)
}

/// Whether anything in the text leads to the file.
fn is_spoken_for(f: &Features) -> bool {
    [f.coverage, f.name_all, f.dirs_all, f.mentioned, f.module, f.trace, f.defines, f.qualified]
        .iter()
        .any(|value| *value > 0.0)
}

fn candidates_of(
    files: &[(Read, Judged)],
    query: &Query,
    terms: &[Weighted],
    index: &Index,
) -> Vec<Candidate> {
    files
        .iter()
        .take(Ranker::MAX_CANDIDATES)
        .map(|(file, judged)| {
            let (evidence, line_ranges) = evidence(file, query, terms, index);
            Candidate {
                path: index.file(file.id).path.clone(),
                probability: judged.probability,
                score: judged.score,
                source: Source::Lexical,
                line_ranges,
                evidence,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::SECOND_ONLY;
    use codegrep_tree::DiskTree;
    use codegrep_tree::fixture::Fixture;

    #[test]
    fn what_reading_the_candidates_tells_is_known_as_such() {
        let repo = Fixture::new(
            "
            //- /shop/cart.py
            from shop.tax import rate
            class Cart:
                def total(self):
                    raise ValueError(\"the cart is empty and has no total\")
            //- /shop/tax.py
            def rate():
                return \"rate of the cart total\"
            ",
        );
        repo.commit("Compute the total of a cart");
        repo.write("shop/cart.py", "from shop.tax import rate\nclass Cart:\n    total = 1\n");
        repo.write("shop/tax.py", "def rate():\n    return 'cart total'\n");
        repo.commit("Let the cart total follow the rate");
        let tree = DiskTree::open(repo.path()).unwrap();
        let text =
            "Cart total fails\n\nThe cart says \"the cart is empty\" for `Cart.total` at any rate";
        let (ranker, watch) = (Ranker::default(), Watch::idle());
        let (index, _) = index(&tree, &ranker, &watch).unwrap();
        let query = Query::new(text);
        let terms = weighted(&query, &index);
        let before = signals(&query, &terms, &index, &watch);
        let files = ranked(&query, &terms, &index, &tree, &ranker, &watch).unwrap();
        assert_eq!(files.len(), 2);
        for (file, _) in files {
            let (early, late) = (before[file.id as usize].values(), file.features.values());
            for ((name, early), late) in Features::NAMES.iter().zip(early).zip(late) {
                assert!(early == late || SECOND_ONLY.contains(name), "{name}: {early} {late}");
            }
        }
    }
}
