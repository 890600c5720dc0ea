use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::io::AsyncWrite;

use crate::config::{Given, Layer, Places, Settings};
use crate::core::{self, Engines};
#[cfg(unix)]
use crate::daemon;
use crate::failure::Failure;
use crate::front::{Kind, Service, jsonrpc, lsp, mcp, wait_for};

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
    /// Serve in this process, without the daemon that clients share
    #[arg(long)]
    standalone: bool,
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

impl Front {
    fn kind(&self) -> Kind {
        match (self.lsp, self.mcp) {
            (true, _) => Kind::Lsp,
            (_, true) => Kind::Mcp,
            _ => Kind::JsonRpc,
        }
    }
}

pub fn run(args: Args, places: Places) -> Result<ExitCode, Failure> {
    let flags = Layer {
        model: args.model,
        weights: args.weights,
        workers: args.workers,
        queue: args.queue,
        any_root: args.any_root.then_some(true),
        daemon: args.standalone.then_some(false),
        ..Layer::default()
    };
    let given = Given::here(places, flags)?;
    let settings = Settings::of(&given)?;
    let output = protocol_output()?;
    let kind = args.front.kind();
    #[cfg(unix)]
    if settings.daemon.value
        && let Some(stream) = daemon::attach(&given, kind)
    {
        let passed = daemon::pass(&given.places, stream, io::stdin(), output);
        return passed.map(|()| ExitCode::SUCCESS);
    }
    let engines = Arc::new(Engines::new(settings)?);
    let (events, core) = core::start(Arc::clone(&engines));
    let service = Service { events: events.clone(), engines, folder: given.folder };
    let served = match kind {
        Kind::JsonRpc => jsonrpc::serve(io::stdin(), output, events.clone(), service.engines),
        Kind::Lsp => wait_for(async {
            lsp::serve(service, tokio::io::stdin(), asynchronous(output)).await;
            Ok(())
        }),
        Kind::Mcp => wait_for(mcp::serve(service, tokio::io::stdin(), asynchronous(output))),
    };
    // An error means that it has ended already.
    let _ = events.send(core::Event::Close);
    let _ = core.join();
    served.map(|()| ExitCode::SUCCESS)
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
