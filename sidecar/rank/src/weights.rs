use std::collections::BTreeMap;

use serde::Deserialize;

use crate::features::Features;

/// The weights that ship, with where they come from.
const BUILT_IN: &str = include_str!("weights.json");

/// What the ranker was taught: two linear models over [`Features`], their calibration and the
/// bar. Read from JSON; see `weights.json` for the form.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Of the file's form; 1.
    pub version: u32,
    /// What it was fitted on, how, and what it reached.
    pub provenance: String,
    /// Default bar of the gate.
    pub bar: f64,
    /// Picks the files worth reading, from what the index alone tells.
    pub(crate) first: Linear,
    /// Orders those, with all features.
    pub(crate) second: Linear,
    pub(crate) calibration: Calibration,
}

/// A weighted sum of features.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "BTreeMap<String, f32>")]
pub(crate) struct Linear(Vec<f32>);

/// Platt scaling over a file's score and its lead over the best other file of the request.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Calibration {
    pub bias: f64,
    pub score: f64,
    pub lead: f64,
}

/// Why a weights file is refused.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    #[error("not a weights file: {0}")]
    Form(#[from] serde_json::Error),
    #[error("weights of version {0}; this program reads version 1")]
    Version(u32),
}

impl Weights {
    /// The weights compiled in.
    pub fn built_in() -> Self {
        Self::parse(BUILT_IN).unwrap_or_else(|error| unreachable!("weights.json: {error}"))
    }

    /// Reads a weights file.
    pub fn parse(json: &str) -> Result<Self, WeightsError> {
        let weights: Self = serde_json::from_str(json)?;
        if weights.version != 1 {
            return Err(WeightsError::Version(weights.version));
        }
        Ok(weights)
    }
}

impl Linear {
    pub fn score(&self, features: &Features) -> f64 {
        let values = features.values();
        self.0.iter().zip(values).map(|(weight, value)| f64::from(*weight) * f64::from(value)).sum()
    }
}

impl TryFrom<BTreeMap<String, f32>> for Linear {
    type Error = String;

    fn try_from(named: BTreeMap<String, f32>) -> Result<Self, String> {
        let mut weights = vec![0.0; Features::NAMES.len()];
        for (name, weight) in named {
            let at = Features::NAMES.iter().position(|known| *known == name);
            let at = at.ok_or_else(|| format!("{name:?} is no feature of this version"))?;
            weights[at] = weight;
        }
        Ok(Self(weights))
    }
}

impl Calibration {
    pub fn probability(&self, score: f64, lead: f64) -> f64 {
        1.0 / (1.0 + (-(self.bias + self.score * score + self.lead * lead)).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_that_ship_are_read() {
        let weights = Weights::built_in();
        assert!(!weights.provenance.is_empty());
        assert!((0.0..=1.0).contains(&weights.bar));
        assert!(weights.calibration.score > 0.0, "a better score must be likelier");
        let better = Features { content_title: 1.0, chunk_all: 1.0, ..Features::default() };
        assert!(weights.second.score(&better) > weights.second.score(&Features::default()));
    }

    #[test]
    fn what_is_no_weights_file_is_refused_by_name() {
        for (json, want) in [
            ("{", "not a weights file"),
            (
                r#"{"version":1,"provenance":"","bar":0.5,"first":{"nonsense":1},"second":{},"calibration":{"bias":0,"score":1,"lead":0}}"#,
                "nonsense",
            ),
            (
                r#"{"version":2,"provenance":"","bar":0.5,"first":{},"second":{},"calibration":{"bias":0,"score":1,"lead":0}}"#,
                "version 2",
            ),
        ] {
            let error = Weights::parse(json).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }
}
