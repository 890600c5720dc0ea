use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::ValueEnum;
use codegrep_lab::evaluate::engine::EngineKind;
use codegrep_lab::evaluate::{Evaluation, Plan, Split, evaluate};
use codegrep_lab::tasks::GitTemplate;
use codegrep_lab::{Watch, Weights};
use codegrep_model::{LlamaConfig, ModelConfig};

#[derive(clap::Args)]
pub struct Args {
    /// Task rows, one JSON object a line
    #[arg(long, value_name = "FILE.jsonl")]
    tasks: PathBuf,
    /// Where repositories lie, bare or not, such as repos/{owner}+{name}/repo
    #[arg(long, value_name = "TEMPLATE")]
    git: String,
    /// Engines to measure side by side, comma-separated: bm25, lexical, agent, hybrid
    #[arg(long, default_value = "bm25,lexical")]
    engines: String,
    /// GGUF file for the engines agent and hybrid
    #[arg(long, value_name = "FILE.gguf")]
    model: Option<PathBuf>,
    /// Weights of the ranker that `codegrep-train lexical` wrote; by default the built-in ones
    #[arg(long, value_name = "FILE.json")]
    weights: Option<PathBuf>,
    /// Time one question may take
    #[arg(long, value_name = "N")]
    budget_ms: Option<u64>,
    /// Folder for instances.jsonl, summary.json, report.md and report.html
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// At most so many tasks, drawn by --seed
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Repositories worked on at once; keep 1 for honest latencies
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Which part of the tasks: the closing third is kept for final figures
    #[arg(long, value_enum, default_value = "all")]
    split: SplitArg,
    /// Also ask so many tasks of a wrong repository, where abstaining is right
    #[arg(long, value_name = "N", default_value_t = 0)]
    wrong_repo: usize,
    /// Go on where a stopped run left off
    #[arg(long)]
    resume: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum SplitArg {
    All,
    Open,
    Closing,
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let engines = EngineKind::parse_list(&args.engines).map_err(anyhow::Error::msg)?;
    let model = match args.model {
        Some(path) => {
            Some(codegrep_model::open(&ModelConfig::Llama(LlamaConfig::new(path)), &Watch::idle())?)
        }
        None => None,
    };
    if let Some(engine) = engines.iter().find(|engine| engine.needs_model() && model.is_none()) {
        bail!("the engine {} needs a model\nhint: name a GGUF file with --model", engine.name());
    }
    let evaluation = Evaluation {
        tasks: args.tasks,
        split: match args.split {
            SplitArg::All => Split::All,
            SplitArg::Open => Split::Open,
            SplitArg::Closing => Split::Closing,
        },
        limit: args.limit,
        plan: Plan {
            git: GitTemplate::new(&args.git)?,
            engines,
            model,
            weights: args
                .weights
                .as_deref()
                .map_or_else(|| Ok(Weights::built_in()), Weights::read)?,
            budget: args.budget_ms.map(Duration::from_millis),
            jobs: args.jobs.into(),
            wrong: args.wrong_repo,
            seed: args.seed,
        },
        out: args.out,
        resume: args.resume,
        command: std::env::args().collect::<Vec<_>>().join(" "),
    };
    let (summary, bad) = evaluate(&evaluation, &Watch::idle())?;
    for row in bad.iter().take(5) {
        eprintln!("warning: {}:{}: {}", evaluation.tasks.display(), row.line, row.why);
    }
    if bad.len() > 5 {
        eprintln!("warning: and {} more unusable rows", bad.len() - 5);
    }
    for (name, engine) in &summary.engines {
        let scores = &engine.all;
        eprintln!(
            "{name:>10}  f1 {:.3} [{:.3}, {:.3}]  F_0.5 {:.3}  acc@1 {:.3}  acc@5 {:.3}  recall@10 {:.3}  gated {:.3} at {:.3}  errors {}",
            scores.f1.mean,
            scores.f1.lo,
            scores.f1.hi,
            scores.f05.mean,
            scores.acc1.mean,
            scores.acc5.mean,
            scores.recall10.mean,
            scores.gated.precision.mean,
            scores.gated.coverage.mean,
            scores.errors,
        );
    }
    let report = evaluation.out.join("report.html");
    let report = fs_err::canonicalize(&report).context("the report")?;
    eprintln!("report: {}", report.display());
    Ok(())
}
