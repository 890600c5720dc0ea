//! What the server does: one file a request.

mod feedback;
mod files_glob;
mod files_grep;
mod files_read;
mod health;
mod index;
mod initialize;
mod model_list;
mod model_load;
mod retrieve;
mod symbols;

use std::path::PathBuf;
use std::time::Duration;

use codegrep_agent::tools::Observation;
use codegrep_plugin_sdk::OpenFile;
use codegrep_tree::Watch;

use crate::config::Settings;
use crate::core::{Root, Workspace};
use crate::failure::Failure;

pub use health::health;
pub use initialize::{FEATURES, initialize};
pub use retrieve::{Ask, Early, PROFILES, Source, retrieve};
pub use symbols::{FoundSymbol, Symbols, SymbolsParams};

/// Of requests that say none and need not be quick.
const BUDGET: Duration = Duration::from_secs(10);

/// Of tools that end when their request does.
const UNBOUNDED: Duration = Duration::from_secs(3600);

/// The most characters of a tool's text, which only models read.
const TEXT: usize = 64 << 20;

fn budget_or(ms: Option<u64>, default: Duration) -> Duration {
    ms.map_or(default, Duration::from_millis)
}

/// The roots a request names: at least one, each a folder that may be searched.
fn roots(given: &[String], settings: &Settings) -> Result<Vec<Root>, Failure> {
    if given.is_empty() {
        return Err(no_roots());
    }
    given.iter().map(|root| Root::parse(root, settings)).collect()
}

/// The roots a request names as a workspace each, every folder once: paths and patterns are
/// relative to each root. Open files count in the roots they lie in. Each workspace comes with its
/// folder, since roots may lie inside one another and a file is shown once.
fn one_by_one(
    given: &[String],
    open_files: &[OpenFile],
    settings: &Settings,
    watch: &Watch,
) -> Result<Vec<(PathBuf, Workspace)>, Failure> {
    let mut workspaces: Vec<(PathBuf, Workspace)> = Vec::new();
    for root in roots(given, settings)? {
        if workspaces.iter().all(|(known, _)| *known != root.real) {
            let real = root.real.clone();
            workspaces.push((real, Workspace::open(vec![root], open_files.to_vec(), watch)?));
        }
    }
    Ok(workspaces)
}

fn no_roots() -> Failure {
    Failure::usage("roots is empty").hint("name at least one workspace root")
}

/// The arguments of a tool call.
fn arguments(value: serde_json::Value) -> serde_json::Map<String, serde_json::Value> {
    match value {
        serde_json::Value::Object(arguments) => arguments,
        _ => serde_json::Map::new(),
    }
}

/// What the only call of a run of tools gave. What the model would read as an error is one here.
fn only(seen: Vec<Observation>, watch: &Watch) -> Result<Observation, Failure> {
    let found = seen.into_iter().next().unwrap_or_default();
    if found.error {
        watch.check()?;
        let message = found.text.strip_prefix("error: ").unwrap_or(&found.text);
        return Err(Failure::usage(message));
    }
    Ok(found)
}
