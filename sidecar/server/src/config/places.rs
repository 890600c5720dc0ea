use std::env;
use std::path::{Path, PathBuf};

use directories::ProjectDirs;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Where this user's files lie. `CODEGREP_HOME` puts all of them below one folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// The settings: `config.toml`.
    pub config_file: PathBuf,
    /// Models and adapters, under the names they are asked for.
    pub models: PathBuf,
    /// What can be made again: hashes of weights, indexes.
    pub cache: PathBuf,
    /// Logs the user keeps: feedback.
    pub state: PathBuf,
    /// Where the daemon is met: its socket and its lock.
    pub run: PathBuf,
}

impl Places {
    /// The platform's own folders (XDG, Application Support, AppData).
    pub fn of_this_user() -> Result<Self, Failure> {
        if let Some(home) = env::var_os("CODEGREP_HOME").filter(|home| !home.is_empty()) {
            let home = std::path::absolute(PathBuf::from(home)).map_err(|error| {
                Failure::environment(format!("CODEGREP_HOME is no usable path: {error}"))
            })?;
            return Ok(Self::below(&home));
        }
        let dirs = ProjectDirs::from("", "", "codegrep").ok_or_else(|| {
            Failure::environment("this user has no home folder to keep settings and models in")
                .hint("set HOME, or CODEGREP_HOME to a folder of your choice")
        })?;
        Ok(Self {
            config_file: dirs.config_dir().join("config.toml"),
            models: dirs.data_dir().join("models"),
            cache: dirs.cache_dir().to_owned(),
            state: dirs.state_dir().unwrap_or(dirs.data_dir()).to_owned(),
            run: dirs.runtime_dir().map_or_else(|| dirs.cache_dir().join("run"), PathBuf::from),
        })
    }

    /// All below one folder.
    pub fn below(home: &Path) -> Self {
        Self {
            config_file: home.join("config.toml"),
            models: home.join("models"),
            cache: home.join("cache"),
            state: home.join("state"),
            run: home.join("run"),
        }
    }
}
