use std::time::Instant;

use codegrep_agent::tools::Pool;
use codegrep_index::Store;
use codegrep_rank::{Ranker, Weights, WeightsError};

use super::models::Models;
use crate::config::Settings;
use crate::failure::Failure;

/// What requests share: indexes, models, the tools' threads.
pub struct Engines {
    pub settings: Settings,
    pub ranker: Ranker,
    pub pool: Pool,
    pub models: Models,
    pub started: Instant,
}

impl Engines {
    /// Nothing is indexed and no model is loaded before it is asked for.
    ///
    /// # Errors
    /// The settings name a file of weights that is none.
    pub fn new(settings: Settings) -> Result<Self, Failure> {
        let weights = weights(&settings)?;
        Ok(Self {
            models: Models::default(),
            ranker: Ranker::new(
                Store::default().kept_in(settings.places.cache.join("history")),
                weights,
            ),
            pool: Pool::default(),
            started: Instant::now(),
            settings,
        })
    }
}

fn weights(settings: &Settings) -> Result<Weights, Failure> {
    let Some(file) = &settings.weights.value else { return Ok(Weights::built_in()) };
    Weights::read(file).map_err(|error| {
        let file = file.display();
        let why = match &error {
            WeightsError::Read { source, .. } => source.to_string(),
            other => other.to_string(),
        };
        Failure::config(format!("the weights {file} (from {}): {why}", settings.weights.source))
            .hint("make them with `codegrep-train lexical`, or leave the setting `weights` out")
    })
}
