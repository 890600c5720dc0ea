//! The pipes of a server process: one thread reads, one writes, one keeps stderr.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::error::ClientError;
use crate::{
    Cancel, CancelParams, MAX_MESSAGE_BYTES, Notification, ProgressToken, RequestId,
    RetrieveProgress, RetrieveProgressNotification, RpcError,
};

/// Bytes of stderr that are kept.
const STDERR_KEPT: usize = 16 << 10;

/// What arrives for a call; a closed channel means that the server ended.
pub(super) enum Incoming {
    Progress(RetrieveProgressNotification),
    Answer(Result<Box<RawValue>, RpcError>),
}

struct Waiting {
    token: Option<ProgressToken>,
    sender: Sender<Incoming>,
}

/// `None` once the server has ended: nobody may wait any more.
type Pending = Option<HashMap<u64, Waiting>>;

pub(super) struct Link {
    child: Mutex<Child>,
    /// `None` once closed. Unbounded, so that a server that does not read never blocks a caller.
    lines: Mutex<Option<Sender<Vec<u8>>>>,
    pending: Mutex<Pending>,
    stderr: Mutex<Vec<u8>>,
    /// A line that was no message, once there was one: the stream is not trusted after it.
    broken: Mutex<Option<String>>,
    next: AtomicU64,
}

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'static str,
    params: &'a P,
}

/// A response or a notification; which one is told by the fields present.
#[derive(Deserialize)]
struct Message {
    id: Option<RequestId>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    error: Option<RpcError>,
}

impl Link {
    pub(super) fn open(mut child: Child) -> io::Result<Arc<Self>> {
        let missing = || io::Error::other("its pipes are missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let (lines, to_write) = mpsc::channel();
        let link = Arc::new(Self {
            child: Mutex::new(child),
            lines: Mutex::new(Some(lines)),
            pending: Mutex::new(Some(HashMap::new())),
            stderr: Mutex::default(),
            broken: Mutex::default(),
            next: AtomicU64::new(1),
        });
        thread::spawn(move || write_lines(stdin, &to_write));
        let keeper = Arc::clone(&link);
        let (said_all, stderr_ended) = mpsc::channel();
        thread::spawn(move || {
            keeper.keep_stderr(stderr);
            let _ = said_all.send(());
        });
        let reader = Arc::clone(&link);
        thread::spawn(move || {
            reader.read_lines(stdout);
            // Its last words explain its end; a grandchild may hold the pipe open, so not forever.
            let _ = stderr_ended.recv_timeout(Duration::from_millis(500));
            lock(&reader.pending).take();
        });
        Ok(link)
    }

    pub(super) fn fresh_token(&self) -> i64 {
        self.next.fetch_add(1, Ordering::Relaxed) as i64
    }

    pub(super) fn send_request<P: Serialize>(
        &self,
        method: &'static str,
        params: &P,
        token: Option<ProgressToken>,
    ) -> (u64, Receiver<Incoming>, Result<(), ClientError>) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, incoming) = mpsc::channel();
        let sent = line(Some(id), method, params).map(|line| {
            // Registered before it is sent; when the server has ended, the sender is dropped here
            // and the waiting side sees that.
            if let Some(pending) = lock(&self.pending).as_mut() {
                pending.insert(id, Waiting { token, sender });
            }
            self.send(line);
        });
        (id, incoming, sent)
    }

    pub(super) fn cancel(&self, id: u64) {
        let params = CancelParams { id: RequestId::Number(id.into()) };
        if let Ok(line) = line(None, Cancel::NAME, &params) {
            self.send(line);
        }
    }

    pub(super) fn forget(&self, id: u64) {
        if let Some(pending) = lock(&self.pending).as_mut() {
            pending.remove(&id);
        }
    }

    /// Why nothing will be answered any more.
    pub(super) fn death(&self) -> ClientError {
        // For every call that waited and for every later one.
        if let Some(broken) = lock(&self.broken).clone() {
            return ClientError::Protocol(broken);
        }
        let mut status = None;
        // Its output closes a moment before its status is there.
        for _ in 0..100 {
            status = self.try_wait().ok().flatten();
            if status.is_some() {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let status = status
            .map_or("it closed its output but still runs".to_owned(), |status| status.to_string());
        ClientError::Died { status, stderr: self.stderr() }
    }

    pub(super) fn stderr(&self) -> String {
        String::from_utf8_lossy(&lock(&self.stderr)).trim().to_owned()
    }

    /// Closes the server's input: its sign to end.
    pub(super) fn close(&self) {
        lock(&self.lines).take();
    }

    pub(super) fn try_wait(&self) -> io::Result<Option<ExitStatus>> {
        lock(&self.child).try_wait()
    }

    pub(super) fn kill(&self) {
        self.close();
        // An error means that it has already ended.
        let _ = lock(&self.child).kill();
        let _ = lock(&self.child).wait();
    }

    pub(super) fn wait(&self) -> Result<ExitStatus, ClientError> {
        Ok(lock(&self.child).wait()?)
    }

    fn send(&self, line: Vec<u8>) {
        if let Some(lines) = lock(&self.lines).as_ref() {
            // Fails when the server has ended, which the waiting side is told by the reader.
            let _ = lines.send(line);
        }
    }

    fn read_lines(&self, stdout: ChildStdout) {
        for line in BufReader::new(stdout).lines() {
            let taken = line.map_err(|error| error.to_string()).and_then(|line| self.take(&line));
            if let Err(reason) = taken {
                *lock(&self.broken) = Some(reason);
                return;
            }
        }
    }

    fn take(&self, line: &str) -> Result<(), String> {
        let message: Message = serde_json::from_str(line).map_err(|error| {
            let start: String = line.chars().take(200).collect();
            format!("{error}, in the line {start:?}")
        })?;
        match message {
            Message { method: Some(method), params: Some(params), .. }
                if method == RetrieveProgress::NAME =>
            {
                let progress: RetrieveProgressNotification = serde_json::from_str(params.get())
                    .map_err(|error| format!("{method}: {error}"))?;
                let pending = lock(&self.pending);
                let waiting = pending.iter().flatten().map(|(_, waiting)| waiting);
                for waiting in waiting {
                    if waiting.token.as_ref() == Some(&progress.progress_token) {
                        let _ = waiting.sender.send(Incoming::Progress(progress.clone()));
                    }
                }
            }
            // Notifications of later versions.
            Message { method: Some(_), .. } => {}
            Message { id: Some(RequestId::Number(id)), result, error, .. } => {
                let mut pending = lock(&self.pending);
                let waiting = pending.as_mut().zip(id.as_u64());
                let waiting = waiting.and_then(|(pending, id)| pending.remove(&id));
                let answer = match (result, error) {
                    (_, Some(error)) => Err(error),
                    (Some(result), None) => Ok(result),
                    (None, None) => Ok(RawValue::NULL.to_owned()),
                };
                // None: it timed out or was dropped.
                if let Some(waiting) = waiting {
                    let _ = waiting.sender.send(Incoming::Answer(answer));
                }
            }
            Message { error: Some(error), .. } => {
                return Err(format!("an error that belongs to no request: {error}"));
            }
            Message { .. } => return Err("an answer without an id".to_owned()),
        }
        Ok(())
    }

    fn keep_stderr(&self, mut stderr: ChildStderr) {
        let mut chunk = [0; 4096];
        while let Ok(read @ 1..) = stderr.read(&mut chunk) {
            let mut kept = lock(&self.stderr);
            kept.extend_from_slice(&chunk[..read]);
            let surplus = kept.len().saturating_sub(STDERR_KEPT);
            kept.drain(..surplus);
        }
    }
}

fn line<P: Serialize>(
    id: Option<u64>,
    method: &'static str,
    params: &P,
) -> Result<Vec<u8>, ClientError> {
    let mut line = serde_json::to_vec(&Request { jsonrpc: "2.0", id, method, params })
        .map_err(|error| ClientError::Protocol(error.to_string()))?;
    if line.len() > MAX_MESSAGE_BYTES {
        return Err(ClientError::TooLarge(line.len()));
    }
    line.push(b'\n');
    Ok(line)
}

fn write_lines(mut stdin: ChildStdin, lines: &Receiver<Vec<u8>>) {
    for line in lines {
        if stdin.write_all(&line).is_err() {
            return;
        }
    }
}

/// A panic while a lock is held leaves plain data behind: it stays usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
