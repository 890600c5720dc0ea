use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use crate::config::{Layer, Places, Settings};
use crate::core::{self, Engines};
use crate::failure::Failure;
use crate::front::jsonrpc;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Speak JSON-RPC 2.0 on stdin and stdout, one message a line
    #[arg(long, required = true)]
    stdio: bool,
    /// What requests get that ask for `auto`: a name, a GGUF file, an http:// endpoint, or `none`
    #[arg(long)]
    model: Option<String>,
    /// Weights of the ranker, as `codegrep-train lexical` writes them
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Requests served at the same time
    #[arg(long)]
    workers: Option<u32>,
    /// Requests that may wait besides; more are refused as overload
    #[arg(long)]
    queue: Option<u32>,
    /// Allow roots that hold a home folder
    #[arg(long)]
    any_root: bool,
}

pub fn run(args: Args, places: Places) -> Result<ExitCode, Failure> {
    let flags = Layer {
        model: args.model,
        weights: args.weights,
        workers: args.workers,
        queue: args.queue,
        any_root: args.any_root.then_some(true),
        ..Layer::default()
    };
    let engines = Arc::new(Engines::new(Settings::load(places, flags)?)?);
    let (events, core) = core::start(Arc::clone(&engines));
    let output = protocol_output()?;
    let served = jsonrpc::serve(io::stdin(), output, events.clone(), engines);
    // An error means that it has ended already.
    let _ = events.send(core::Event::Close);
    let _ = core.join();
    served.map(|()| ExitCode::SUCCESS)
}

/// The protocol's own handle on stdout. What a library prints by mistake goes to stderr instead
/// of into the protocol.
#[cfg(unix)]
fn protocol_output() -> Result<impl io::Write + Send, Failure> {
    let failed = |error| Failure::environment(format!("stdout cannot be used: {error}"));
    let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3);
    let own = own.map_err(io::Error::from).map_err(failed)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr()).map_err(io::Error::from).map_err(failed)?;
    Ok(std::fs::File::from(own))
}

#[cfg(not(unix))]
fn protocol_output() -> Result<impl io::Write + Send, Failure> {
    Ok(io::stdout())
}
