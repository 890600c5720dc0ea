use std::collections::HashSet;
use std::time::Duration;

use codegrep_agent::tools::{self, Call, ToolLimits};
use codegrep_plugin_sdk::{FilesGlob, GlobParams, GlobResponse};
use codegrep_tree::Watch;
use serde_json::json;

use super::{BUDGET, arguments, budget_or, one_by_one};
use crate::config::Settings;
use crate::core::{Engines, Serve};
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
        let most = params.max_files.unwrap_or(1000).clamp(1, 100_000) as usize;
        let limits = ToolLimits {
            glob_time: super::UNBOUNDED,
            result_chars: super::TEXT,
            forgiving: false,
            ..ToolLimits::default()
        };
        let arguments = arguments(json!({ "pattern": params.pattern }));
        let call = Call { name: "glob".to_owned(), arguments };
        let (mut files, mut truncated) = (Vec::new(), false);
        let mut known = HashSet::new();
        for (root, workspace) in one_by_one(&params.roots, &[], &engines.settings, watch)? {
            let call = std::slice::from_ref(&call);
            let seen = tools::run(call, &*workspace.tree, &limits, &engines.pool, watch);
            let found = super::only(seen, watch)?;
            let new = found.seen.iter().filter(|path| known.insert(root.join(path.as_str())));
            files.extend(new.map(|path| workspace.locate(path)));
            truncated |= found.cut || files.len() > most;
        }
        files.truncate(most);
        Ok(GlobResponse { files, truncated })
    }
}
