//! Measures engines on task rows (spec 3): one table, one run.

pub mod engine;
mod experiment;
pub mod record;
pub mod report;
mod run;
pub mod summary;

use std::path::{Path, PathBuf};

use codegrep_score::stats::SplitMix;
use codegrep_tree::Watch;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use experiment::Experiment;
pub use run::{Plan, RunError};
use summary::Summary;

use crate::tasks::{self, BadRow, Task, TasksError};

/// Which tasks of a file are asked: the closing third is kept apart from daily measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// All.
    All,
    /// The two thirds for choosing.
    Open,
    /// The third whose `sha256(instance_id)` begins with a hex digit divisible by 3.
    Closing,
}

impl Split {
    fn holds(self, task: &Task) -> bool {
        let closing = (Sha256::digest(&task.instance_id)[0] >> 4).is_multiple_of(3);
        match self {
            Self::All => true,
            Self::Open => !closing,
            Self::Closing => closing,
        }
    }
}

/// An evaluation.
#[derive(Clone)]
pub struct Evaluation {
    pub tasks: PathBuf,
    pub split: Split,
    /// At most so many tasks, drawn by the plan's seed.
    pub limit: Option<usize>,
    pub plan: Plan,
    pub out: PathBuf,
    /// Go on with the records already in `out`, of the same experiment, instead of refusing a used
    /// folder.
    pub resume: bool,
    /// As typed, for the report.
    pub command: String,
}

#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    #[error(transparent)]
    Tasks(#[from] TasksError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("{0}: holds an evaluation already; go on with --resume, or choose another --out")]
    Used(PathBuf),
    #[error(
        "{out}: holds another experiment ({differing}); repeat its settings, or choose another --out"
    )]
    Other { out: PathBuf, differing: String },
    #[error("no task is left of {0}; check --split and --limit")]
    NoTask(PathBuf),
    #[error("the report cannot be written: {0}")]
    Report(#[from] minijinja::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Runs it and writes `experiment.json`, `instances.jsonl`, `summary.json`, `report.md` and `report.html` to `out`.
/// Returns the summary and the rows that could not be used.
pub fn evaluate(
    evaluation: &Evaluation,
    watch: &Watch,
) -> Result<(Summary, Vec<BadRow>), EvaluateError> {
    let (mut tasks, bad) = tasks::read(&evaluation.tasks)?;
    tasks.retain(|task| evaluation.split.holds(task));
    if let Some(limit) = evaluation.limit {
        SplitMix(evaluation.plan.seed).shuffle(&mut tasks);
        tasks.truncate(limit);
    }
    if tasks.is_empty() {
        return Err(EvaluateError::NoTask(evaluation.tasks.clone()));
    }
    let out = &evaluation.out;
    fs_err::create_dir_all(out)?;
    let instances = out.join("instances.jsonl");
    let text = fs_err::read(&evaluation.tasks)?;
    Experiment::of(evaluation, &text).enter(out, evaluation.resume)?;
    let records = run::run(&tasks, &evaluation.plan, &instances, watch)?;
    let asked = tasks
        .iter()
        .map(|task| task.instance_id.as_str())
        .collect::<std::collections::HashSet<_>>();
    let records =
        records.into_iter().filter(|r| asked.contains(r.instance_id.as_str())).collect::<Vec<_>>();
    let summary = summary::summarise(&records);
    let from = report::Provenance {
        tasks_file: file_name(&evaluation.tasks),
        tasks_sha256: hex(&Sha256::digest(&text)),
        command: evaluation.command.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        bad_rows: bad.len(),
    };
    fs_err::write(out.join("summary.json"), serde_json::to_string_pretty(&summary)?)?;
    fs_err::write(out.join("report.md"), report::markdown(&summary, &from)?)?;
    fs_err::write(out.join("report.html"), report::html(&summary, &from)?)?;
    Ok((summary, bad))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
