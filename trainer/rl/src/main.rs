//! `codegrep-train`: measures and trains CodeGrep.

mod eval;
mod lexical;
mod reward;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measure and train CodeGrep on real tasks.
#[derive(Parser)]
#[command(name = "codegrep-train", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure engines on task rows and write a report
    Eval(eval::Args),
    /// Fit the weights of the lexical engine, and write a report
    Lexical(lexical::Args),
    /// Reward rollouts, one JSON object a line in and out
    Reward(reward::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Eval(args) => eval::run(args),
        Command::Lexical(args) => lexical::run(args),
        Command::Reward(args) => reward::run(args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
