use std::process::ExitCode;

use codegrep_plugin_sdk::{json_schema, openrpc};

use super::print;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The methods as OpenRPC describes them, instead of the types as JSON Schema
    #[arg(long)]
    openrpc: bool,
}

pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let description = if args.openrpc { openrpc() } else { json_schema() };
    print(&format!("{description:#}\n"))
}
