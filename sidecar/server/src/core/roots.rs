use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codegrep_plugin_sdk::{ErrorKind as Class, code};
use codegrep_tree::{DiskTree, TreeError};
use directories::BaseDirs;
use url::Url;

use crate::config::Settings;
use crate::failure::Failure;

/// A workspace root that may be searched.
#[derive(Debug, Clone)]
pub struct Root {
    /// Absolute, as the client named it.
    pub path: PathBuf,
    /// The same without links.
    pub real: PathBuf,
    /// The folder that was looked at, whatever the path has come to name since. It is known by
    /// `real`, so that all paths to it share one index.
    pub tree: Arc<DiskTree>,
}

impl Root {
    /// An absolute path or a `file://` URI. A folder that holds the user's home is refused unless
    /// the user's own settings allow it: it holds secrets, and more files than anyone meant.
    pub fn parse(text: &str, settings: &Settings) -> Result<Self, Failure> {
        let path = file_path(text).ok_or_else(|| {
            Failure::usage(format!("the root {text:?} is no absolute path and no file:// URI"))
                .hint("give each root as an absolute path")
        })?;
        Self::at(path, settings)
    }

    /// A folder on this machine.
    pub fn at(path: PathBuf, settings: &Settings) -> Result<Self, Failure> {
        let real = path.canonicalize().map_err(|error| {
            let why = match error.kind() {
                ErrorKind::NotFound => "no such folder".to_owned(),
                ErrorKind::PermissionDenied => "permission denied".to_owned(),
                _ => error.to_string(),
            };
            refused(format!("{}: {why}", path.display()))
                .hint("check the path for a typing error, and who may read it")
        })?;
        if !real.is_dir() {
            return Err(refused(format!("{}: not a folder", path.display()))
                .hint("give the folder that holds the code"));
        }
        let tree = DiskTree::open(&real)?;
        let holds_home = real.parent().is_none() || home().iter().any(|folder| tree.is_at(folder));
        if holds_home && !settings.any_root.value {
            return Err(refused(format!(
                "{}: a home folder, or one above it, is not searched",
                path.display()
            ))
            .hint("give the folder of one project; `--any-root` allows it all the same"));
        }
        Ok(Self { path, real, tree: Arc::new(tree) })
    }

    pub fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// Whether the folder is the root of the file system, the user's home, or lies above it.
    pub fn holds_home(folder: &Path) -> bool {
        folder.parent().is_none() || home().iter().any(|home| home == folder)
    }
}

/// The user's home and the folders above it.
fn home() -> Vec<PathBuf> {
    let home = BaseDirs::new().and_then(|dirs| dirs.home_dir().canonicalize().ok());
    home.iter().flat_map(|home| home.ancestors()).map(Path::to_owned).collect()
}

/// An absolute path, or a `file://` URI of this machine.
pub fn file_path(text: &str) -> Option<PathBuf> {
    let path = match text.starts_with("file:") {
        true => Url::parse(text).ok()?.to_file_path().ok()?,
        false => PathBuf::from(text),
    };
    path.is_absolute().then_some(path)
}

fn refused(message: String) -> Failure {
    Failure::wire(Class::User, code::ROOT_REFUSED, message)
}

impl From<TreeError> for Failure {
    fn from(error: TreeError) -> Self {
        let message = error.to_string();
        match error {
            TreeError::Root { hint, .. } => refused(message).hint(hint),
            TreeError::Stopped(stop) => stop.into(),
            TreeError::Denied { .. } | TreeError::Io { .. } => Failure::environment(message),
            _ => Failure::usage(message),
        }
    }
}
