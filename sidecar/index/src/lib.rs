//! An index of one repository's files: terms by field, definitions, imports, roles; built in
//! parallel, refreshed file by file, kept per root under a memory cap.
//!
//! Knows nothing about tasks, weights or models: what a term is worth is the ranker's business.

mod doc;
mod git;
mod imports;
mod index;
mod kept;
mod lang;
mod modules;
mod postings;
mod role;
mod source;
mod status;
mod store;
mod styles;
mod symbols;
mod token;
mod turns;

pub use doc::{CODE_LIMIT, Skip, TEXT_LIMIT};
pub use git::GitSignals;
pub use imports::Import;
pub use index::{DocId, Field, File, Index};
pub use lang::{Content, Language};
pub use modules::Modules;
pub use role::{Role, is_package_file};
pub use source::{Hits, Source};
pub use status::{IndexState, IndexStatus};
pub use store::Store;
pub use symbols::{Symbol, defined_name};
pub use token::{
    Term, compound_term, each_term, each_word, exact_name, is_stop, is_word_byte, whole_term,
};
