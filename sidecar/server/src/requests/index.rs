use std::time::Duration;

use codegrep_index as index;
use codegrep_plugin_sdk::{
    IndexRefresh, IndexState, IndexStatus, IndexStatusParams, IndexStatusResponse, RootStatus,
};
use codegrep_tree::Watch;

use crate::config::Settings;
use crate::core::{Engines, Root, Serve, Workspace};
use crate::failure::Failure;

/// Reading a large repository for the first time takes its time.
const REFRESH: Duration = Duration::from_secs(600);

impl Serve for IndexStatus {
    fn budget(_: &IndexStatusParams, _: &Settings) -> Duration {
        super::BUDGET
    }

    fn serve(
        params: IndexStatusParams,
        engines: &Engines,
        watch: &Watch,
    ) -> Result<IndexStatusResponse, Failure> {
        each(params, engines, watch, |workspace| {
            let kept = engines.ranker.store().kept(&*workspace.tree, watch)?;
            Ok(kept.map(|index| status(&index)))
        })
    }
}

impl Serve for IndexRefresh {
    fn budget(_: &IndexStatusParams, _: &Settings) -> Duration {
        REFRESH
    }

    fn serve(
        params: IndexStatusParams,
        engines: &Engines,
        watch: &Watch,
    ) -> Result<IndexStatusResponse, Failure> {
        each(params, engines, watch, |workspace| {
            Ok(Some(status(&*engines.ranker.store().index(&*workspace.tree, watch)?)))
        })
    }
}

/// One status a root, in order. A root that may not be searched is an answer, not an error.
fn each(
    params: IndexStatusParams,
    engines: &Engines,
    watch: &Watch,
    index: impl Fn(&Workspace) -> Result<Option<RootStatus>, Failure>,
) -> Result<IndexStatusResponse, Failure> {
    if params.roots.is_empty() {
        return Err(super::no_roots());
    }
    let roots = params.roots.into_iter().map(|root| {
        let status = Root::parse(&root, &engines.settings)
            .and_then(|root| Workspace::open(vec![root], Vec::new(), watch))
            .and_then(|workspace| index(&workspace));
        match status {
            Ok(Some(status)) => Ok(RootStatus { root, ..status }),
            Ok(None) => Ok(RootStatus { root, ..bare(IndexState::Stale, Vec::new()) }),
            Err(failure) if failure.is_stop() => Err(failure),
            Err(failure) => {
                Ok(RootStatus { root, ..bare(IndexState::Refused, vec![failure.message]) })
            }
        }
    });
    Ok(IndexStatusResponse { roots: roots.collect::<Result<_, _>>()? })
}

fn status(index: &index::Index) -> RootStatus {
    let status = index.status();
    RootStatus {
        files: status.files as u64,
        git_signals: status.git_signals,
        ..bare(crate::wire::state(status.state), index.warnings().to_vec())
    }
}

fn bare(state: IndexState, warnings: Vec<String>) -> RootStatus {
    RootStatus { root: String::new(), state, files: 0, git_signals: false, warnings }
}
