//! Settings, in two stages: what was written (every value optional, with its source) becomes what
//! the program needs.

mod choice;
mod given;
mod layer;
mod places;
mod repository;
mod settings;

pub use choice::ModelChoice;
pub use given::Given;
pub use layer::Layer;
pub use places::Places;
pub use repository::RepositorySettings;
pub use settings::{MAX_FILES, Settings};
