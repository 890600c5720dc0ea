use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use codegrep_tree::{Listing, Scope, Stop, Tree, TreeError, Watch};

use super::{Observation, ToolLimits};

/// What is being done while a place is walked.
pub(super) const LISTING: &str = "listing files";

type Walk = Arc<OnceLock<Result<Listing, TreeError>>>;

/// What the calls of one turn share.
pub(super) struct Context<'a> {
    pub(super) tree: &'a dyn Tree,
    pub(super) limits: &'a ToolLimits,
    pub(super) watch: &'a Watch,
    pub(super) began: Instant,
    /// Each scope is walked once a turn, whoever needs it first.
    walks: Mutex<Vec<(Scope, Walk)>>,
}

/// A scope walked, or why it could not be.
pub(super) struct Walked(Walk);

impl Walked {
    pub(super) fn listing(&self) -> Result<&Listing, &TreeError> {
        // Walked before it was given out.
        self.0.get_or_init(|| Err(Stop::Cancelled.into())).as_ref()
    }
}

impl<'a> Context<'a> {
    pub(super) fn new(tree: &'a dyn Tree, limits: &'a ToolLimits, watch: &'a Watch) -> Self {
        Self { tree, limits, watch, began: Instant::now(), walks: Mutex::default() }
    }

    pub(super) fn walk(&self, scope: &Scope, watch: &Watch) -> Walked {
        let walk = {
            let mut walks = self.walks.lock().unwrap_or_else(PoisonError::into_inner);
            match walks.iter().find(|(known, _)| known == scope) {
                Some((_, walk)) => walk.clone(),
                None => {
                    let walk = Walk::default();
                    walks.push((scope.clone(), walk.clone()));
                    walk
                }
            }
        };
        walk.get_or_init(|| self.tree.walk(scope, watch));
        Walked(walk)
    }

    /// Why a tool that may take `time` stopped early.
    pub(super) fn stopped(&self, stop: Stop, time: Duration) -> String {
        match stop {
            Stop::Deadline if self.watch.check().is_ok() => format!("stopped after {time:?}"),
            stop => stop.to_string(),
        }
    }

    /// A failure of the tree while `doing` something, as a tool's error; `time` is what the tool
    /// may take.
    pub(super) fn error(&self, err: &TreeError, doing: &str, time: Duration) -> Observation {
        match err {
            TreeError::Stopped(stop) => {
                let why = self.stopped(*stop, time);
                Observation::stopped(format!("{why} while {doing}"))
            }
            err => Observation::error(err),
        }
    }
}
