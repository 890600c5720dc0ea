//! An index of one repository's files: terms by field, definitions, roles; built in parallel,
//! refreshed file by file, kept per root under a memory cap.
//!
//! Knows nothing about tasks, weights or models: what a term is worth is the ranker's business.

mod status;

pub use status::{IndexState, IndexStatus};
