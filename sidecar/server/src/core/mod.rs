//! One ordered queue. Fronts only put events on it; jobs run on threads of their own and report
//! back to it; every job is answered exactly once, from here.

mod choose;
mod engines;
mod job;
mod models;
mod roots;
#[cfg(test)]
mod tests;
mod workspace;

use std::collections::{HashMap, VecDeque};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use codegrep_plugin_sdk::{ErrorKind, QueueInfo, code};
use codegrep_tree::{Stop, Watch};
use tokio::sync::oneshot;

pub use choose::{Chosen, choose};
pub use engines::Engines;
pub use job::{Answer, Job, JobId, Late, Run, Serve, deadline, serialise};
pub use models::Lazy;
pub use roots::{Root, file_path};
pub use workspace::Workspace;

use crate::failure::Failure;

/// Everything that can happen to the core.
pub enum Event {
    /// A front has a job.
    Submit(Job),
    /// A client no longer wants an answer; it gets the error that says so.
    Cancel(JobId),
    /// A job's thread is through.
    Finished(JobId, Answer),
    /// Somebody asks how busy it is.
    Ask(oneshot::Sender<QueueInfo>),
    /// Cancel everything, and end when the threads have ended.
    Close,
}

/// How long threads may take to notice that the core closes.
const GOODBYE: Duration = Duration::from_secs(2);

/// Starts the core on a thread of its own.
pub fn start(engines: Arc<Engines>) -> (Sender<Event>, thread::JoinHandle<()>) {
    let (sender, events) = mpsc::channel();
    let core = Core {
        workers: engines.settings.workers.value,
        capacity: engines.settings.queue.value,
        engines,
        events,
        sender: sender.clone(),
        waiting: VecDeque::new(),
        running: HashMap::new(),
    };
    (sender, thread::spawn(move || core.run()))
}

struct Core {
    engines: Arc<Engines>,
    workers: usize,
    capacity: usize,
    events: Receiver<Event>,
    /// For the threads of jobs.
    sender: Sender<Event>,
    waiting: VecDeque<Job>,
    running: HashMap<JobId, Running>,
}

/// What is kept of a job while its thread runs.
struct Running {
    watch: Watch,
    due: Instant,
    /// `None` once answered: cancelled, or out of time.
    open: Option<(oneshot::Sender<Answer>, job::Late)>,
}

impl Core {
    fn run(mut self) {
        loop {
            let event = match self.next_due() {
                None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => {
                    self.events.recv_timeout(due.saturating_duration_since(Instant::now()))
                }
            };
            match event {
                Ok(Event::Submit(job)) => self.submit(job),
                Ok(Event::Cancel(id)) => self.cancel(id),
                Ok(Event::Finished(id, answer)) => {
                    if let Some((reply, _)) = self.running.remove(&id).and_then(|job| job.open) {
                        send(reply, answer);
                    }
                }
                Ok(Event::Ask(reply)) => {
                    let _ = reply.send(self.info());
                }
                // What is due is seen to below.
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::Close) | Err(RecvTimeoutError::Disconnected) => return self.close(),
            }
            while self.running.len() < self.workers
                && let Some(job) = self.waiting.pop_front()
            {
                self.start(job);
            }
            self.expire();
        }
    }

    fn info(&self) -> QueueInfo {
        QueueInfo {
            running: self.running.len() as u32,
            waiting: self.waiting.len() as u32,
            workers: self.workers as u32,
            capacity: self.capacity as u32,
        }
    }

    fn submit(&mut self, job: Job) {
        if self.running.len() >= self.workers && self.waiting.len() >= self.capacity {
            let running = self.running.len();
            send(
                job.reply,
                Err(overloaded(format!("{running} requests run and the queue is full"))),
            );
        } else {
            self.waiting.push_back(job);
        }
    }

    fn start(&mut self, job: Job) {
        let Job { id, name, due, deadline, sink, run, late, reply } = job;
        let watch = Watch::new(Some(deadline), sink);
        let (engines, sender, seen) =
            (Arc::clone(&self.engines), self.sender.clone(), watch.clone());
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let answer = panic::catch_unwind(AssertUnwindSafe(|| run(&engines, &seen)));
            let answer = answer.unwrap_or_else(|cause| {
                Err(Failure::internal(format!("{name} failed: {}", words(&*cause))))
            });
            // The core outlives its jobs unless the process is ending.
            let _ = sender.send(Event::Finished(id, answer));
        });
        match spawned {
            Ok(_) => {
                self.running.insert(id, Running { watch, due, open: Some((reply, late)) });
            }
            Err(error) => {
                send(reply, Err(overloaded(format!("no thread can be started: {error}"))))
            }
        }
    }

    fn cancel(&mut self, id: JobId) {
        if let Some(at) = self.waiting.iter().position(|job| job.id == id) {
            if let Some(job) = self.waiting.remove(at) {
                send(job.reply, Err(Stop::Cancelled.into()));
            }
        } else if let Some(job) = self.running.get_mut(&id) {
            job.watch.cancel();
            if let Some((reply, _)) = job.open.take() {
                send(reply, Err(Stop::Cancelled.into()));
            }
        }
    }

    /// When the next job has to be answered, whether or not its thread is through.
    fn next_due(&self) -> Option<Instant> {
        let running = self.running.values().filter(|job| job.open.is_some()).map(|job| job.due);
        running.chain(self.waiting.iter().map(|job| job.due)).min()
    }

    fn expire(&mut self) {
        let now = Instant::now();
        let (late, waiting) = self.waiting.drain(..).partition(|job| job.due <= now);
        self.waiting = waiting;
        for job in Vec::from(late) {
            send(job.reply, Err(overloaded("no worker came free within the time budget".into())));
        }
        for job in self.running.values_mut().filter(|job| job.due <= now) {
            if let Some((reply, late)) = job.open.take() {
                job.watch.cancel();
                send(reply, late());
            }
        }
    }

    fn close(mut self) {
        let waiting = self.waiting.iter().map(|job| job.id);
        let all: Vec<JobId> = waiting.chain(self.running.keys().copied()).collect();
        for id in all {
            self.cancel(id);
        }
        let patience = Instant::now() + GOODBYE;
        while !self.running.is_empty() {
            match self.events.recv_timeout(patience.saturating_duration_since(Instant::now())) {
                Ok(Event::Finished(id, _)) => {
                    self.running.remove(&id);
                }
                Ok(Event::Submit(job)) => send(job.reply, Err(Stop::Cancelled.into())),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

/// A client that no longer listens is no fault.
fn send(reply: oneshot::Sender<Answer>, answer: Answer) {
    let _ = reply.send(answer);
}

fn overloaded(why: String) -> Failure {
    Failure::wire(ErrorKind::Environment, code::OVERLOADED, format!("overloaded: {why}"))
        .hint("send it again when other requests have been answered")
}

/// What a panic said.
fn words(cause: &(dyn std::any::Any + Send)) -> &str {
    cause
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| cause.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}
