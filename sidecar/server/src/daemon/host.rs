//! The daemon itself: takes connections until it is told to stop, replaced, idle for long, or its
//! socket is deleted.

use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::hello::{self, Ask, Build, Hello, PROTOCOL, Reply, Status};
use super::hubs::Hubs;
use super::socket::{Listening, Meeting, same_user};
use crate::config::Places;
use crate::failure::Failure;
use crate::front::{Kind, Service, jsonrpc, lsp, mcp, wait_for};

/// Clients at the same time; more serve alone.
const MOST_CLIENTS: usize = 256;
/// How often it looks whether it is still wanted.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

struct Host {
    hubs: Hubs,
    clients: AtomicUsize,
    /// Takes no more connections.
    retired: AtomicBool,
    /// Another one may listen.
    away: AtomicBool,
    /// Ends at once.
    stopped: AtomicBool,
    last_used: Mutex<Instant>,
    started: Instant,
    build: Build,
    idle: Duration,
}

/// Runs until it is no longer wanted. Ends quietly when another daemon listens already.
pub fn run(places: &Places, idle: Duration) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::environment(format!("the daemon cannot listen: {error}"))
            .hint("`codegrep serve --standalone` works without it")
    };
    let listening = match Meeting::of(places).listen() {
        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
        other => other.map_err(failed)?,
    };
    let host = Arc::new(Host {
        hubs: Hubs::default(),
        clients: AtomicUsize::new(0),
        retired: AtomicBool::new(false),
        away: AtomicBool::new(false),
        stopped: AtomicBool::new(false),
        last_used: Mutex::new(Instant::now()),
        started: Instant::now(),
        build: Build::own(),
        idle,
    });
    tracing::info!(pid = std::process::id(), build = ?host.build, "listens");
    let listened = host.listen(listening);
    host.away.store(true, Ordering::Release);
    listened.map_err(failed)?;
    // Nobody new comes; those who are here are served to their end.
    while host.clients.load(Ordering::Acquire) > 0 && !host.stopped.load(Ordering::Acquire) {
        thread::sleep(Duration::from_millis(50));
    }
    host.hubs.close();
    tracing::info!("ends");
    Ok(())
}

impl Host {
    fn listen(self: &Arc<Self>, listening: Listening) -> io::Result<()> {
        loop {
            let mut sockets = [PollFd::new(&listening.listener, PollFlags::IN)];
            match poll(&mut sockets, Some(&TICK)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if self.retired.load(Ordering::Acquire)
                || self.idle_too_long()
                || !listening.can_be_met()
            {
                return Ok(());
            }
            match listening.listener.accept() {
                Ok((stream, _)) => self.take(stream),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // Out of handles, or a client that is gone already: the next one may fare better.
                Err(error) => {
                    tracing::warn!(%error, "no connection");
                    thread::sleep(Duration::from_millis(50));
                }
            }
        }
    }

    fn idle_too_long(&self) -> bool {
        let unused = self.last_used.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        self.clients.load(Ordering::Acquire) == 0 && unused > self.idle
    }

    fn take(self: &Arc<Self>, stream: UnixStream) {
        let host = Arc::clone(self);
        // Counted before its thread runs: an idle end must not fall in between.
        let guest = Guest::new(host);
        let started = thread::Builder::new().name("client".into()).spawn(move || {
            match guest.0.meet(stream) {
                Ok(()) => {}
                // Somebody only looked whether it listens.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
                Err(error) => tracing::warn!(%error, "a client was not served"),
            }
        });
        if let Err(error) = started {
            tracing::warn!(%error, "a client was not served");
        }
    }

    fn meet(&self, stream: UnixStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        same_user(&stream)?;
        let hello: Hello = hello::hear(&stream)?;
        match hello.ask {
            Ask::Status => hello::say(&stream, &Reply::Status(self.status())),
            Ask::Stop => {
                self.retire();
                let said = hello::say(&stream, &Reply::Stopping);
                self.stopped.store(true, Ordering::Release);
                said
            }
            Ask::Serve { .. } if hello.protocol != PROTOCOL => refuse(
                &stream,
                format!("the daemon speaks protocol {PROTOCOL}, not {}", hello.protocol),
                "`codegrep daemon stop` ends it",
            ),
            Ask::Serve { .. } if hello.build.replaces(&self.build) => {
                self.retire();
                tracing::info!(by = ?hello.build, "makes room");
                hello::say(&stream, &Reply::Retired)
            }
            Ask::Serve { .. } if self.clients.load(Ordering::Acquire) > MOST_CLIENTS => {
                refuse(&stream, format!("the daemon serves {MOST_CLIENTS} clients"), "")
            }
            Ask::Serve { front, given } => {
                let hub = match self.hubs.of(&given) {
                    Err(failure) => return refuse(&stream, failure.message, &failure.hint),
                    Ok(hub) => hub,
                };
                hello::say(&stream, &Reply::Serving)?;
                let (events, engines) = (hub.events.clone(), Arc::clone(&hub.engines));
                serve(front, stream, Service { events, engines, folder: given.folder })
                    .map_err(|failure| io::Error::other(failure.message))
            }
        }
    }

    /// Returns when another one may listen.
    fn retire(&self) {
        self.retired.store(true, Ordering::Release);
        for _ in 0..400 {
            if self.away.load(Ordering::Acquire) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn status(&self) -> Status {
        Status {
            pid: std::process::id(),
            build: self.build.clone(),
            seconds_up: self.started.elapsed().as_secs(),
            // The one that asks is none of them.
            clients: self.clients.load(Ordering::Acquire).saturating_sub(1),
            hubs: self.hubs.len(),
            idle_exit_s: self.idle.as_secs(),
        }
    }
}

fn refuse(stream: &UnixStream, message: String, hint: &str) -> io::Result<()> {
    hello::say(stream, &Reply::Refused { message, hint: hint.to_owned() })
}

/// Serves one client to its end.
fn serve(front: Kind, stream: UnixStream, service: Service) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::environment(format!("the connection cannot be used: {error}"))
            .hint("connect again")
    };
    if front == Kind::JsonRpc {
        let input = stream.try_clone().map_err(failed)?;
        let end = stream.try_clone().map_err(failed)?;
        let served = jsonrpc::serve(input, stream, service.events, service.engines);
        // Its reader still waits on a handle of its own, which would keep the connection open.
        let _ = end.shutdown(Shutdown::Both);
        return served;
    }
    stream.set_nonblocking(true).map_err(failed)?;
    wait_for(async {
        let stream = tokio::net::UnixStream::from_std(stream).map_err(failed)?;
        let (reader, writer) = stream.into_split();
        match front {
            Kind::Mcp => mcp::serve(service, reader, writer).await,
            _ => {
                lsp::serve(service, reader, writer).await;
                Ok(())
            }
        }
    })
}

/// A connection, for as long as it is held.
struct Guest(Arc<Host>);

impl Guest {
    fn new(host: Arc<Host>) -> Self {
        host.clients.fetch_add(1, Ordering::AcqRel);
        Self(host)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        *self.0.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.clients.fetch_sub(1, Ordering::AcqRel);
    }
}
