//! The command line: one file a command.

mod doctor;
mod model;
mod schema;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::Places;
use crate::failure::Failure;

/// Which files is a task about? A retrieval agent that runs on this machine.
#[derive(Debug, Parser)]
#[command(name = "codegrep", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The models on this machine: list, verify, add, pull
    Model(model::Args),
    /// What works on this machine, and what to do about what doesn't
    Doctor(doctor::Args),
    /// Print the JSON Schema (or OpenRPC) of the wire protocol
    #[command(hide = true)]
    Schema(schema::Args),
}

/// Parses the command line, runs the command, and shows its failure.
pub fn run() -> ExitCode {
    // Bad usage ends here with clap's message and exit code 2.
    let cli = Cli::parse();
    match dispatch(cli) {
        Ok(code) => code,
        Err(failure) => show(&failure),
    }
}

fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    let places = Places::of_this_user()?;
    match cli.command {
        Command::Model(args) => model::run(&args, &places),
        Command::Doctor(args) => doctor::run(&args, &places),
        Command::Schema(args) => schema::run(&args),
    }
}

fn show(failure: &Failure) -> ExitCode {
    let mut stderr = anstream::stderr().lock();
    // Where stderr is closed there is nobody left to tell.
    let _ = writeln!(stderr, "error: {}", failure.message);
    if !failure.hint.is_empty() {
        let _ = writeln!(stderr, "hint: {}", failure.hint);
    }
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
