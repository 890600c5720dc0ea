use std::collections::HashSet;
use std::time::Duration;

use codegrep_agent::tools::{self, Call, Line, ToolLimits};
use codegrep_plugin_sdk::{FileRef, FilesGrep, GrepMatch, GrepParams, GrepResponse};
use codegrep_tree::{RepoPath, Stop, TreeError, Watch};
use serde_json::json;

use super::{BUDGET, arguments, budget_or, one_by_one};
use crate::config::Settings;
use crate::core::{Engines, Serve};
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
        let mut workspaces =
            one_by_one(&params.roots, &params.open_files, &engines.settings, watch)?;
        if let Some(path) = &params.path {
            // Some of the roots need not have it.
            let path = RepoPath::parse(path).map_err(TreeError::from)?;
            let lacks = |error| matches!(error, TreeError::NotFound { .. });
            if workspaces.iter().any(|(_, workspace)| workspace.tree.kind(&path).is_ok()) {
                workspaces.retain(|(_, workspace)| !workspace.tree.kind(&path).is_err_and(lacks));
            }
        }
        let most = params.max_matches.unwrap_or(50).clamp(1, 10_000) as usize;
        let limits = ToolLimits {
            grep_matches: most,
            grep_time: super::UNBOUNDED,
            result_chars: super::TEXT,
            forgiving: false,
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
        let (mut matches, mut truncated) = (Vec::new(), false);
        let mut known = HashSet::new();
        for (root, workspace) in workspaces {
            let call = std::slice::from_ref(&call);
            let seen = tools::run(call, &*workspace.tree, &limits, &engines.pool, watch);
            // What was found before the time ran out is an answer.
            let found = match super::only(seen, watch) {
                Err(_) if !matches.is_empty() && watch.check() == Err(Stop::Deadline) => {
                    truncated = true;
                    break;
                }
                found => found?,
            };
            let new = |line: &Line| known.insert((root.join(line.path.as_str()), line.number));
            matches.extend(found.lines.into_iter().filter(new).map(|line| {
                let FileRef { root, path } = workspace.locate(&line.path);
                GrepMatch { root, path, line: line.number, text: line.text }
            }));
            truncated |= found.cut || matches.len() > most;
        }
        matches.truncate(most);
        Ok(GrepResponse { matches, truncated })
    }
}
