use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use codegrep_tree::regular;

use super::{capped, print};
use crate::config::Places;
use crate::daemon::{self, Ask, Reply, Status};
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Tell whether it runs, since when, and for how many clients (exit code 1: it does not run)
    Status,
    /// Cancel what it does and end it; the next client starts it again
    Stop,
    /// Print the end of its log
    Logs {
        /// Lines to print
        #[arg(long, default_value_t = 50)]
        lines: usize,
    },
    /// Start it in the background, as clients do when it is missing
    Start,
    /// Be the daemon, in the foreground
    Run {
        /// Seconds without a client after which it ends
        #[arg(long, default_value_t = 1800)]
        idle_exit: u64,
    },
}

impl Args {
    /// Where the daemon logs to.
    pub fn log_file(&self, places: &Places) -> Option<PathBuf> {
        matches!(self.what, What::Run { .. }).then(|| log_file(places))
    }
}

pub fn run(args: &Args, places: &Places) -> Result<ExitCode, Failure> {
    match args.what {
        What::Status => match daemon::ask(places, &Ask::Status)? {
            Some(Reply::Status(status)) => print(&shown(&status)),
            Some(other) => Err(unexpected(&other)),
            None => print("no daemon runs; clients start one\n").map(|_| ExitCode::FAILURE),
        },
        What::Stop => match daemon::ask(places, &Ask::Stop)? {
            Some(Reply::Stopping) => print("stopped\n"),
            Some(other) => Err(unexpected(&other)),
            None => print("no daemon runs\n"),
        },
        What::Logs { lines } => print(&tail(&log_file(places), lines)?),
        What::Start => start(),
        What::Run { idle_exit } => {
            // Fails for the leader of a group, such as one started from a shell, which may stay.
            let _ = rustix::process::setsid();
            daemon::run(places, Duration::from_secs(idle_exit)).map(|()| ExitCode::SUCCESS)
        }
    }
}

fn shown(status: &Status) -> String {
    let Status { pid, build, seconds_up, clients, hubs, idle_exit_s } = status;
    let version = &build.version;
    format!(
        "daemon {version}, process {pid}, up {seconds_up} s\n\
         clients: {clients}\n\
         sets of settings held: {hubs}\n\
         ends after {idle_exit_s} s without a client\n"
    )
}

fn unexpected(reply: &Reply) -> Failure {
    Failure::environment(format!("the daemon answered {reply:?}"))
        .hint("it may be of another version: end it by its process id and try again")
}

fn log_file(places: &Places) -> PathBuf {
    places.state.join("daemon.log")
}

fn tail(file: &Path, lines: usize) -> Result<String, Failure> {
    // A single message may be longer than the log has room for.
    let text = match regular::read(file, 2 * capped::MOST_BYTES) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok("no daemon has logged anything\n".into());
        }
        Err(error) => {
            return Err(Failure::environment(format!("the log cannot be read: {error}"))
                .hint("see that it is yours to read"));
        }
    };
    let all: Vec<&str> = text.lines().collect();
    let last = all[all.len().saturating_sub(lines)..].iter();
    Ok(last.flat_map(|line| [line, "\n"]).collect())
}

/// The process between a client and its daemon: hands on nothing that the client had open, and is
/// gone at once, so that the daemon is nobody's child.
fn start() -> Result<ExitCode, Failure> {
    let failed = |error: io::Error| {
        Failure::environment(format!("the daemon cannot be started: {error}"))
            .hint("`codegrep daemon run` shows what stands in its way")
    };
    close_fds::set_fds_cloexec(3, &[]);
    Command::new(std::env::current_exe().map_err(failed)?)
        .args(["daemon", "run"])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}
