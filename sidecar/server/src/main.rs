//! `codegrep`: which files a task is about. The command line, and the server behind editors and
//! agents. Everything meets here and nothing is decided here: ranking, the loop and the models
//! lie in their own crates.

mod cli;
mod config;
mod core;
mod daemon;
mod failure;
mod front;
#[cfg(all(feature = "llama", unix))]
mod omp;
mod requests;
mod wire;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(all(feature = "llama", unix))]
    omp::wait_passively();
    cli::run()
}
