use std::time::Instant;

use codegrep_agent::tools::Pool;
use codegrep_index::Store;
use codegrep_rank::{Ranker, Weights};

use super::models::Models;
use crate::config::Settings;

/// What requests share: indexes, models, the tools' threads.
pub struct Engines {
    pub settings: Settings,
    pub ranker: Ranker,
    pub pool: Pool,
    pub models: Models,
    pub started: Instant,
}

impl Engines {
    /// Nothing is loaded or indexed before it is asked for.
    pub fn new(settings: Settings) -> Self {
        Self {
            models: Models::default(),
            ranker: Ranker::new(
                Store::default().kept_in(settings.places.cache.join("history")),
                Weights::built_in(),
            ),
            pool: Pool::default(),
            started: Instant::now(),
            settings,
        }
    }
}
