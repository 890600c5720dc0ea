//! The end-to-end harness: real repositories on disk and the real binary, driven as its users
//! drive it.

use std::path::Path;

mod binary;
mod endpoint;
mod fetch;
mod sample;

pub use binary::{Codegrep, Finished, binary};
pub use endpoint::Endpoint;
pub use fetch::{test_model, test_project};
pub use sample::{SHOP, SHOP_REPORT};

/// The folder that holds the workspace's Cargo.toml.
pub fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the checkout")
}
