//! What a process was given to find its settings with. A process that serves another one uses the
//! other's, so that a shared daemon answers each client as its own process would.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::layer::{Layer, file_layer};
use super::places::Places;
use crate::failure::Failure;

/// Folders, environment, working folder and command line of a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Given {
    pub places: Places,
    /// `CODEGREP_…`, and the variables in which the settings file says keys lie.
    pub variables: BTreeMap<String, String>,
    /// What relative paths of the environment and the command line start from.
    pub folder: PathBuf,
    pub flags: Layer,
}

impl Given {
    /// What this process was given.
    ///
    /// # Errors
    /// The settings file cannot be read, or a variable is not UTF-8.
    pub fn here(places: Places, flags: Layer) -> Result<Self, Failure> {
        let file = file_layer(&places.config_file)?;
        let keys: Vec<&str> =
            file.endpoints.values().filter_map(|end| end.api_key_env.as_deref()).collect();
        let mut variables = BTreeMap::new();
        for (name, value) in env::vars_os().filter(|(_, value)| !value.is_empty()) {
            let Some(name) = name.to_str() else { continue };
            if !name.starts_with("CODEGREP_") && !keys.contains(&name) {
                continue;
            }
            let value = value.into_string().map_err(|value| {
                Failure::config(format!("{name}={}: not UTF-8", value.to_string_lossy()))
                    .hint(format!("correct the variable or unset {name}"))
            })?;
            variables.insert(name.to_owned(), value);
        }
        let folder = env::current_dir().unwrap_or_default();
        Ok(Self { places, variables, folder, flags })
    }
}
