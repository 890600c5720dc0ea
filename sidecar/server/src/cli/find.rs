use std::env;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use codegrep_tree::Watch;

use super::{interrupt, print, progress, view};
use crate::config::{Layer, Places, Settings};
use crate::core::{Engines, Root, deadline};
use crate::failure::Failure;
use crate::requests::{Ask, Early, Source, retrieve};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task: an issue, a bug report, a prompt; `-` reads it from stdin
    text: String,
    /// The repository; by default the one that holds the working folder
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// Look into this commit instead of the files on disk
    #[arg(long, value_name = "COMMIT")]
    rev: Option<String>,
    /// Print one line of JSON: the result of `retrieve`
    #[arg(long)]
    json: bool,
    /// `auto`, `none`, a name, a GGUF file, an http:// endpoint, or `scripted:FILE`
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Answer within this many milliseconds
    #[arg(long, value_name = "N")]
    budget_ms: Option<u64>,
    /// Return at most this many files
    #[arg(long, value_name = "K")]
    max_files: Option<u32>,
    /// Return files however unlikely they are
    #[arg(long)]
    no_gate: bool,
    /// How a model is prompted
    #[arg(long)]
    profile: Option<String>,
    /// Weights of the ranker, as `codegrep-train lexical` writes them
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Search a folder even if it holds a home folder
    #[arg(long)]
    any_root: bool,
}

/// More than this is no task.
const MOST_STDIN: u64 = 16 << 20;

pub fn run(args: Args, places: Places) -> Result<ExitCode, Failure> {
    // However long the report takes to come, the search has its whole budget.
    let text = if args.text == "-" { from_stdin()? } else { args.text };
    let started = Instant::now();
    let flags = Layer {
        model: args.model,
        budget_ms: args.budget_ms,
        max_files: args.max_files,
        profile: args.profile,
        weights: args.weights,
        any_root: args.any_root.then_some(true),
        ..Layer::default()
    };
    let settings = Settings::load(places, flags)?;
    let repo = match args.repo {
        Some(repo) => absolute(&repo)?,
        None => enclosing_project()?,
    };
    let root = Root::at(repo, &settings)?;
    let ask = Ask {
        source: match args.rev {
            Some(rev) => Source::Commit { root, rev },
            None => Source::Disk { roots: vec![root], open_files: Vec::new() },
        },
        max_files: args.max_files.map(|files| files as usize),
        gate: !args.no_gate,
        profile: None,
        model: settings.model.value.clone(),
        adapter: None,
        context: None,
        text,
    };
    let budget = settings.budget.value;
    let progress = progress::Line::new();
    let watch = Watch::new(Some(deadline(started, budget)), Some(progress.sink()));
    interrupt::cancels(&watch);
    let answer = retrieve(ask, &Engines::new(settings)?, &watch, &Early::default());
    progress.clear();
    if watch.is_cancelled() {
        return Ok(ExitCode::from(interrupt::CODE));
    }
    let answer = answer?;
    if args.json {
        let line = serde_json::to_string(&answer)
            .map_err(|error| Failure::internal(format!("an answer cannot be written: {error}")))?;
        return print(&(line + "\n"));
    }
    view::warnings(&answer.warnings);
    print(&view::answer(&answer))
}

/// Files that mark a folder as a project where there is no git repository.
const MARKERS: [&str; 14] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "CMakeLists.txt",
    "Makefile",
    "Gemfile",
    "composer.json",
    ".hg",
    ".svn",
];

/// The git repository that holds the working folder, else the working folder if it is a project.
pub fn enclosing_project() -> Result<PathBuf, Failure> {
    let here = env::current_dir()
        .map_err(|error| Failure::environment(format!("there is no working folder: {error}")))?;
    // A home folder under version control is no project of its own.
    let mut folders = here.ancestors().take_while(|folder| !Root::holds_home(folder));
    if let Some(repository) = folders.find(|folder| folder.join(".git").exists()) {
        return Ok(repository.to_owned());
    }
    if MARKERS.iter().any(|marker| here.join(marker).exists()) {
        return Ok(here);
    }
    Err(Failure::usage(format!(
        "{} lies in no git repository and is no project ({}, … are missing)",
        here.display(),
        MARKERS[..3].join(", ")
    ))
    .hint("`--repo DIR` names the folder to search"))
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::usage(format!("--repo {}: {error}", path.display())))
}

fn from_stdin() -> Result<String, Failure> {
    let mut stdin = io::stdin().lock();
    if stdin.is_terminal() {
        let _ = writeln!(io::stderr(), "reading the task from the terminal; end it with Ctrl-D");
    }
    let mut bytes = Vec::new();
    stdin
        .by_ref()
        .take(MOST_STDIN + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::environment(format!("stdin cannot be read: {error}")))?;
    if bytes.len() as u64 > MOST_STDIN {
        return Err(Failure::usage("the task on stdin is longer than 16 MiB")
            .hint("give the report itself, without logs and attachments"));
    }
    // A log pasted into a report may hold anything.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
