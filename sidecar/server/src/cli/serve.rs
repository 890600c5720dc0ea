use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::io::AsyncWrite;

use crate::config::{Layer, Places, Settings};
use crate::core::{self, Engines};
use crate::failure::Failure;
use crate::front::{Service, jsonrpc, lsp, mcp};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    front: Front,
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

/// What is spoken on stdin and stdout.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Front {
    /// Speak JSON-RPC 2.0 on stdin and stdout, one message a line
    #[arg(long)]
    stdio: bool,
    /// Speak the Language Server Protocol on stdin and stdout, for editors
    #[arg(long)]
    lsp: bool,
    /// Speak the Model Context Protocol on stdin and stdout, for coding agents
    #[arg(long)]
    mcp: bool,
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
    let served = if args.front.stdio {
        jsonrpc::serve(io::stdin(), output, events.clone(), engines)
    } else {
        let folder = std::env::current_dir().unwrap_or_default();
        let service = Service { events: events.clone(), engines, folder };
        let (reader, writer) = (tokio::io::stdin(), asynchronous(output));
        match args.front.lsp {
            true => wait_for(async {
                lsp::serve(service, reader, writer).await;
                Ok(())
            }),
            false => wait_for(mcp::serve(service, reader, writer)),
        }
    };
    // An error means that it has ended already.
    let _ = events.send(core::Event::Close);
    let _ = core.join();
    served.map(|()| ExitCode::SUCCESS)
}

/// Runs a front to its end.
fn wait_for(front: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::environment(format!("cannot serve: {error}")))?;
    let served = runtime.block_on(front);
    // A read of stdin blocks until the process ends: nothing waits for it.
    runtime.shutdown_background();
    served
}

/// The protocol's own handle on stdout. What a library prints by mistake goes to stderr instead
/// of into the protocol.
#[cfg(unix)]
fn protocol_output() -> Result<std::fs::File, Failure> {
    let failed = |error| Failure::environment(format!("stdout cannot be used: {error}"));
    let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3);
    let own = own.map_err(io::Error::from).map_err(failed)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr()).map_err(io::Error::from).map_err(failed)?;
    Ok(std::fs::File::from(own))
}

#[cfg(unix)]
fn asynchronous(output: std::fs::File) -> impl AsyncWrite + Send + Unpin + 'static {
    tokio::fs::File::from_std(output)
}

#[cfg(not(unix))]
fn protocol_output() -> Result<io::Stdout, Failure> {
    Ok(io::stdout())
}

#[cfg(not(unix))]
fn asynchronous(_: io::Stdout) -> impl AsyncWrite + Send + Unpin + 'static {
    tokio::io::stdout()
}
