use std::time::Duration;

use codegrep_agent::{Model as _, ModelError};
use codegrep_model::store::Store;
use codegrep_plugin_sdk::{
    AdapterLoad, AdapterLoadParams, AdapterLoadResponse, ModelLoad, ModelLoadParams,
    ModelLoadResponse,
};
use codegrep_tree::Watch;

use crate::config::{ModelChoice, Settings};
use crate::core::{Engines, Lazy, Serve};
use crate::failure::Failure;

/// Reading gigabytes from a slow disk takes its time.
const LOAD: Duration = Duration::from_secs(300);

impl Serve for ModelLoad {
    fn budget(_: &ModelLoadParams, _: &Settings) -> Duration {
        LOAD
    }

    fn serve(
        params: ModelLoadParams,
        engines: &Engines,
        watch: &Watch,
    ) -> Result<ModelLoadResponse, Failure> {
        let (lazy, took) = load(&params.model, None, engines, watch)?;
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let info = lazy.hashed(watch).map_err(|error| stopped(error, watch))?;
        Ok(ModelLoadResponse { model: info.name, hash: info.hash, ms })
    }
}

impl Serve for AdapterLoad {
    fn budget(_: &AdapterLoadParams, _: &Settings) -> Duration {
        LOAD
    }

    fn serve(
        params: AdapterLoadParams,
        engines: &Engines,
        watch: &Watch,
    ) -> Result<AdapterLoadResponse, Failure> {
        let (lazy, _) = load(&params.model, Some(&params.adapter), engines, watch)?;
        let stored = Store::at(&engines.settings.places.models).find(&params.adapter).ok();
        Ok(AdapterLoadResponse {
            adapter: params.adapter,
            model: lazy.info().name,
            hash: stored.map(|stored| stored.manifest.sha256),
        })
    }
}

fn stopped(error: ModelError, watch: &Watch) -> Failure {
    watch
        .check()
        .err()
        .map(Failure::from)
        .unwrap_or_else(|| Failure::environment(error.to_string()).hint(error.hint().to_owned()))
}

/// The model and how long it took to load; nothing when it was in memory. Here a model that cannot be had is an error: it is all that was asked for.
fn load(
    model: &str,
    adapter: Option<&str>,
    engines: &Engines,
    watch: &Watch,
) -> Result<(Lazy, Duration), Failure> {
    let choice = ModelChoice::of_request(model);
    let lazy = engines.models.choose(&choice, adapter, &engines.settings)?.ok_or_else(|| {
        Failure::environment(format!("{model:?} stands for no model on this machine"))
            .hint("`codegrep model pull` gets one, `codegrep model add` takes a file of yours")
    })?;
    let (_, took) = lazy.wait(watch).map_err(|error| stopped(error, watch))?;
    let took = if lazy.was_loaded { Duration::ZERO } else { took };
    Ok((lazy, took))
}
