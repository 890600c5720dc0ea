use std::time::Duration;

use codegrep_model::ModelConfig;
use codegrep_model::store::{Kind, Store};
use codegrep_plugin_sdk::{ListedModel, ModelList, ModelListResponse, NoParams};
use codegrep_tree::Watch;

use crate::config::{ModelChoice, Settings};
use crate::core::{Engines, Serve, choose};
use crate::failure::Failure;

impl Serve for ModelList {
    fn budget(_: &NoParams, _: &Settings) -> Duration {
        super::BUDGET
    }

    fn serve(_: NoParams, engines: &Engines, _: &Watch) -> Result<ModelListResponse, Failure> {
        let settings = &engines.settings;
        let stored = Store::at(&settings.places.models).list().map_err(|error| {
            Failure::environment(error.to_string()).hint(error.hint().to_owned())
        })?;
        let files = stored
            .into_iter()
            .filter(|stored| stored.manifest.kind == Kind::Model && stored.broken.is_none());
        let files = files.map(|stored| ListedModel {
            loaded: engines.models.has(&ModelConfig::Llama(settings.llama(stored.path.clone()))),
            name: stored.manifest.name,
            bytes: Some(stored.manifest.bytes),
            path: Some(stored.path.to_string_lossy().into_owned()),
        });
        let endpoints = settings.endpoints.iter().map(|(name, endpoint)| ListedModel {
            loaded: engines.models.has(&ModelConfig::OpenAi(endpoint.clone())),
            name: name.clone(),
            bytes: None,
            path: None,
        });
        let mut models: Vec<ListedModel> = files.chain(endpoints).collect();
        models.sort_by(|a, b| a.name.cmp(&b.name));
        let auto = choose(&ModelChoice::Auto, None, settings).ok().flatten();
        Ok(ModelListResponse { models, auto: auto.map(|chosen| chosen.name) })
    }
}
