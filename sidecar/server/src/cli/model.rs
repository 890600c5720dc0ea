use std::process::ExitCode;

use crate::config::Places;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_args: &Args, _places: &Places) -> Result<ExitCode, Failure> {
    Err(Failure::internal("this command is not built yet"))
}
