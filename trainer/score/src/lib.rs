//! Metrics, rewards and statistics of retrieval: pure functions, no dependencies.
//!
//! Knows nothing about repositories, models or files.

pub mod calibration;
pub mod retrieval;
pub mod reward;
pub mod stats;
