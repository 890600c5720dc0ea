use std::path::PathBuf;

use codegrep_model::remote::RemoteConfig;
use codegrep_model::store::{Kind, Store};
use codegrep_model::{AdapterConfig, ModelConfig};

use super::models::{Lazy, Models};
use crate::config::{ModelChoice, Settings};
use crate::failure::Failure;

/// A model that can be opened, under the name people know it by.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    pub name: String,
    /// The name of the adapter.
    pub adapter: Option<String>,
    pub config: ModelConfig,
}

impl Models {
    /// The model a request gets; its loading begins here.
    pub fn choose(
        &self,
        choice: &ModelChoice,
        adapter: Option<&str>,
        settings: &Settings,
    ) -> Result<Option<Lazy>, Failure> {
        let chosen = choose(choice, adapter, settings)?;
        Ok(chosen.map(|chosen| self.get(chosen)))
    }
}

/// What `choice` stands for on this machine now; `Err` says why it stands for nothing.
pub fn choose(
    choice: &ModelChoice,
    adapter: Option<&str>,
    settings: &Settings,
) -> Result<Option<Chosen>, Failure> {
    let Some(mut chosen) = model(choice, settings)? else {
        return match adapter {
            None => Ok(None),
            Some(adapter) => {
                Err(Failure::environment(format!("the adapter {adapter:?} has no model to change")))
            }
        };
    };
    if let Some(name) = adapter {
        let ModelConfig::Llama(config) = &mut chosen.config else {
            let message = format!("the adapter {name:?} needs a model that runs in this process");
            return Err(Failure::usage(message));
        };
        let path = installed(name, Kind::Adapter, settings)?;
        config.adapter = Some(AdapterConfig { path, scale: 1.0 });
        chosen.adapter = Some(name.to_owned());
    }
    Ok(Some(chosen))
}

fn model(choice: &ModelChoice, settings: &Settings) -> Result<Option<Chosen>, Failure> {
    let (name, config) = match choice {
        ModelChoice::None => return Ok(None),
        ModelChoice::Auto => {
            return match &settings.model.value {
                ModelChoice::Auto => Ok(default_of(settings)),
                set => model(set, settings),
            };
        }
        ModelChoice::Named(name) => match settings.endpoints.get(name) {
            Some(endpoint) => (name.clone(), ModelConfig::OpenAi(endpoint.clone())),
            None => {
                let path = installed(name, Kind::Model, settings)?;
                (name.clone(), ModelConfig::Llama(settings.llama(path)))
            }
        },
        ModelChoice::File(path) => {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (name, ModelConfig::Llama(settings.llama(path.clone())))
        }
        ModelChoice::Endpoint(url) => {
            let (base, name) = url.split_once('#').unwrap_or((url, ""));
            let shown = if name.is_empty() { base } else { name };
            let api_key = settings.api_key.clone();
            let config = RemoteConfig { api_key, ..RemoteConfig::new(base, name) };
            (shown.to_owned(), ModelConfig::OpenAi(config))
        }
        ModelChoice::Scripted(path) => (choice.to_string(), ModelConfig::Scripted(path.clone())),
    };
    Ok(Some(Chosen { name, adapter: None, config }))
}

/// Where the user's settings name no model: the one that was added last, if it can be run.
fn default_of(settings: &Settings) -> Option<Chosen> {
    if !cfg!(feature = "llama") {
        return None;
    }
    let stored = Store::at(&settings.places.models).list().ok()?;
    let usable = stored
        .into_iter()
        .filter(|stored| stored.manifest.kind == Kind::Model && stored.broken.is_none());
    let last = usable.max_by(|a, b| a.manifest.added.cmp(&b.manifest.added))?;
    let config = ModelConfig::Llama(settings.llama(last.path));
    Some(Chosen { name: last.manifest.name, adapter: None, config })
}

/// Where the model or adapter of this name lies.
fn installed(name: &str, kind: Kind, settings: &Settings) -> Result<PathBuf, Failure> {
    let stored = Store::at(&settings.places.models)
        .find(name)
        .map_err(|error| Failure::environment(error.to_string()).hint(error.hint().to_owned()))?;
    if stored.manifest.kind != kind {
        let (is, not) = match kind {
            Kind::Model => ("an adapter", "a model"),
            Kind::Adapter => ("a model", "an adapter"),
        };
        return Err(Failure::usage(format!("{name:?} is {is}, not {not}"))
            .hint("`codegrep model list` shows which is which"));
    }
    match stored.broken {
        Some(why) => Err(Failure::environment(format!("{name:?} cannot be used: {why}"))
            .hint("`codegrep model add` takes it again")),
        None => Ok(stored.path),
    }
}
