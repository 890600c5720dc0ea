//! What makes two runs one experiment.

use std::io::ErrorKind;
use std::path::Path;

use codegrep_agent::{ModelInfo, Rules};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{EvaluateError, Evaluation, Split, hex};

/// All that an answer depends on but the engine, which is part of each record. Lies beside the
/// records as `experiment.json`; records of two experiments are never put into one summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Experiment {
    version: String,
    tasks_sha256: String,
    split: Split,
    limit: Option<usize>,
    /// Tasks also asked of a wrong repository.
    wrong: usize,
    seed: u64,
    budget_ms: Option<u64>,
    model: Option<ModelInfo>,
    /// What the model is told by default.
    rules: String,
    /// The ranker's, of all its numbers.
    weights_sha256: String,
}

impl Experiment {
    pub(super) fn of(evaluation: &Evaluation, tasks: &[u8]) -> Self {
        let plan = &evaluation.plan;
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tasks_sha256: hex(&Sha256::digest(tasks)),
            split: evaluation.split,
            limit: evaluation.limit,
            wrong: plan.wrong,
            seed: plan.seed,
            budget_ms: plan.budget.map(|budget| budget.as_millis() as u64),
            model: plan.model.as_ref().map(|model| model.info()),
            rules: Rules::default().hash(),
            weights_sha256: hex(&Sha256::digest(format!("{:?}", plan.weights))),
        }
    }

    /// Begins the experiment in the folder `out`, or makes sure that the one there is the same.
    pub(super) fn enter(&self, out: &Path, resume: bool) -> Result<(), EvaluateError> {
        let file = out.join("experiment.json");
        let there = match fs_err::read(&file) {
            Ok(text) => Some(serde_json::from_slice::<Value>(&text)?),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let has_records = out.join("instances.jsonl").exists();
        if has_records && !resume {
            return Err(EvaluateError::Used(out.to_owned()));
        }
        let ours = serde_json::to_value(self)?;
        match there {
            Some(theirs) if has_records => match differences(&theirs, &ours) {
                differing if differing.is_empty() => Ok(()),
                differing => Err(EvaluateError::Other { out: out.to_owned(), differing }),
            },
            None if has_records => Err(EvaluateError::Other {
                out: out.to_owned(),
                differing: "it does not say how its records were made".to_owned(),
            }),
            _ => Ok(fs_err::write(&file, serde_json::to_string_pretty(&ours)?)?),
        }
    }
}

/// Such as `seed was 1 and is 2`, comma-separated.
fn differences(theirs: &Value, ours: &Value) -> String {
    let fields = ours.as_object().into_iter().flatten();
    fields
        .filter(|(name, value)| theirs.get(name) != Some(value))
        .map(|(name, value)| format!("{name} was {} and is {value}", theirs[name]))
        .collect::<Vec<_>>()
        .join(", ")
}
