//! The training report: where weights come from and what they reach.

use std::collections::BTreeMap;
use std::fmt::Write;

use codegrep_rank::{Features, Forest, Linear};
use serde::Serialize;

use super::{Figures, Gathered, Recipe};

/// What a fit was made of and what it reached; `report.json`.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Given, with 1 to 6 gold files, and of those with one among the candidates.
    pub tasks: usize,
    pub usable: usize,
    pub found: usize,
    /// Tasks of each.
    pub repositories: BTreeMap<String, usize>,
    pub languages: BTreeMap<String, usize>,
    pub folds: usize,
    /// Whether folds keep repositories together; runs of neighbours otherwise.
    pub by_repository: bool,
    pub recipe: BTreeMap<&'static str, String>,
    /// Each task judged by what the other folds taught.
    pub out_of_fold: Figures,
    /// Tasks that only the bar was set on.
    pub bar_tasks: Option<Figures>,
    /// What the weights in use until now reach on the same tasks. They may have been fitted on
    /// some of them.
    pub before: Figures,
    pub bar: f64,
    /// By feature: weight of the first and of the second model, and the standard deviation of
    /// the feature times the latter: how much it moves a score.
    pub weights: Vec<(&'static str, f32, f32, f64)>,
    /// How often trees split on each feature.
    pub forest: Vec<(String, usize)>,
    /// What is lost without each group of features, most first.
    pub ablation: Vec<Ablation>,
    pub milliseconds: u64,
}

/// The linear model without a group of features, minus the linear model with all of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ablation {
    pub group: String,
    pub f1: f64,
    pub acc1: f64,
    pub precision_at_60: f64,
}

impl Report {
    /// A sentence or two, for the weights file.
    pub(super) fn provenance(&self) -> String {
        let figures = &self.out_of_fold;
        format!(
            "codegrep-train lexical {}: {} tasks of {} repositories in {} languages, with a file of \
             the fix among the candidates in {}; {}. Judged by models that had not seen their {} \
             ({} folds): F1 {:.3}, acc@1 {:.3}, acc@5 {:.3}, ECE {:.3}; precision {:.3} where 60 % \
             of the tasks get an answer.",
            env!("CARGO_PKG_VERSION"),
            self.usable,
            self.repositories.len(),
            self.languages.len(),
            self.found,
            self.recipe.iter().map(|(k, v)| format!("{k} {v}")).collect::<Vec<_>>().join(", "),
            if self.by_repository { "repository" } else { "part of the history" },
            self.folds,
            figures.f1,
            figures.acc1,
            figures.acc5,
            figures.ece,
            figures.precision_at_60,
        )
    }
}

pub(super) fn recipe(recipe: &Recipe) -> BTreeMap<&'static str, String> {
    let from = if recipe.start_from.is_some() { "the weights in use" } else { "nothing" };
    let trees = match (&recipe.start_from, recipe.forests) {
        (Some(_), _) => "kept".to_owned(),
        (None, 0) => "none".to_owned(),
        (None, forests) => {
            let growth = recipe.growth;
            format!(
                "{forests} × {} of {} leaves at rate {}",
                growth.trees, growth.leaves, growth.rate
            )
        }
    };
    BTreeMap::from([
        ("from", from.to_owned()),
        ("L2", recipe.l2.to_string()),
        ("seed", recipe.seed.to_string()),
        ("trees", trees),
    ])
}

pub(super) fn weights(
    tasks: &[&Gathered],
    first: &Linear,
    second: &Linear,
) -> Vec<(&'static str, f32, f32, f64)> {
    let rows = || tasks.iter().flat_map(|task| &task.candidates);
    let count = rows().count().max(1) as f64;
    let mut table: Vec<_> = Features::NAMES
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let mean = rows().map(|row| f64::from(row.values[at])).sum::<f64>() / count;
            let square = rows().map(|row| (f64::from(row.values[at]) - mean).powi(2)).sum::<f64>();
            let weight = second.weights()[at];
            (*name, first.weights()[at], weight, f64::from(weight) * (square / count).sqrt())
        })
        .collect();
    table.sort_by(|a, b| b.3.abs().total_cmp(&a.3.abs()));
    table
}

pub(super) fn forest(forest: &Forest) -> Vec<(String, usize)> {
    forest.uses().into_iter().map(|(name, uses)| (name.to_owned(), uses)).collect()
}

/// `report.md`.
pub fn markdown(report: &Report) -> String {
    let mut text = String::new();
    write(&mut text, report).unwrap_or_else(|_| unreachable!("a string takes any text"));
    text
}

fn write(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "# Weights of the lexical engine\n\n{}\n", report.provenance())?;
    writeln!(
        out,
        "Bar of the gate: {:.2}. Took {:.1} s.\n",
        report.bar,
        report.milliseconds as f64 / 1e3
    )?;

    writeln!(
        out,
        "| | tasks | F1 | F_0.5 | acc@1 | acc@3 | acc@5 | acc@10 | recall@10 | in pool | ECE | Brier (base rate) | gated | at 60 % |"
    )?;
    writeln!(out, "|---|{}", "--:|".repeat(13))?;
    let name = if report.by_repository { "other repositories" } else { "rest of the history" };
    row(out, &format!("judged by the {name}"), &report.out_of_fold)?;
    if let Some(figures) = &report.bar_tasks {
        row(out, "tasks of the bar", figures)?;
    }
    row(out, "weights until now", &report.before)?;
    writeln!(out, "\nThe weights until now may have been fitted on some of these tasks.\n")?;

    writeln!(
        out,
        "## Can probabilities be trusted?\n\nThe first file, out of fold, in bins of equal mass.\n"
    )?;
    writeln!(out, "| predicted | observed | tasks |\n|--:|--:|--:|")?;
    for (predicted, observed, count) in &report.out_of_fold.reliability {
        writeln!(out, "| {predicted:.3} | {observed:.3} | {count} |")?;
    }

    if !report.ablation.is_empty() {
        writeln!(
            out,
            "\n## What carries how much\n\nThe linear model fitted again without a group of features, out of fold, minus the one with all.\n"
        )?;
        writeln!(out, "| without | F1 | acc@1 | precision at 60 % |\n|---|--:|--:|--:|")?;
        for row in &report.ablation {
            let Ablation { group, f1, acc1, precision_at_60 } = row;
            writeln!(out, "| {group} | {f1:+.4} | {acc1:+.4} | {precision_at_60:+.4} |")?;
        }
    }

    writeln!(
        out,
        "\n## Weights\n\n*Moves* is the second weight times the feature's standard deviation.\n"
    )?;
    let splits: BTreeMap<&str, usize> =
        report.forest.iter().map(|(name, uses)| (name.as_str(), *uses)).collect();
    writeln!(out, "| feature | first | second | moves | splits |\n|---|--:|--:|--:|--:|")?;
    for (name, first, second, moves) in &report.weights {
        let splits = splits.get(name).copied().unwrap_or(0);
        writeln!(out, "| {name} | {first:.3} | {second:.3} | {moves:+.3} | {splits} |")?;
    }
    for (name, uses) in report.forest.iter().filter(|(name, _)| name.contains('.')) {
        writeln!(out, "| {name} | | | | {uses} |")?;
    }

    for (title, counts) in
        [("Languages", &report.languages), ("Repositories", &report.repositories)]
    {
        writeln!(out, "\n## {title}\n\n| | tasks |\n|---|--:|")?;
        for (name, count) in counts {
            writeln!(out, "| {name} | {count} |")?;
        }
    }
    Ok(())
}

fn row(out: &mut String, name: &str, f: &Figures) -> std::fmt::Result {
    writeln!(
        out,
        "| {name} | {} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} ({:.3}) | {:.3} at {:.3} | {:.3} |",
        f.tasks,
        f.f1,
        f.f05,
        f.acc1,
        f.acc3,
        f.acc5,
        f.acc10,
        f.recall10,
        f.pool,
        f.ece,
        f.brier,
        f.brier_base_rate,
        f.precision,
        f.coverage,
        f.precision_at_60,
    )
}
