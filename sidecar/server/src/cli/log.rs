use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Mutex;
use std::{env, io};

use fs_err::OpenOptions;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use super::capped::Capped;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to log: `error`, `warn`, `info`, `debug`, `trace`, or directives such as
    /// `codegrep_model=debug` [default: warn; or CODEGREP_LOG]
    #[arg(long, global = true, value_name = "LEVEL")]
    log: Option<String>,
    /// Append the log to this file instead of writing it to stderr
    #[arg(long, global = true, value_name = "FILE")]
    log_file: Option<PathBuf>,
}

/// llama.cpp calls a cancelled computation an error; its real ones reach us as errors of our own.
const DEFAULT: &str = "warn,llama-cpp-2=off";

/// Of a daemon, whose log nobody watches.
const DAEMON: &str = "warn,codegrep=info,llama-cpp-2=off";

/// Sends the log to stderr or a file, `own` where a command has one; never to stdout, which belongs
/// to answers.
pub fn start(args: &Args, own: Option<PathBuf>) -> Result<(), Failure> {
    let from_env = || env::var("CODEGREP_LOG").ok().filter(|level| !level.is_empty());
    let level = args
        .log
        .clone()
        .or_else(from_env)
        .unwrap_or_else(|| if own.is_some() { DAEMON } else { DEFAULT }.to_owned());
    let filter = EnvFilter::try_new(&level).map_err(|error| {
        Failure::usage(format!("--log {level}: {error}"))
            .hint("such as `--log debug` or `--log codegrep_model=trace`")
    })?;
    let (writer, colours) = match (&args.log_file, own) {
        (None, None) => (BoxMakeWriter::new(io::stderr), io::stderr().is_terminal()),
        (None, Some(file)) => (BoxMakeWriter::new(Mutex::new(Capped::open(file))), false),
        (Some(path), _) => {
            let mut options = OpenOptions::new();
            options.create(true).append(true);
            #[cfg(unix)]
            {
                use fs_err::os::unix::fs::OpenOptionsExt as _;
                // A pipe that nobody reads is an error, not a wait; a device may be meant.
                options.custom_flags(codegrep_tree::regular::NO_WAIT);
            }
            let file = options.open(path).map_err(|error| {
                Failure::environment(format!("the log cannot be written: {error}"))
                    .hint("name a file in a folder that exists and may be written")
            })?;
            (BoxMakeWriter::new(Mutex::new(file.into_file())), false)
        }
    };
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(colours).init();
    Ok(())
}
