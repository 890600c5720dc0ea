use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use tokio::sync::Notify;

/// Lines on their way to a client. Writing never waits: a client that does not read holds up
/// nobody, misses progress, and is given up when too much has piled up.
#[derive(Clone)]
pub struct Outbox {
    lines: Sender<Vec<u8>>,
    /// Bytes that the client has not taken.
    unread: Arc<AtomicUsize>,
    gone: Arc<Notify>,
}

/// With more than this unread, progress is left out.
const PROGRESS_LIMIT: usize = 64 << 10;
/// With more than this unread, nobody is there any more.
const LIMIT: usize = 64 << 20;

/// The writing end: [`Writer::run`] belongs on a thread of its own.
pub struct Writer {
    lines: Receiver<Vec<u8>>,
    unread: Arc<AtomicUsize>,
    gone: Arc<Notify>,
}

impl Outbox {
    pub fn new() -> (Self, Writer) {
        let (sender, lines) = mpsc::channel();
        let (unread, gone) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
        let writer = Writer { lines, unread: Arc::clone(&unread), gone: Arc::clone(&gone) };
        (Self { lines: sender, unread, gone }, writer)
    }

    /// Sends an answer.
    pub fn send(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        let unread = self.unread.fetch_add(line.len(), Ordering::Relaxed) + line.len();
        // Fails once the client has gone, which `gone` tells.
        let _ = self.lines.send(line);
        if unread > LIMIT {
            self.gone.notify_one();
        }
    }

    /// Sends what may be missed.
    pub fn send_if_read(&self, line: Vec<u8>) {
        if self.unread.load(Ordering::Relaxed) < PROGRESS_LIMIT {
            self.send(line);
        }
    }

    /// Resolves when the client has gone away.
    pub async fn gone(&self) {
        self.gone.notified().await;
    }

    /// Waits until everything is written, but not long: the client may not be reading.
    pub fn flush(&self, patience: Duration) {
        let step = Duration::from_millis(2);
        let mut waited = Duration::ZERO;
        while self.unread.load(Ordering::Acquire) > 0 && waited < patience {
            std::thread::sleep(step);
            waited += step;
        }
    }
}

impl Writer {
    /// Writes until nothing more can come or the client has gone.
    pub fn run(self, mut output: impl Write) {
        for line in &self.lines {
            if output.write_all(&line).and_then(|()| output.flush()).is_err() {
                // Nothing will ever be read again.
                self.unread.store(0, Ordering::Release);
                self.gone.notify_one();
                return;
            }
            self.unread.fetch_sub(line.len(), Ordering::AcqRel);
        }
    }
}
