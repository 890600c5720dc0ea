//! One core with its engines for each set of settings that clients have.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::SystemTime;

use crate::config::{Given, Settings};
use crate::core::{self, Engines, Event};
use crate::failure::Failure;

/// What clients of the same settings share.
pub struct Hub {
    pub events: Sender<Event>,
    pub engines: Arc<Engines>,
    core: Mutex<Option<JoinHandle<()>>>,
}

/// Sets of settings held besides those in use; more and the oldest unused goes.
const SPARE: usize = 4;

#[derive(Default)]
pub struct Hubs(Mutex<Vec<Known>>);

struct Known {
    /// When the file of weights that the settings name was written.
    weights: Option<SystemTime>,
    hub: Arc<Hub>,
}

impl Hubs {
    /// The one for a client that was given this. Its settings file is read anew, so that a change
    /// holds for the next client.
    pub fn of(&self, given: &Given) -> Result<Arc<Hub>, Failure> {
        let settings = Settings::of(given)?;
        let weights = settings.weights.value.as_ref();
        let weights = weights.and_then(|file| fs_err::metadata(file).ok()?.modified().ok());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |one: &Known| one.hub.engines.settings == settings && one.weights == weights;
        if let Some(at) = known.iter().position(same) {
            let one = known.remove(at);
            let hub = Arc::clone(&one.hub);
            known.push(one);
            return Ok(hub);
        }
        let engines = Arc::new(Engines::new(settings)?);
        let (events, core) = core::start(Arc::clone(&engines));
        let hub = Arc::new(Hub { events, engines, core: Mutex::new(Some(core)) });
        known.push(Known { weights, hub: Arc::clone(&hub) });
        let unused = |one: &Known| Arc::strong_count(&one.hub) == 1;
        while known.iter().filter(|one| unused(one)).count() > SPARE {
            let Some(at) = known.iter().position(unused) else { break };
            known.remove(at);
        }
        Ok(hub)
    }

    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Cancels what runs everywhere, and waits for it to end.
    pub fn close(&self) {
        let known = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for one in &known {
            let _ = one.hub.events.send(Event::Close);
        }
        for one in known {
            one.hub.join();
        }
    }
}

impl Hub {
    fn join(&self) {
        let core = self.core.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(core) = core {
            let _ = core.join();
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.events.send(Event::Close);
    }
}
