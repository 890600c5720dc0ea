use std::time::{Duration, Instant};

use codegrep_index::{IndexState, IndexStatus};
use codegrep_tree::{Scope, Tree, Watch};

use crate::{RankError, Ranked};

/// Indexes and weights; one is shared by all requests.
#[derive(Debug, Default)]
pub struct Ranker {}

impl Ranker {
    /// The most files a ranking names.
    pub const MAX_CANDIDATES: usize = 50;

    /// The bar the gate uses unless told otherwise.
    pub fn default_bar(&self) -> f64 {
        0.5
    }
}

/// Ranks the files of `tree` by how likely the task `query` is about them.
///
/// Blocks; uses the ranker's own threads. The index of the tree is built on the first call and
/// refreshed on later ones. When the deadline of `watch` comes near, what was found so far is
/// returned with [`IndexState::Partial`]; cancelling gives [`RankError::Stopped`].
pub fn candidates(
    query: &str,
    tree: &dyn Tree,
    ranker: &Ranker,
    watch: &Watch,
) -> Result<Ranked, RankError> {
    let _ = (query, ranker);
    let start = Instant::now();
    let listing = tree.walk(&Scope::default(), watch).map_err(RankError::Tree)?;
    Ok(Ranked {
        candidates: Vec::new(),
        index: IndexStatus {
            state: IndexState::Ready,
            files: listing.entries.len(),
            total: listing.entries.len(),
            git_signals: false,
        },
        index_time: start.elapsed(),
        rank_time: Duration::ZERO,
        warnings: listing.warnings,
    })
}
