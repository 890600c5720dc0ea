//! The command line: one file a command.

mod capped;
mod config;
#[cfg(unix)]
mod daemon;
mod doctor;
mod find;
mod interrupt;
mod log;
mod model;
mod progress;
mod schema;
mod serve;
mod view;

use std::io::{self, Write};
use std::panic;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{Parser, Subcommand};

use crate::config::Places;
use crate::failure::Failure;
use crate::requests::FEATURES;

/// Which files is a task about? A retrieval agent that runs on this machine.
#[derive(Debug, Parser)]
#[command(name = "codegrep", version = VERSION.as_str(), arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    log: log::Args,
    #[command(subcommand)]
    command: Command,
}

/// `0.1.0 (llama, cuda)`.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let features =
        if FEATURES.is_empty() { "without llama".to_owned() } else { FEATURES.join(", ") };
    format!("{} ({features})", env!("CARGO_PKG_VERSION"))
});

#[derive(Debug, Subcommand)]
enum Command {
    /// Name the files a task is about
    Find(find::Args),
    /// Answer an editor's or agent's requests
    Serve(serve::Args),
    /// The process that a user's clients share: status, stop, logs
    #[cfg(unix)]
    Daemon(daemon::Args),
    /// The models on this machine: list, verify, add, pull
    Model(model::Args),
    /// What works on this machine, and what to do about what doesn't
    Doctor(doctor::Args),
    /// The settings in force, and where each was written
    Config(config::Args),
    /// Print the JSON Schema (or OpenRPC) of the wire protocol
    #[command(hide = true)]
    Schema(schema::Args),
}

/// Parses the command line, runs the command, and shows its failure.
pub fn run() -> ExitCode {
    // Bad usage ends here with clap's message and exit code 2.
    let cli = Cli::parse();
    let outcome = panic::catch_unwind(|| dispatch(cli)).unwrap_or_else(|_| {
        // What it was, the panic itself has said.
        Err(Failure::internal("the command failed unexpectedly"))
    });
    outcome.unwrap_or_else(|failure| show(&failure))
}

fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    let places = Places::of_this_user();
    log::start(&cli.log, own_log(&cli.command, places.as_ref().ok()))?;
    let places = places?;
    match cli.command {
        Command::Find(args) => find::run(args, places),
        Command::Serve(args) => serve::run(args, places),
        #[cfg(unix)]
        Command::Daemon(args) => daemon::run(&args, &places),
        Command::Model(args) => model::run(&args, &places),
        Command::Doctor(args) => doctor::run(&args, &places),
        Command::Config(args) => config::run(&args, places),
        Command::Schema(args) => schema::run(&args),
    }
}

/// The file of a command that logs there by itself.
fn own_log(command: &Command, places: Option<&Places>) -> Option<PathBuf> {
    match command {
        #[cfg(unix)]
        Command::Daemon(args) => args.log_file(places?),
        _ => None,
    }
}

fn show(failure: &Failure) -> ExitCode {
    view::failure(failure);
    ExitCode::from(failure.exit_code())
}

/// Writes to stdout; a reader that has gone away (`| head`) is no failure.
fn print(text: &str) -> Result<ExitCode, Failure> {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::environment(format!("stdout could not be written: {error}")))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}
