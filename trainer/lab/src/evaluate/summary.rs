//! From records to `summary.json` (spec 3, "Files").

use std::collections::{BTreeMap, BTreeSet};

use codegrep_score::{calibration, stats};
use serde::Serialize;

use super::record::Record;

/// Seed of every bootstrap, so that the same records give the same report.
const SEED: u64 = 20_260_217;
/// Equal-mass bins of the reliability plot.
pub const BINS: usize = 5;

/// A mean with its 95 % bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mean {
    pub mean: f64,
    pub lo: f64,
    pub hi: f64,
}

impl From<stats::Interval> for Mean {
    fn from(from: stats::Interval) -> Self {
        Self { mean: from.mean, lo: from.lo, hi: from.hi }
    }
}

/// The whole of `summary.json`.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    pub tasks: usize,
    pub engines: BTreeMap<String, EngineSummary>,
    pub paired: Vec<Paired>,
}

/// One engine over all tasks, and over each part of them.
#[derive(Debug, Clone, Serialize)]
pub struct EngineSummary {
    #[serde(flatten)]
    pub all: Scores,
    /// Tasks whose statement names a gold file, and those that don't.
    pub names_gold: Scores,
    pub names_none: Scores,
    pub languages: BTreeMap<String, Scores>,
    /// Tasks asked of a wrong repository: how often the engine rightly kept still.
    pub abstention: Option<Mean>,
}

/// Scores of one engine on one set of tasks. Runs with an error or without a parsed answer
/// score 0 (CodeScout's convention); `f05…` are CodeGrep's.
#[derive(Debug, Clone, Serialize)]
pub struct Scores {
    pub tasks: usize,
    pub errors: usize,
    pub unparsed: usize,
    /// The engine's own list, before the gate.
    pub f1: Mean,
    pub f05: Mean,
    pub f05_median: f64,
    /// Share of tasks with F_0.5 ≥ 0.8.
    pub f05_high: f64,
    pub precision: Mean,
    pub recall: Mean,
    pub files: f64,
    /// Fixed-length lists.
    pub f1_top1: Mean,
    pub f05_top1: Mean,
    pub f1_top2: Mean,
    pub f05_top2: Mean,
    pub f1_top5: Mean,
    pub f05_top5: Mean,
    pub acc1: Mean,
    pub acc3: Mean,
    pub acc5: Mean,
    pub acc10: Mean,
    pub recall10: Mean,
    pub mrr: Mean,
    pub turns: f64,
    pub tool_calls: f64,
    /// Of all tool calls, the share that showed something, that was refused or failed, and that
    /// was not readable as a call.
    pub calls_with_hits: f64,
    pub bad_calls: f64,
    pub unreadable_calls: f64,
    /// Share of tasks in which a tool showed a gold file.
    pub saw_gold: f64,
    pub tokens_in: f64,
    pub tokens_out: f64,
    pub latency_ms: Latency,
    pub index_ms: Latency,
    pub gated: Gated,
    pub first_file: Calibration,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    pub p50: f64,
    pub p95: f64,
}

/// What the gate lets through.
#[derive(Debug, Clone, Serialize)]
pub struct Gated {
    /// Right files over injected files, pooled.
    pub precision: Mean,
    /// Share of tasks with an injection.
    pub coverage: Mean,
    /// `(bar, precision, coverage)` of the engine's own list, at up to 60 bars.
    pub curve: Vec<(f64, f64, f64)>,
}

/// How far the first file's probability can be trusted.
#[derive(Debug, Clone, Serialize)]
pub struct Calibration {
    pub ece: f64,
    pub brier: f64,
    pub brier_base_rate: f64,
    /// `(predicted, observed, count)` a bin.
    pub bins: Vec<(f64, f64, usize)>,
}

/// Engine `a` minus engine `b`, on the tasks both answered.
#[derive(Debug, Clone, Serialize)]
pub struct Paired {
    pub a: String,
    pub b: String,
    pub tasks: usize,
    pub f1: Mean,
    pub f05: Mean,
    pub acc1: Mean,
}

/// Summarises the records of one evaluation.
pub fn summarise(records: &[Record]) -> Summary {
    let names = records.iter().map(|record| record.engine.as_str()).collect::<BTreeSet<_>>();
    let of = |name: &str| {
        records.iter().filter(|r| r.engine == name && r.asked_of.is_none()).collect::<Vec<_>>()
    };
    let tasks = records
        .iter()
        .filter(|r| r.asked_of.is_none())
        .map(|r| &r.instance_id)
        .collect::<BTreeSet<_>>();
    let mut paired = Vec::new();
    for (at, a) in names.iter().enumerate() {
        for b in names.iter().skip(at + 1) {
            paired.push(pair((a, &of(a)), (b, &of(b))));
        }
    }
    let engines =
        names.iter().map(|name| ((*name).to_owned(), engine(&of(name), records, name))).collect();
    Summary { tasks: tasks.len(), engines, paired }
}

fn engine(own: &[&Record], records: &[Record], name: &str) -> EngineSummary {
    let part = |keep: &dyn Fn(&Record) -> bool| {
        scores(&own.iter().copied().filter(|r| keep(r)).collect::<Vec<_>>())
    };
    let wrong =
        records.iter().filter(|r| r.engine == name && r.asked_of.is_some()).collect::<Vec<_>>();
    let languages = own.iter().map(|r| r.language.clone()).collect::<BTreeSet<_>>();
    EngineSummary {
        all: scores(own),
        names_gold: part(&|r| r.names_gold),
        names_none: part(&|r| !r.names_gold),
        languages: languages.into_iter().map(|l| (l.clone(), part(&|r| r.language == l))).collect(),
        abstention: (!wrong.is_empty())
            .then(|| mean(&wrong, |r| flag(r.prediction.injected.is_empty()))),
    }
}

fn scores(records: &[&Record]) -> Scores {
    let sum = |f: &dyn Fn(&Record) -> f64| records.iter().map(|r| f(r)).sum::<f64>();
    let average = |f: &dyn Fn(&Record) -> f64| sum(f) / records.len().max(1) as f64;
    let share =
        |f: &dyn Fn(&Record) -> f64| sum(f) / sum(&|r| f64::from(r.prediction.tool_calls)).max(1.0);
    let f05 = records.iter().map(|r| r.scores().f05).collect::<Vec<_>>();
    Scores {
        tasks: records.len(),
        errors: records.iter().filter(|r| r.error.is_some()).count(),
        unparsed: records.iter().filter(|r| r.error.is_none() && !r.prediction.parsed).count(),
        f1: mean(records, |r| r.scores().f1),
        f05: mean(records, |r| r.scores().f05),
        f05_median: stats::quantile(&f05, 0.5),
        f05_high: average(&|r| flag(r.scores().f05 >= 0.8)),
        precision: mean(records, |r| r.scores().precision),
        recall: mean(records, |r| r.scores().recall),
        files: average(&|r| r.prediction.returned.len() as f64),
        f1_top1: mean(records, |r| r.scores_at(1).f1),
        f05_top1: mean(records, |r| r.scores_at(1).f05),
        f1_top2: mean(records, |r| r.scores_at(2).f1),
        f05_top2: mean(records, |r| r.scores_at(2).f05),
        f1_top5: mean(records, |r| r.scores_at(5).f1),
        f05_top5: mean(records, |r| r.scores_at(5).f05),
        acc1: mean(records, |r| flag(r.hit_at(1))),
        acc3: mean(records, |r| flag(r.hit_at(3))),
        acc5: mean(records, |r| flag(r.hit_at(5))),
        acc10: mean(records, |r| flag(r.hit_at(10))),
        recall10: mean(records, |r| r.recall_at(10)),
        mrr: mean(records, Record::reciprocal_rank),
        turns: average(&|r| f64::from(r.prediction.turns)),
        tool_calls: average(&|r| f64::from(r.prediction.tool_calls)),
        calls_with_hits: share(&|r| f64::from(r.prediction.calls_with_hits)),
        bad_calls: share(&|r| f64::from(r.prediction.bad_calls)),
        unreadable_calls: share(&|r| f64::from(r.prediction.unreadable_calls)),
        saw_gold: average(&|r| flag(r.prediction.saw.iter().any(|path| r.is_gold(path)))),
        tokens_in: average(&|r| r.prediction.tokens_in as f64),
        tokens_out: average(&|r| r.prediction.tokens_out as f64),
        latency_ms: latency(records, |r| r.prediction.query_ms),
        index_ms: latency(records, |r| r.prediction.index_ms),
        gated: gated(records),
        first_file: first_file(records),
    }
}

fn gated(records: &[&Record]) -> Gated {
    let pooled = records
        .iter()
        .map(|r| {
            let right = r.prediction.injected.iter().filter(|path| r.is_gold(path)).count();
            (right as f64, r.prediction.injected.len() as f64)
        })
        .collect::<Vec<_>>();
    let files = |r: &&Record| {
        r.prediction.returned.iter().map(|f| (f.probability, r.is_gold(&f.path))).collect()
    };
    let curve = calibration::precision_coverage(&records.iter().map(files).collect::<Vec<_>>());
    let step = curve.len().div_ceil(60).max(1);
    Gated {
        precision: stats::bootstrap_ratio(&pooled, SEED).into(),
        coverage: mean(records, |r| flag(!r.prediction.injected.is_empty())),
        curve: curve.iter().step_by(step).map(|p| (p.bar, p.precision, p.coverage)).collect(),
    }
}

fn first_file(records: &[&Record]) -> Calibration {
    let outcomes = records
        .iter()
        .filter_map(|r| {
            r.prediction.ranked.first().map(|first| (first.probability, r.is_gold(&first.path)))
        })
        .collect::<Vec<_>>();
    Calibration {
        ece: calibration::expected_calibration_error(&outcomes, BINS),
        brier: calibration::brier(&outcomes),
        brier_base_rate: calibration::brier_of_base_rate(&outcomes),
        bins: calibration::reliability(&outcomes, BINS)
            .iter()
            .map(|bin| (bin.predicted, bin.observed, bin.count))
            .collect(),
    }
}

fn pair(a: (&str, &[&Record]), b: (&str, &[&Record])) -> Paired {
    let theirs = b.1.iter().map(|r| (r.instance_id.as_str(), *r)).collect::<BTreeMap<_, _>>();
    let both =
        a.1.iter()
            .filter_map(|r| theirs.get(r.instance_id.as_str()).map(|t| (*r, *t)))
            .collect::<Vec<_>>();
    let difference = |f: &dyn Fn(&Record) -> f64| -> Mean {
        let (x, y): (Vec<f64>, Vec<f64>) = both.iter().map(|(a, b)| (f(a), f(b))).unzip();
        stats::paired_difference(&x, &y, SEED).into()
    };
    Paired {
        a: a.0.to_owned(),
        b: b.0.to_owned(),
        tasks: both.len(),
        f1: difference(&|r| r.scores().f1),
        f05: difference(&|r| r.scores().f05),
        acc1: difference(&|r| flag(r.hit_at(1))),
    }
}

fn mean(records: &[&Record], f: impl Fn(&Record) -> f64) -> Mean {
    stats::bootstrap(&records.iter().map(|r| f(r)).collect::<Vec<_>>(), SEED).into()
}

fn latency(records: &[&Record], f: impl Fn(&Record) -> f64) -> Latency {
    let values = records.iter().filter(|r| r.error.is_none()).map(|r| f(r)).collect::<Vec<_>>();
    Latency { p50: stats::quantile(&values, 0.5), p95: stats::quantile(&values, 0.95) }
}

fn flag(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::record::{Prediction, Scored};

    fn record(engine: &str, id: &str, returned: &[(&str, f64)], gold: &[&str]) -> Record {
        let files =
            returned.iter().map(|&(path, probability)| Scored { path: path.into(), probability });
        Record {
            engine: engine.into(),
            instance_id: id.into(),
            repo: "a/b".into(),
            language: "rust".into(),
            names_gold: id == "1",
            gold: gold.iter().map(|&g| g.into()).collect(),
            asked_of: None,
            prediction: Prediction {
                ranked: files.clone().collect(),
                returned: files.clone().collect(),
                injected: files.filter(|f| f.probability > 0.5).map(|f| f.path).collect(),
                parsed: true,
                ..Prediction::default()
            },
            error: None,
        }
    }

    #[test]
    fn gate_and_cut_are_told_apart() {
        let records = [
            record("x", "1", &[("a", 0.9), ("b", 0.6)], &["a"]),
            record("x", "2", &[("c", 0.2)], &["c"]),
            record("y", "1", &[("a", 0.9)], &["a"]),
            record("y", "2", &[("d", 0.9)], &["c"]),
            Record { asked_of: Some("z/z".into()), ..record("x", "1", &[("q", 0.3)], &[]) },
        ];
        let summary = summarise(&records);
        let x = &summary.engines["x"];
        assert_eq!((summary.tasks, x.all.tasks), (2, 2));
        assert_eq!(x.all.f1.mean, (2.0 / 3.0 + 1.0) / 2.0);
        assert_eq!((x.all.gated.precision.mean, x.all.gated.coverage.mean), (0.5, 0.5));
        assert_eq!((x.names_gold.tasks, x.names_none.tasks), (1, 1));
        assert_eq!(x.abstention.unwrap().mean, 1.0);
        assert_eq!(summary.paired[0].tasks, 2);
        assert_eq!(summary.paired[0].acc1.mean, 0.5);
    }
}
