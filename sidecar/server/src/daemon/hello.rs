//! The first line each way. After it the socket carries the front's own protocol.

use std::cmp::Ordering;
use std::env;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::config::Given;
use crate::front::Kind;

/// Of the two lines below. A daemon of another protocol is left alone.
pub const PROTOCOL: u32 = 1;
/// How long either side may take to say its line.
const PATIENCE: Duration = Duration::from_secs(5);
/// No hello is longer.
const MOST_BYTES: u64 = 1 << 20;

/// What a client says first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    pub protocol: u32,
    pub build: Build,
    pub ask: Ask,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ask {
    /// Serve this front on the rest of the connection.
    Serve { front: Kind, given: Box<Given> },
    /// Tell how it is.
    Status,
    /// Cancel what runs, and end.
    Stop,
}

/// What the daemon answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// The front speaks next.
    Serving,
    /// It makes room for the newer program that asked, which may start its own daemon now.
    Retired,
    Status(Status),
    Stopping,
    /// It cannot serve this client: what happened, and what to do.
    Refused {
        message: String,
        hint: String,
    },
}

/// How a daemon is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub pid: u32,
    pub build: Build,
    pub seconds_up: u64,
    /// Clients that are served now.
    pub clients: usize,
    /// Sets of settings that are held, with their indexes and models.
    pub hubs: usize,
    /// Seconds without a client after which it ends.
    pub idle_exit_s: u64,
}

/// Which program it is; the newer one wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Of the package.
    pub version: String,
    /// When the program file was written, in ms since 1970; tells builds of one version apart.
    pub made: u64,
}

impl Build {
    /// This program.
    pub fn own() -> Self {
        let made = || {
            let modified = fs_err::metadata(env::current_exe().ok()?).ok()?.modified().ok()?;
            Some(modified.duration_since(UNIX_EPOCH).ok()?.as_millis() as u64)
        };
        Self { version: env!("CARGO_PKG_VERSION").to_owned(), made: made().unwrap_or(0) }
    }

    /// Whether a daemon of `other` should make room for this one.
    pub fn replaces(&self, other: &Self) -> bool {
        let numbers = |version: &str| -> Vec<u64> {
            let core = version.split(['-', '+']).next().unwrap_or_default();
            core.split('.').map(|part| part.parse().unwrap_or(0)).collect()
        };
        match numbers(&self.version).cmp(&numbers(&other.version)) {
            Ordering::Equal => self.made > other.made,
            order => order == Ordering::Greater,
        }
    }
}

/// Says a line.
pub fn say<T: Serialize>(mut stream: &UnixStream, what: &T) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    stream.set_write_timeout(None)
}

/// Hears a line, and nothing of what follows it.
pub fn hear<T: DeserializeOwned>(stream: &UnixStream) -> io::Result<T> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = Vec::new();
    // Byte by byte: what is read ahead would be lost to the front.
    BufReader::with_capacity(1, stream.take(MOST_BYTES)).read_until(b'\n', &mut line)?;
    stream.set_read_timeout(None)?;
    if line.last() != Some(&b'\n') {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&line)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_program_wins() {
        let build = |version: &str, made| Build { version: version.into(), made };
        assert!(build("0.10.0", 1).replaces(&build("0.9.9", 2)));
        assert!(!build("0.9.9", 2).replaces(&build("0.10.0", 1)));
        assert!(build("1.0.0", 2).replaces(&build("1.0.0-rc.1", 1)));
        assert!(!build("1.0.0", 1).replaces(&build("1.0.0", 1)));
    }

    #[test]
    fn a_line_is_heard_and_what_follows_is_left() {
        let (near, far) = UnixStream::pair().unwrap();
        say(&near, &Reply::Serving).unwrap();
        (&near).write_all(b"next").unwrap();
        assert_eq!(hear::<Reply>(&far).unwrap(), Reply::Serving);
        let mut next = [0; 4];
        (&far).read_exact(&mut next).unwrap();
        assert_eq!(&next, b"next");
    }

    #[test]
    fn half_a_line_and_nonsense_are_errors() {
        let (near, far) = UnixStream::pair().unwrap();
        (&near).write_all(b"nonsense\n\"serv").unwrap();
        drop(near);
        assert_eq!(hear::<Reply>(&far).unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(hear::<Reply>(&far).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}
