use std::path::{Path, PathBuf};
use std::time::Duration;

use codegrep_plugin_sdk::{ErrorKind, code};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio::sync::Mutex;

use crate::core::file_path;
use crate::failure::Failure;

/// How long a client may take to name its roots.
const PATIENCE: Duration = Duration::from_secs(5);

/// The folders that a client works in: never empty, and nothing else is looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Roots(Vec<PathBuf>);

/// The roots of one client, asked for once and again after they changed.
#[derive(Default)]
pub struct Known(Mutex<Option<Roots>>);

impl Known {
    /// The client's roots where it offers them, else its working folder.
    pub async fn get(&self, context: &RequestContext<RoleServer>, folder: &Path) -> Roots {
        let mut known = self.0.lock().await;
        if let Some(roots) = &*known {
            return roots.clone();
        }
        let mut listed = listed(context).await;
        if listed.is_empty() {
            listed.push(folder.to_owned());
        }
        known.insert(Roots(listed)).clone()
    }

    /// They have changed.
    pub async fn forget(&self) {
        *self.0.lock().await = None;
    }
}

// Deprecated in favour of arguments from 2026-07-28 on; today's clients have nothing else.
#[expect(deprecated)]
async fn listed(context: &RequestContext<RoleServer>) -> Vec<PathBuf> {
    let offered = context.client_capabilities().is_some_and(|client| client.roots.is_some());
    // Later versions let no server ask its client.
    let may_ask = context.protocol_version().is_none_or(|version| version.has_initialize());
    if !offered || !may_ask {
        return Vec::new();
    }
    match tokio::time::timeout(PATIENCE, context.peer.list_roots()).await {
        // Roots of other kinds, such as a remote file system's, are none of this machine.
        Ok(Ok(answer)) => answer.roots.iter().filter_map(|root| file_path(&root.uri)).collect(),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the client does not name its roots");
            Vec::new()
        }
        Err(_) => {
            tracing::warn!("the client does not answer roots/list");
            Vec::new()
        }
    }
}

impl Roots {
    #[cfg(test)]
    pub fn of(folders: &[&str]) -> Self {
        Self(folders.iter().map(PathBuf::from).collect())
    }

    /// All roots, or the one that an agent names.
    pub fn all(&self, wanted: Option<&str>) -> Result<Vec<String>, Failure> {
        let Some(wanted) = wanted else {
            return Ok(self.0.iter().map(|root| text(root)).collect());
        };
        let named = file_path(wanted);
        match self.0.iter().find(|root| named.as_ref() == Some(root)) {
            Some(root) => Ok(vec![text(root)]),
            None => Err(self.refused(format!("{wanted:?} is none of the workspace roots"))),
        }
    }

    /// The roots that a path may lie in, and the path below them. An agent may give it relative to
    /// a root, or absolute.
    pub fn place(
        &self,
        wanted: Option<&str>,
        path: &str,
    ) -> Result<(Vec<String>, String), Failure> {
        let Some(file) = file_path(path) else {
            return Ok((self.all(wanted)?, path.to_owned()));
        };
        let inner = self.0.iter().filter_map(|root| Some((root, file.strip_prefix(root).ok()?)));
        match inner.min_by_key(|(_, rest)| rest.as_os_str().len()) {
            Some((root, rest)) => Ok((vec![text(root)], rest.to_string_lossy().into_owned())),
            None => Err(self.refused(format!("{path} lies outside of the workspace"))),
        }
    }

    /// The only root for a path, or the root that the agent has to name.
    pub fn only(&self, wanted: Option<&str>, path: &str) -> Result<(String, String), Failure> {
        let (mut roots, path) = self.place(wanted, path)?;
        match (roots.pop(), roots.is_empty()) {
            (Some(root), true) => Ok((root, path)),
            _ => Err(Failure::usage(format!("{path:?} may lie in several workspace roots"))
                .hint(format!("give the absolute path, or `root`: {}", self.names()))),
        }
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|root| text(root)).collect();
        names.join(", ")
    }

    fn refused(&self, message: String) -> Failure {
        Failure::wire(ErrorKind::User, code::ROOT_REFUSED, message)
            .hint(format!("only these folders are searched: {}", self.names()))
    }
}

fn text(folder: &Path) -> String {
    folder.to_string_lossy().into_owned()
}
