//! The client's side: find the daemon or start it, then pass bytes.

use std::env;
use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::hello::{self, Ask, Build, Hello, PROTOCOL, Reply};
use super::socket::Meeting;
use crate::config::{Given, Places};
use crate::failure::Failure;
use crate::front::Kind;

/// How often a daemon may end between being reached and answering.
const TRIES: usize = 3;
/// How long a new daemon may take to listen.
const START: Duration = Duration::from_secs(3);
/// Of the environment, what a daemon needs to run as its user; the rest is its first client's.
const KEPT: &[&str] = &[
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "TZ",
    "CODEGREP_HOME",
    "CODEGREP_LOG",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CUDA_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
    "OMP_WAIT_POLICY",
];

/// A connection on which the daemon speaks `front`, or `None` where this process has to serve
/// alone: no socket can be had, or the daemon cannot serve it.
pub fn attach(given: &Given, front: Kind) -> Option<UnixStream> {
    let meeting = Meeting::of(&given.places);
    let ask = Ask::Serve { front, given: Box::new(given.clone()) };
    for _ in 0..TRIES {
        match talk(&meeting, &ask) {
            Ok((stream, Reply::Serving)) => return Some(stream),
            Ok((_, Reply::Retired)) => start(&meeting)?,
            Ok((_, reply)) => {
                tracing::debug!(?reply, "serving alone");
                return None;
            }
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::ConnectionRefused => start(&meeting)?,
                // It ended after it was reached.
                ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {}
                _ => {
                    tracing::debug!(%error, "serving alone");
                    return None;
                }
            },
        }
    }
    None
}

/// Asks the daemon something that it answers in a line; `None` when there is no daemon.
///
/// # Errors
/// There is one, and it cannot be talked to.
pub fn ask(places: &Places, ask: &Ask) -> Result<Option<Reply>, Failure> {
    match talk(&Meeting::of(places), ask) {
        Ok((_, reply)) => Ok(Some(reply)),
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
        {
            Ok(None)
        }
        Err(error) => Err(Failure::environment(format!("the daemon does not answer: {error}"))
            .hint("`codegrep daemon logs` may tell why")),
    }
}

fn talk(meeting: &Meeting, ask: &Ask) -> io::Result<(UnixStream, Reply)> {
    let stream = meeting.connect()?;
    hello::say(&stream, &Hello { protocol: PROTOCOL, build: Build::own(), ask: ask.clone() })?;
    let reply = hello::hear(&stream)?;
    Ok((stream, reply))
}

/// Starts a daemon that outlives this process, and waits until it listens.
fn start(meeting: &Meeting) -> Option<()> {
    let kept = |name: &OsStr| {
        name.to_str().is_some_and(|name| KEPT.contains(&name) || name.starts_with("XDG_"))
    };
    let starter = Command::new(env::current_exe().ok()?)
        .args(["daemon", "start"])
        .env_clear()
        .envs(env::vars_os().filter(|(name, _)| kept(name)))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match starter {
        Ok(status) if status.success() => {}
        other => {
            tracing::debug!(?other, "no daemon can be started");
            return None;
        }
    }
    let patience = Instant::now() + START;
    while Instant::now() < patience {
        if meeting.connect().is_ok() {
            return Some(());
        }
        thread::sleep(Duration::from_millis(5));
    }
    None
}

/// Passes bytes both ways until the daemon has nothing more to say.
///
/// # Errors
/// The daemon is gone although its client was not through.
pub fn pass(
    places: &Places,
    stream: UnixStream,
    mut input: impl Read + Send + 'static,
    mut output: impl Write,
) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::environment(format!("the daemon cannot be talked to: {error}"))
            .hint("start it again, or use `codegrep serve --standalone`")
    };
    let up = stream.try_clone().map_err(failed)?;
    // Blocks in a read until the process ends: nothing waits for it.
    let reader = thread::Builder::new().name("up".into()).spawn(move || {
        let _ = forward(&mut input, &mut &up);
        let _ = up.shutdown(Shutdown::Write);
    });
    let reader = reader.map_err(failed)?;
    let passed = forward(&mut &stream, &mut output);
    if reader.is_finished() || passed.as_ref().is_err_and(|e| e.kind() == ErrorKind::BrokenPipe) {
        return Ok(());
    }
    // After `shutdown` the daemon hangs up and lives; a killed one does not answer.
    match (passed, ask(places, &Ask::Status)) {
        (Ok(()), Ok(Some(_))) => Ok(()),
        (Err(error), _) => Err(failed(error)),
        _ => Err(Failure::environment("the daemon ended while it was serving")
            .hint("start it again; `codegrep daemon logs` may tell why it ended")),
    }
}

/// Passes on what comes as it comes. `io::copy` would hand pipes and sockets to the kernel, which
/// keeps messages back until the sender ends.
fn forward(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(size) => {
                to.write_all(&buffer[..size])?;
                to.flush()?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
