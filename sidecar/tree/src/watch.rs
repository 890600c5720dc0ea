use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Why work ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    #[error("cancelled")]
    Cancelled,
    #[error("the time budget is spent")]
    Deadline,
}

/// Which part of a request is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Index,
    Rank,
    Model,
}

/// Progress for whoever asked: shown, never acted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub stage: Stage,
    /// Turns and tool calls so far; zero before the model.
    pub turn: u32,
    pub tool_calls: u32,
    /// A few words, such as `3,100 of 6,712 files`.
    pub message: String,
    /// Paths found so far, best first, once they are known.
    pub candidates: Option<Vec<String>>,
}

/// Where events go.
pub type Sink = Arc<dyn Fn(Event) + Send + Sync>;

/// Cancel flag, deadline and event sink, handed down everywhere and checked in every loop.
///
/// Clones share the cancel flag. [`Watch::within`] makes a child with a nearer deadline.
#[derive(Clone)]
pub struct Watch {
    cancelled: Arc<AtomicBool>,
    deadline: Option<Instant>,
    sink: Option<Sink>,
}

impl Watch {
    /// Never stops by itself; reports to nobody.
    pub fn idle() -> Self {
        Self { cancelled: Arc::new(AtomicBool::new(false)), deadline: None, sink: None }
    }

    pub fn new(deadline: Option<Instant>, sink: Option<Sink>) -> Self {
        Self { cancelled: Arc::new(AtomicBool::new(false)), deadline, sink }
    }

    /// The same watch with at most `time` from now left.
    pub fn within(&self, time: Duration) -> Self {
        // A time beyond what the clock can hold is no deadline.
        let near = Instant::now().checked_add(time);
        Self { deadline: self.deadline.into_iter().chain(near).min(), ..self.clone() }
    }

    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Time left before the deadline; `None` when there is none.
    pub fn left(&self) -> Option<Duration> {
        self.deadline.map(|d| d.saturating_duration_since(Instant::now()))
    }

    /// Call in every loop. Cancellation wins over the deadline.
    pub fn check(&self) -> Result<(), Stop> {
        if self.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Stop::Deadline),
            _ => Ok(()),
        }
    }

    pub fn report(&self, event: Event) {
        if let Some(sink) = &self.sink {
            sink(event);
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("cancelled", &self.is_cancelled())
            .field("left", &self.left())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_shares_the_cancel_flag_and_has_the_nearer_deadline() {
        let parent = Watch::new(Some(Instant::now() + Duration::from_secs(60)), None);
        let child = parent.within(Duration::ZERO);
        assert_eq!(child.check(), Err(Stop::Deadline));
        assert_eq!(parent.check(), Ok(()));
        assert!(
            parent.within(Duration::from_secs(3600)).left().unwrap() <= Duration::from_secs(60)
        );
        assert_eq!(Watch::idle().within(Duration::MAX).deadline(), None);
        child.cancel();
        assert_eq!(parent.check(), Err(Stop::Cancelled));
    }
}
