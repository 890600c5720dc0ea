//! The end-to-end harness: real repositories on disk and the real binary, driven as its users
//! drive it.

use std::path::Path;

mod binary;
mod endpoint;
mod model;

pub use binary::{Codegrep, Finished, binary};
pub use endpoint::Endpoint;
pub use model::test_model;

/// The folder that holds the workspace's Cargo.toml.
pub fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the checkout")
}
