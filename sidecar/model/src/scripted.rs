//! A model that plays a file of turns.

use std::path::Path;
use std::sync::Arc;

use codegrep_agent::{Model, ModelError};

/// Plays nothing yet.
pub fn open(path: &Path) -> Result<Arc<dyn Model>, ModelError> {
    Err(ModelError::Unavailable {
        message: format!("{}: scripts are not supported yet", path.display()),
        hint: String::new(),
    })
}
