//! What is known of each coding agent: how its prompt hook asks and what it accepts.
//!
//! Knows nothing of repositories, models or ranking: whoever calls it brings the block of files.

pub mod hook;
