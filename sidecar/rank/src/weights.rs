use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::calibration::Calibration;
use crate::features::Features;
use crate::forest::Forest;

/// The weights that ship, with where they come from.
const BUILT_IN: &str = include_str!("weights.json");
/// A larger file is no weights file.
const MOST_BYTES: u64 = 16 << 20;

/// Features that only reading the candidates and comparing them with each other fills: the first
/// model has no use for them.
pub const SECOND_ONLY: &[&str] = &[
    "chunk_all",
    "chunk_second",
    "chunk_title",
    "chunk_code",
    "unit_all",
    "unit_title",
    "unit_code",
    "imported_by",
    "imports",
    "siblings",
    "cochange",
    "phrases",
];

/// What the linear model says of a file, as trees may use it: its score, the lead over the best
/// other file, the rank from 0, and the logarithm of the softmax over the files compared.
const STANDING: [&str; 4] = ["second.score", "second.lead", "second.rank", "second.share"];

/// What the ranker was taught: two linear models over [`Features`], boosted trees on top of the
/// second, calibration and bar. Written and read as JSON; `docs/training-lexical.md` has the form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Of the file's form; 2, or 1 for one without trees.
    pub version: u32,
    /// What it was fitted on, how, and what it reached.
    pub provenance: String,
    /// Default bar of the gate.
    pub bar: f64,
    /// Picks the files worth reading, from what the index alone tells.
    pub first: Linear,
    /// Weighs those, with all features.
    pub second: Linear,
    /// Sees the same features, and how the second model ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forest: Option<Forest>,
    pub calibration: Calibration,
}

/// A weighted sum of features.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, f32>", into = "BTreeMap<String, f32>")]
pub struct Linear(Vec<f32>);

/// One of the files compared, as the linear model and the forest see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    pub score: f64,
    /// Over the best other file; 0 where there is no other.
    pub lead: f64,
    /// Logarithm of its part of the softmax over the files compared.
    pub share: f64,
    /// A value for each of [`columns`].
    pub row: Vec<f32>,
}

/// What is thought of one of the files compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Log-odds; orders the files of a request.
    pub score: f64,
    pub probability: f64,
}

/// Why a weights file is refused.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    #[error("{path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("not a weights file: {0}")]
    Form(#[from] serde_json::Error),
    #[error("weights of version {0}; this program reads versions 1 and 2")]
    Version(u64),
    #[error("weights that are not sound: {0}")]
    Unsound(String),
}

/// The names of what trees see: the features, and the standing.
pub fn columns() -> impl Iterator<Item = &'static str> {
    Features::NAMES.iter().copied().chain(STANDING)
}

impl Weights {
    /// The form that is written.
    pub const VERSION: u32 = 2;

    /// The weights compiled in.
    pub fn built_in() -> Self {
        Self::parse(BUILT_IN).unwrap_or_else(|error| unreachable!("weights.json: {error}"))
    }

    /// Reads a weights file, which may be anybody's.
    pub fn read(path: &Path) -> Result<Self, WeightsError> {
        let refused = |source| WeightsError::Read { path: path.to_owned(), source };
        let metadata = std::fs::metadata(path).map_err(refused)?;
        if !metadata.is_file() || metadata.len() > MOST_BYTES {
            let why = "not a file of at most 16 MiB";
            return Err(refused(std::io::Error::other(why)));
        }
        Self::parse(&std::fs::read_to_string(path).map_err(refused)?)
    }

    /// Reads the text of a weights file.
    pub fn parse(json: &str) -> Result<Self, WeightsError> {
        // The version first: later ones may have fields that this one would stumble over.
        #[derive(Deserialize)]
        struct Version {
            version: u64,
        }
        let Version { version } = serde_json::from_str(json)?;
        if !(1..=u64::from(Self::VERSION)).contains(&version) {
            return Err(WeightsError::Version(version));
        }
        let weights: Self = serde_json::from_str(json)?;
        if !(0.0..=1.0).contains(&weights.bar) {
            return Err(WeightsError::Unsound("the bar is not from 0 to 1".to_owned()));
        }
        weights.calibration.check().map_err(WeightsError::Unsound)?;
        Ok(weights)
    }

    /// The text of a weights file, a line for each part.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let serde_json::Value::Object(parts) = serde_json::to_value(self)? else {
            unreachable!("a struct is an object")
        };
        let lines: Vec<String> =
            parts.iter().map(|(name, part)| format!("  \"{name}\": {part}")).collect();
        Ok(format!("{{\n{}\n}}\n", lines.join(",\n")))
    }

    /// Judges the files that are compared closely, all of one request; each row holds
    /// [`Features::values`].
    pub fn judge<R: AsRef<[f32]>>(&self, files: &[R]) -> Vec<Judged> {
        let judged = |file: Standing| {
            let trees = self.forest.as_ref().map_or(0.0, |f| f64::from(f.predict(&file.row)));
            let score = self.calibration.log_odds(&file, trees);
            Judged { score, probability: self.calibration.probability(score) }
        };
        self.second.standings(files).into_iter().map(judged).collect()
    }
}

impl Linear {
    /// Weights in order of [`Features::NAMES`].
    pub fn new(mut weights: Vec<f32>) -> Self {
        weights.resize(Features::NAMES.len(), 0.0);
        Self(weights)
    }

    /// In order of [`Features::NAMES`].
    pub fn weights(&self) -> &[f32] {
        &self.0
    }

    /// Of one file, from [`Features::values`].
    pub fn score(&self, values: &[f32]) -> f64 {
        self.0
            .iter()
            .zip(values)
            .map(|(weight, value)| f64::from(*weight) * f64::from(*value))
            .sum()
    }

    /// How all the files of one request stand to each other.
    pub fn standings<R: AsRef<[f32]>>(&self, files: &[R]) -> Vec<Standing> {
        let scores: Vec<f64> = files.iter().map(|file| self.score(file.as_ref())).collect();
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        let best = order.first().map_or(0.0, |at| scores[*at]);
        let second = order.get(1).map_or(best, |at| scores[*at]);
        let sum = scores.iter().map(|score| (score - best).exp()).sum::<f64>().ln();
        let mut standings = vec![];
        for (at, file) in files.iter().enumerate() {
            let score = scores[at];
            let lead = score - if order[0] == at { second } else { best };
            let share = score - best - sum;
            let row = [score, lead, 0.0, share].map(|x| x as f32);
            let row = file.as_ref().iter().copied().chain(row).collect();
            standings.push(Standing { score, lead, share, row });
        }
        for (rank, at) in order.into_iter().enumerate() {
            standings[at].row[Features::NAMES.len() + 2] = rank as f32;
        }
        standings
    }
}

impl TryFrom<BTreeMap<String, f32>> for Linear {
    type Error = String;

    fn try_from(named: BTreeMap<String, f32>) -> Result<Self, String> {
        let mut weights = vec![0.0; Features::NAMES.len()];
        for (name, weight) in named {
            let at = Features::NAMES.iter().position(|known| *known == name);
            let at = at.ok_or_else(|| format!("{name:?} is no feature of this version"))?;
            if !weight.is_finite() {
                return Err(format!("the weight of {name:?} is not a finite number"));
            }
            weights[at] = weight;
        }
        Ok(Self(weights))
    }
}

impl From<Linear> for BTreeMap<String, f32> {
    fn from(linear: Linear) -> Self {
        let named = Features::NAMES.iter().zip(linear.0);
        named.filter(|(_, w)| *w != 0.0).map(|(name, w)| ((*name).to_owned(), w)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::Tree;

    #[test]
    fn the_weights_that_ship_are_read() {
        let weights = Weights::built_in();
        assert!(!weights.provenance.is_empty());
        assert!(BUILT_IN.len() < 300_000, "the file is compiled in");
        let better = Features { content_title: 1.0, chunk_all: 1.0, ..Features::default() };
        let judged = weights.judge(&[better.values(), Features::default().values()]);
        assert!(judged[0].score > judged[1].score, "a better file must be likelier");
        assert!(judged[0].probability > judged[1].probability);
    }

    #[test]
    fn every_feature_of_the_second_model_alone_exists() {
        for name in SECOND_ONLY {
            assert!(Features::NAMES.contains(name), "{name}");
        }
        for name in SECOND_ONLY {
            let at = Features::NAMES.iter().position(|known| known == name).unwrap();
            assert_eq!(Weights::built_in().first.weights()[at], 0.0, "{name} picks no candidates");
        }
    }

    #[test]
    fn standings_by_hand() {
        let mut weights = vec![0.0; Features::NAMES.len()];
        weights[0] = 2.0;
        let second = Linear::new(weights);
        let file = |value| Features { content_all: value, ..Features::default() }.values();
        let standings = second.standings(&[file(0.5), file(1.5), file(1.0)]);
        let seen: Vec<_> = standings
            .iter()
            .map(|s| (s.score, s.lead, s.row[s.row.len() - 2], s.row[s.row.len() - 1]))
            .collect();
        // ln(e^1 + e^3 + e^2) = 3.40760596…
        let share = |score: f64| (score - 3.407_605_964_444_38) as f32;
        assert_eq!(
            seen,
            [
                (1.0, -2.0, 2.0, share(1.0)),
                (3.0, 1.0, 0.0, share(3.0)),
                (2.0, -1.0, 1.0, share(2.0))
            ]
        );
        assert_eq!(second.standings(&[file(1.0)])[0].lead, 0.0, "alone, it leads nobody");
        let none: [Vec<f32>; 0] = [];
        assert!(second.standings(&none).is_empty());
    }

    #[test]
    fn trees_take_part_as_calibrated_and_survive_writing() {
        let tree =
            Tree { feature: vec![0, 0, 0], threshold: vec![0.5, -1.0, 1.0], left: vec![1, 0, 0] };
        let weights = Weights {
            version: Weights::VERSION,
            second: Linear::default(),
            forest: Some(Forest::new(0.0, vec![tree]).unwrap()),
            calibration: Calibration { bias: -1.0, forest: 3.0, ..Calibration::default() },
            ..Weights::built_in()
        };
        let file = |value| Features { content_all: value, ..Features::default() }.values();
        let judged = weights.judge(&[file(0.0), file(1.0)]);
        assert_eq!(judged.iter().map(|j| j.score).collect::<Vec<_>>(), [-4.0, 2.0]);
        let json = weights.to_json().unwrap();
        assert_eq!(json.lines().count(), 9, "{json}");
        let read = Weights::parse(&json).unwrap();
        assert_eq!(read.judge(&[file(0.0), file(1.0)]), judged);
    }

    #[test]
    fn what_is_no_weights_file_is_refused_by_name() {
        let with = |old: &str, new: &str| {
            let sound = r#"{"version":2,"provenance":"","bar":0.5,"first":{},"second":{},"calibration":{"bias":0,"score":1,"lead":0}}"#;
            assert!(Weights::parse(sound).is_ok() && sound.contains(old));
            Weights::parse(&sound.replace(old, new)).unwrap_err().to_string()
        };
        for (old, new, want) in [
            ("{", "", "not a weights file"),
            ("\"first\":{", "\"first\":{\"nonsense\":1", "\"nonsense\" is no feature"),
            ("\"first\":{", "\"first\":{\"length\":1e300", "not a finite number"),
            ("\"version\":2", "\"version\":3,\"later\":1", "version 3"),
            ("0.5", "1.5", "the bar is not from 0 to 1"),
            ("\"lead\":0", "\"lead\":0,\"knots\":[[0,0.5],[0,0.4]]", "knots rise"),
            (
                "\"first\"",
                r#""forest":{"features":["nonsense"],"base":0,"trees":[]},"first""#,
                "\"nonsense\" is no feature",
            ),
        ] {
            let error = with(old, new);
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("weights.json");
        for path in [dir.path(), &missing] {
            let error = Weights::read(path).unwrap_err().to_string();
            assert!(error.starts_with(&path.display().to_string()), "{error}");
        }
    }
}
