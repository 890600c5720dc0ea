use std::path::PathBuf;

use codegrep_model::remote::RemoteConfig;
use codegrep_model::store::{Kind, Store};
use codegrep_model::{AdapterConfig, ModelConfig};

use super::models::{Lazy, Models};
use crate::config::{ModelChoice, Settings};

/// A model that can be opened, under the name people know it by.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    pub name: String,
    pub config: ModelConfig,
}

impl Models {
    /// The model a request gets; its loading begins here. A model that cannot be had is a warning
    /// and no error: the lexical engine answers.
    pub fn choose(
        &self,
        choice: &ModelChoice,
        adapter: Option<&str>,
        settings: &Settings,
    ) -> Result<Option<Lazy>, String> {
        let chosen = choose(choice, adapter, settings)?;
        Ok(chosen.map(|chosen| self.get(&chosen.config, &chosen.name)))
    }
}

/// What `choice` stands for on this machine now; `Err` says why it stands for nothing.
pub fn choose(
    choice: &ModelChoice,
    adapter: Option<&str>,
    settings: &Settings,
) -> Result<Option<Chosen>, String> {
    let Some(mut chosen) = model(choice, settings)? else {
        return match adapter {
            None => Ok(None),
            Some(adapter) => Err(format!("the adapter {adapter:?} is not used: there is no model")),
        };
    };
    if let Some(name) = adapter {
        let ModelConfig::Llama(config) = &mut chosen.config else {
            return Err(format!("the adapter {name:?} needs a model that runs in this process"));
        };
        let path = installed(name, Kind::Adapter, settings)?;
        config.adapter = Some(AdapterConfig { path, scale: 1.0 });
    }
    Ok(Some(chosen))
}

fn model(choice: &ModelChoice, settings: &Settings) -> Result<Option<Chosen>, String> {
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
            (shown.to_owned(), ModelConfig::OpenAi(RemoteConfig::new(base, name)))
        }
        ModelChoice::Scripted(path) => (choice.to_string(), ModelConfig::Scripted(path.clone())),
    };
    Ok(Some(Chosen { name, config }))
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
    Some(Chosen { name: last.manifest.name, config })
}

/// Where the model or adapter of this name lies.
fn installed(name: &str, kind: Kind, settings: &Settings) -> Result<PathBuf, String> {
    let what = match kind {
        Kind::Model => "model",
        Kind::Adapter => "adapter",
    };
    let failed = |why: &str, hint: &str| format!("the {what} {name:?} is not used: {why}; {hint}");
    let stored = Store::at(&settings.places.models)
        .find(name)
        .map_err(|error| format!("{error}; {}", error.hint()))?;
    if stored.manifest.kind != kind {
        return Err(failed(
            "it is of the other kind",
            "`codegrep model list` shows which is which",
        ));
    }
    match stored.broken {
        Some(why) => Err(failed(&why, "`codegrep model add` takes it again")),
        None => Ok(stored.path),
    }
}
