//! Asks a `codegrep` of its own which files a task is about, and prints them as they firm up.
//!
//! `cargo run -p codegrep-plugin-sdk --example find_files -- REPO "the task"`; `CODEGREP` names the
//! program when it is not on the path.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use codegrep_plugin_sdk::{Client, PeerInfo, RetrieveParams, VerdictKind};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(repo), Some(text)) = (args.next(), args.next()) else {
        return Err("usage: find_files REPO TEXT".into());
    };
    let repo = std::fs::canonicalize(repo)?;

    let mut command = Command::new(std::env::var_os("CODEGREP").unwrap_or("codegrep".into()));
    command.args(["serve", "--stdio"]);
    let me = PeerInfo { name: "find_files".into(), version: env!("CARGO_PKG_VERSION").into() };
    let client = Client::spawn(command, me)?;

    let params = RetrieveParams::new(text, repo.to_string_lossy());
    let answer = client.retrieve(params).wait_with(Some(Duration::from_secs(60)), |progress| {
        eprintln!("{:?}: {}", progress.stage, progress.message);
    })?;

    for file in &answer.files {
        println!("{:.2}  {}", file.probability, file.path);
        for evidence in &file.evidence {
            println!("      {}: {}", evidence.line, evidence.text.trim());
        }
    }
    match answer.verdict.kind {
        VerdictKind::Inject => println!("worth injecting: {}", answer.verdict.reason),
        VerdictKind::Abstain => println!("not sure enough: {}", answer.verdict.reason),
    }
    client.shutdown()?;
    Ok(())
}
