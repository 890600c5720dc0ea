//! The trainer without gradients: tasks, baselines, evaluation and its report.
//!
//! Knows nothing about tch or about the wire. Repositories are read through
//! `codegrep_tree::GitTree`, without a checkout; files are found by the sidecar's own code.

pub mod bm25;
pub mod evaluate;
pub mod fit;
pub mod jsonl;
pub mod language;
pub mod mine;
pub mod reward;
pub mod tasks;

/// What is fitted, and measured.
pub use codegrep_rank::Weights;
/// Cancels an evaluation or a fit.
pub use codegrep_tree::Watch;
use indicatif::{ProgressBar, ProgressStyle};

fn progress(total: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len}, {eta} left {msg:.dim}");
    ProgressBar::new(total as u64)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn pool(jobs: usize) -> Result<rayon::ThreadPool, rayon::ThreadPoolBuildError> {
    rayon::ThreadPoolBuilder::new().num_threads(jobs).build()
}
