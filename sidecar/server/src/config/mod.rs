//! Settings, in two stages: what was written (each value with its source) becomes what the
//! program needs.

mod places;

pub use places::Places;
