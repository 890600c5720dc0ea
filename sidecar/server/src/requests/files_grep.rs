use std::time::Duration;

use codegrep_agent::tools::{self, Call, ToolLimits};
use codegrep_plugin_sdk::{FileRef, FilesGrep, GrepMatch, GrepParams, GrepResponse};
use codegrep_tree::Watch;
use serde_json::json;

use super::{BUDGET, arguments, budget_or, roots};
use crate::config::Settings;
use crate::core::{Engines, Serve, Workspace};
use crate::failure::Failure;

impl Serve for FilesGrep {
    fn budget(params: &GrepParams, _: &Settings) -> Duration {
        budget_or(params.budget_ms, BUDGET)
    }

    /// The agent's own tool, with limits for programs instead of models.
    fn serve(
        params: GrepParams,
        engines: &Engines,
        watch: &Watch,
    ) -> Result<GrepResponse, Failure> {
        let roots = roots(&params.roots, &engines.settings)?;
        let workspace = Workspace::open(roots, params.open_files)?;
        let most = params.max_matches.unwrap_or(50).clamp(1, 10_000);
        let limits = ToolLimits {
            grep_matches: most as usize,
            grep_time: super::UNBOUNDED,
            result_chars: super::TEXT,
            ..ToolLimits::default()
        };
        let call = Call {
            name: "grep".to_owned(),
            arguments: arguments(json!({
                "pattern": params.pattern,
                "path": params.path,
                "glob": params.glob,
                "ignore_case": params.ignore_case,
            })),
        };
        let seen = tools::run(&[call], &*workspace.tree, &limits, &engines.pool, watch);
        let found = super::only(seen, watch)?;
        let matches = found.lines.into_iter().map(|line| {
            let FileRef { root, path } = workspace.locate(&line.path);
            GrepMatch { root, path, line: line.number, text: line.text }
        });
        Ok(GrepResponse { matches: matches.collect(), truncated: found.cut })
    }
}
