use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use codegrep_lab::fit::{self, FitError, Gathered, MOST_GOLD, Recipe};
use codegrep_lab::mine::mine;
use codegrep_lab::tasks::{self, GitTemplate, Task};
use codegrep_lab::{Watch, Weights, jsonl};

#[derive(clap::Args)]
pub struct Args {
    /// Task rows to learn from, one JSON object a line
    #[arg(long, value_name = "FILE.jsonl", num_args = 1.., requires = "git", required_unless_present = "repo")]
    tasks: Vec<PathBuf>,
    /// Where the tasks' repositories lie, bare or not, such as repos/{owner}+{name}/repo
    #[arg(long, value_name = "TEMPLATE")]
    git: Option<String>,
    /// Learn from the history of this repository instead, staying near the weights in use
    #[arg(long, value_name = "DIR", conflicts_with = "tasks")]
    repo: Option<PathBuf>,
    /// At most so many commits of it
    #[arg(long, value_name = "N", default_value_t = 400)]
    commits: usize,
    /// Stay near these weights instead of near 0; with --repo, the built-in ones
    #[arg(long, value_name = "FILE.json")]
    start_from: Option<PathBuf>,
    /// Task rows that only the bar of the gate is set on
    #[arg(long, value_name = "FILE.jsonl", requires = "git", conflicts_with = "repo")]
    bar_tasks: Option<PathBuf>,
    /// Folder for features.jsonl, weights.json, report.json and report.md
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Parts that judge each other; a repository's tasks stay together
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(2..=50))]
    folds: u8,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Penalty on standardised weights
    #[arg(long, value_name = "X", default_value_t = 100.0)]
    l2: f64,
    /// Forests to grow and average; 0 for a linear model alone
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=10))]
    forests: u8,
    /// Share of injected files that shall be right; sets the bar
    #[arg(long, value_name = "P", default_value_t = 0.8)]
    precision: f64,
    /// Repositories read at once
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Do not measure what each group of signals carries
    #[arg(long)]
    no_ablation: bool,
    /// Go on where a stopped run left off, with the features already gathered
    #[arg(long)]
    resume: bool,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let watch = Watch::idle();
    if !(0.0..=1.0).contains(&args.precision) || !args.l2.is_finite() || args.l2 <= 0.0 {
        bail!("--precision must be 0 to 1, and --l2 above 0");
    }
    let out = &args.out;
    let features = out.join("features.jsonl");
    if features.exists() && !args.resume {
        bail!(
            "{}: holds a fit already\nhint: go on with --resume, or choose another --out",
            out.display()
        );
    }
    fs_err::create_dir_all(out)?;

    let start_from = match (&args.start_from, &args.repo) {
        (Some(file), _) => Some(Weights::read(file)?),
        (None, Some(_)) => Some(Weights::built_in()),
        (None, None) => None,
    };
    let template = args.git.as_deref().map(GitTemplate::new).transpose()?;
    let place = |task: &Task| match (&args.repo, &template) {
        (Some(repo), _) => repo.clone(),
        (None, Some(template)) => template.path(task.git()),
        (None, None) => PathBuf::new(),
    };
    let gather = |rows: &[Task], file: &Path| -> Result<Vec<Gathered>, FitError> {
        let (gathered, failed) = fit::gather(rows, place, file, args.jobs.into(), &watch)?;
        warn("could not be read", &failed);
        Ok(gathered)
    };
    let mut rows = vec![];
    if let Some(repo) = &args.repo {
        rows = mine(repo, args.commits, &watch)?;
        jsonl::rewrite(&out.join("tasks.jsonl"), &rows)?;
        eprintln!("{} commits to learn from", rows.len());
    }
    for file in &args.tasks {
        rows.extend(read(file)?);
    }
    rows.retain(|task| (1..=MOST_GOLD).contains(&task.gold_files.len()));
    let gathered = gather(&rows, &features)?;
    let bar_tasks = match &args.bar_tasks {
        Some(file) => gather(&read(file)?, &out.join("bar-features.jsonl"))?,
        None => vec![],
    };

    let recipe = Recipe {
        folds: args.folds.into(),
        seed: args.seed,
        l2: args.l2,
        forests: args.forests.into(),
        precision: args.precision,
        ablation: !args.no_ablation,
        start_from,
        ..Recipe::default()
    };
    let (weights, report) = fit::fit(&gathered, &bar_tasks, &recipe, &watch)?;
    fs_err::write(out.join("weights.json"), weights.to_json()?)?;
    fs_err::write(out.join("report.json"), serde_json::to_string_pretty(&report)?)?;
    fs_err::write(out.join("report.md"), fit::markdown(&report))?;
    for (name, figures) in [
        ("now", Some(&report.out_of_fold)),
        ("before", Some(&report.before)),
        ("bar tasks", report.bar_tasks.as_ref()),
    ] {
        let Some(f) = figures else { continue };
        eprintln!(
            "{name:>10}  tasks {}  f1 {:.3}  acc@1 {:.3}  acc@5 {:.3}  ECE {:.3}  gated {:.3} at {:.3}  at 60 % {:.3}",
            f.tasks, f.f1, f.acc1, f.acc5, f.ece, f.precision, f.coverage, f.precision_at_60
        );
    }
    let file = fs_err::canonicalize(out.join("weights.json")).context("the weights")?;
    eprintln!("weights: {}", file.display());
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<Vec<Task>> {
    let (rows, bad) = tasks::read(file)?;
    let bad: Vec<String> =
        bad.iter().map(|row| format!("{}:{}: {}", file.display(), row.line, row.why)).collect();
    warn("unusable", &bad);
    Ok(rows)
}

fn warn(what: &str, lines: &[String]) {
    for line in lines.iter().take(5) {
        eprintln!("warning: {line}");
    }
    if lines.len() > 5 {
        eprintln!("warning: and {} more that are {what}", lines.len() - 5);
    }
}
