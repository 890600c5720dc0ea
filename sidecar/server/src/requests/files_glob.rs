use std::time::Duration;

use codegrep_agent::tools::{self, Call, ToolLimits};
use codegrep_plugin_sdk::{FilesGlob, GlobParams, GlobResponse};
use codegrep_tree::Watch;
use serde_json::json;

use super::{BUDGET, arguments, budget_or, roots};
use crate::config::Settings;
use crate::core::{Engines, Serve, Workspace};
use crate::failure::Failure;

impl Serve for FilesGlob {
    fn budget(params: &GlobParams, _: &Settings) -> Duration {
        budget_or(params.budget_ms, BUDGET)
    }

    fn serve(
        params: GlobParams,
        engines: &Engines,
        watch: &Watch,
    ) -> Result<GlobResponse, Failure> {
        let roots = roots(&params.roots, &engines.settings)?;
        let workspace = Workspace::open(roots, Vec::new())?;
        let limits = ToolLimits {
            glob_time: super::UNBOUNDED,
            result_chars: super::TEXT,
            ..ToolLimits::default()
        };
        let arguments = arguments(json!({ "pattern": params.pattern }));
        let call = Call { name: "glob".to_owned(), arguments };
        let seen = tools::run(&[call], &*workspace.tree, &limits, &engines.pool, watch);
        let found = super::only(seen, watch)?;
        let most = params.max_files.unwrap_or(1000).clamp(1, 100_000) as usize;
        Ok(GlobResponse {
            truncated: found.cut || found.seen.len() > most,
            files: found.seen.iter().take(most).map(|path| workspace.locate(path)).collect(),
        })
    }
}
