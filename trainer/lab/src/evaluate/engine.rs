//! The engines that can be measured, behind one small trait.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codegrep_agent::tools::Pool;
use codegrep_agent::{Context, Engines, Episode, Model, Request, Rules, StopReason, answer};
use codegrep_index::Store;
use codegrep_rank::{Candidate, Ranker, Weights, gate};
use codegrep_tree::{Tree, Watch};

use super::record::{Prediction, Scored};
use crate::bm25::Bm25;
use crate::tasks::Task;

/// Answers tasks of one repository; keeps what its commits share between them.
pub trait Engine: Send + Sync {
    /// `Err` says why there is no prediction, for the record.
    fn predict(
        &self,
        task: &Task,
        tree: Arc<dyn Tree>,
        watch: &Watch,
    ) -> Result<Prediction, String>;
}

/// An engine by its name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EngineKind {
    /// The paper's baseline, top 2.
    Bm25,
    /// The sidecar without a model.
    Lexical,
    /// The agent loop on its own: it is not shown the lexical candidates.
    Agent,
    /// The agent loop seeded with the lexical candidates.
    Hybrid,
}

impl EngineKind {
    pub const NAMES: &[(&str, EngineKind)] = &[
        ("bm25", EngineKind::Bm25),
        ("lexical", EngineKind::Lexical),
        ("agent", EngineKind::Agent),
        ("hybrid", EngineKind::Hybrid),
    ];

    /// Reads a comma-separated list; the error names what exists.
    pub fn parse_list(text: &str) -> Result<Vec<EngineKind>, String> {
        let mut kinds = Vec::new();
        for name in text.split(',').map(str::trim) {
            match Self::NAMES.iter().find(|known| known.0 == name) {
                Some(&(_, kind)) if !kinds.contains(&kind) => kinds.push(kind),
                Some(_) => {}
                None => {
                    let known =
                        Self::NAMES.iter().map(|known| known.0).collect::<Vec<_>>().join(", ");
                    return Err(format!("unknown engine {name:?}; there are {known}"));
                }
            }
        }
        Ok(kinds)
    }

    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|known| known.1 == self).map_or("", |known| known.0)
    }

    pub fn needs_model(self) -> bool {
        matches!(self, Self::Agent | Self::Hybrid)
    }

    /// A fresh engine for one repository; `model` is asked by those that need one.
    pub fn open(self, model: Option<&Arc<dyn Model>>, weights: &Weights) -> Box<dyn Engine> {
        let context = if self == Self::Agent { Context::None } else { Context::Candidates };
        match self {
            Self::Bm25 => Box::new(Bm25::default()),
            Self::Lexical => Box::new(Sidecar::new(None, context, weights)),
            Self::Agent | Self::Hybrid => Box::new(Sidecar::new(model.cloned(), context, weights)),
        }
    }
}

impl Engine for Bm25 {
    fn predict(
        &self,
        task: &Task,
        tree: Arc<dyn Tree>,
        watch: &Watch,
    ) -> Result<Prediction, String> {
        /// The paper's K (Appendix E).
        const K: usize = 2;
        let start = Instant::now();
        let paths = self
            .rank(&task.problem_statement, &task.language, &*tree, watch)
            .map_err(|error| error.to_string())?;
        let ranked = paths
            .iter()
            .take(Prediction::RANKED)
            .map(|path| Scored { path: path.to_string(), probability: 0.0 })
            .collect::<Vec<_>>();
        let returned = ranked.iter().take(K).cloned().collect::<Vec<_>>();
        Ok(Prediction {
            injected: returned.iter().map(|file| file.path.clone()).collect(),
            returned,
            ranked,
            query_ms: milliseconds(start.elapsed()),
            stop: "answered".into(),
            parsed: true,
            ..Prediction::default()
        })
    }
}

/// What the sidecar answers, its index kept from commit to commit.
struct Sidecar {
    ranker: Ranker,
    pool: Pool,
    rules: Rules,
    model: Option<Arc<dyn Model>>,
}

impl Sidecar {
    fn new(model: Option<Arc<dyn Model>>, context: Context, weights: &Weights) -> Self {
        let rules = Rules { context, ..Rules::default() };
        // Measured with the whole history, as a process that runs for a while has it.
        let ranker = Ranker::new(Store::default().patient(), weights.clone());
        Self { ranker, pool: Pool::default(), rules, model }
    }
}

impl Engine for Sidecar {
    fn predict(
        &self,
        task: &Task,
        tree: Arc<dyn Tree>,
        watch: &Watch,
    ) -> Result<Prediction, String> {
        /// The most files an answer holds (spec 6, `maxFiles`).
        const MAX_FILES: usize = 3;
        // Ungated, so that the engine's own list is seen; the gate is applied to it below.
        let request =
            Request { text: task.problem_statement.clone(), max_files: MAX_FILES, gate: false };
        let engines =
            Engines { ranker: &self.ranker, model: self.model.as_deref(), pool: &self.pool };
        let outcome = answer(&request, &*tree, engines, &self.rules, watch)
            .map_err(|error| error.to_string())?;
        let (injected, _) = gate(&outcome.files, self.ranker.default_bar());
        let scored = |file: &Candidate| Scored {
            path: file.path.to_string(),
            probability: file.probability,
        };
        let took = &outcome.took;
        let prediction = Prediction {
            ranked: outcome.ranked.iter().take(Prediction::RANKED).map(scored).collect(),
            returned: outcome.files.iter().map(scored).collect(),
            injected: injected.iter().map(|file| file.path.to_string()).collect(),
            query_ms: milliseconds(took.total.saturating_sub(took.index)),
            index_ms: milliseconds(took.index),
            stop: serde_json::to_value(outcome.stop)
                .ok()
                .and_then(|stop| stop.as_str().map(str::to_owned))
                .unwrap_or_default(),
            parsed: matches!(outcome.stop, StopReason::Answered | StopReason::NoModel),
            ..Prediction::default()
        };
        Ok(outcome.episode.map_or(prediction.clone(), |episode| with_run(prediction, &episode)))
    }
}

/// Adds what the agent's run cost and saw.
fn with_run(prediction: Prediction, episode: &Episode) -> Prediction {
    let calls = episode.turns().flat_map(|turn| &turn.calls).collect::<Vec<_>>();
    let (tokens_in, tokens_out) = episode.tokens();
    Prediction {
        turns: episode.turns().count() as u32,
        tool_calls: calls.len() as u32,
        calls_with_hits: calls.iter().filter(|call| call.hits > 0).count() as u32,
        bad_calls: calls.iter().filter(|call| call.error).count() as u32,
        unreadable_calls: calls.iter().filter(|call| call.name.is_empty()).count() as u32,
        saw: calls
            .iter()
            .flat_map(|call| call.seen.iter().cloned())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
        tokens_in: tokens_in.into(),
        tokens_out: tokens_out.into(),
        ..prediction
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
