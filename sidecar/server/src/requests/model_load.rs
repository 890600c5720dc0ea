use std::time::Duration;

use codegrep_agent::ModelInfo;
use codegrep_plugin_sdk::{
    AdapterLoad, AdapterLoadParams, AdapterLoadResponse, ModelLoad, ModelLoadParams,
    ModelLoadResponse,
};
use codegrep_tree::Watch;

use crate::config::{ModelChoice, Settings};
use crate::core::{Engines, Serve};
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
        let (info, took) = load(&params.model, None, engines, watch)?;
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
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
        let (info, _) = load(&params.model, Some(&params.adapter), engines, watch)?;
        Ok(AdapterLoadResponse { adapter: params.adapter, model: info.name, hash: info.hash })
    }
}

/// Here a model that cannot be had is an error: it is all that was asked for.
fn load(
    model: &str,
    adapter: Option<&str>,
    engines: &Engines,
    watch: &Watch,
) -> Result<(ModelInfo, Duration), Failure> {
    let choice = ModelChoice::of_request(model);
    let lazy = engines.models.choose(&choice, adapter, &engines.settings)?.ok_or_else(|| {
        Failure::environment(format!("{model:?} stands for no model on this machine"))
            .hint("`codegrep model pull` gets one, `codegrep model add` takes a file of yours")
    })?;
    let (model, took) = lazy.wait(watch).map_err(|error| {
        watch.check().err().map(Failure::from).unwrap_or_else(|| {
            Failure::environment(error.to_string()).hint(error.hint().to_owned())
        })
    })?;
    Ok((model.info(), took))
}
