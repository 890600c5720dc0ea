use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codegrep_model::LlamaConfig;
use codegrep_model::remote::{ApiKey, RemoteConfig};

use super::layer::{Layer, LlamaLayer, Source, env_layer, file_layer};
use super::{Given, ModelChoice, Places};
use crate::failure::Failure;
use crate::requests::PROFILES;

/// The most files any request may want.
pub const MAX_FILES: usize = 100;

/// Context windows that a conversation fits into and a machine can have.
const CONTEXT_TOKENS: RangeInclusive<u32> = 512..=16_777_216;

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<T> {
    pub value: T,
    pub source: Source,
}

/// What the program runs with.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub places: Places,
    pub model: Setting<ModelChoice>,
    pub profile: Setting<String>,
    /// Of the ranker; `None`: the built-in ones.
    pub weights: Setting<Option<PathBuf>>,
    pub budget: Setting<Duration>,
    pub max_files: Setting<usize>,
    /// `None`: the ranker's own.
    pub bar: Setting<Option<f64>>,
    pub injection_tag: Setting<String>,
    pub any_root: Setting<bool>,
    pub feedback: Setting<bool>,
    pub daemon: Setting<bool>,
    pub workers: Setting<usize>,
    pub queue: Setting<usize>,
    pub endpoints: BTreeMap<String, RemoteConfig>,
    /// `CODEGREP_API_KEY`, for an endpoint that the command line names.
    pub api_key: Option<ApiKey>,
    /// How GGUF files are run; `None`: what the model, the machine or the build suggest.
    context_tokens: Setting<Option<u32>>,
    threads: Setting<Option<u32>>,
    gpu_layers: Setting<Option<u32>>,
    sequences: Setting<Option<u32>>,
}

impl Settings {
    /// The user's file, then the environment, then the command line; the later wins.
    pub fn load(places: Places, flags: Layer) -> Result<Self, Failure> {
        Self::of(&Given::here(places, flags)?)
    }

    /// The same for a process that was given this.
    pub fn of(given: &Given) -> Result<Self, Failure> {
        let config_file = &given.places.config_file;
        let layers = [
            (Source::File(config_file.clone()), file_layer(config_file)?),
            (Source::Env, env_layer(&given.variables)?),
            (Source::Flag, given.flags.clone()),
        ];
        Self::resolve(given, &layers)
    }

    fn resolve(given: &Given, layers: &[(Source, Layer)]) -> Result<Self, Failure> {
        let budget_ms = pick(layers, |layer| layer.budget_ms, 20_000);
        let max_files = pick(layers, |layer| layer.max_files, 3);
        let bar = pick(layers, |layer| layer.bar.map(Some), None);
        let tag = pick(layers, |layer| layer.injection_tag.clone(), "candidate_files".to_owned());
        let workers = pick(layers, |layer| layer.workers, 8);
        let queue = pick(layers, |layer| layer.queue, 64);
        let model = pick(layers, |layer| layer.model.clone(), "auto".to_owned());

        demand(
            "budget_ms",
            &budget_ms,
            (1..=3_600_000).contains(&budget_ms.value),
            "1 to 3600000",
        )?;
        let most = MAX_FILES as u32;
        demand("max_files", &max_files, (1..=most).contains(&max_files.value), "1 to 100")?;
        let probability = bar.value.is_none_or(|bar| (0.0..=1.0).contains(&bar));
        demand("bar", &bar.as_ref().map(|bar| bar.unwrap_or(0.0)), probability, "0 to 1")?;
        demand("workers", &workers, (1..=256).contains(&workers.value), "1 to 256")?;
        demand("queue", &queue, queue.value <= 65_536, "0 to 65536")?;
        demand("injection_tag", &tag, is_tag(&tag.value), "letters, digits, `_` and `-`")?;
        let profile = pick(layers, |layer| layer.profile.clone(), PROFILES[0].to_owned());
        let known = PROFILES.contains(&profile.value.as_str());
        demand("profile", &profile, known, &PROFILES.join(" or "))?;
        for (source, layer) in layers {
            for (name, endpoint) in &layer.endpoints {
                check_endpoint(name, endpoint, source)?;
            }
        }

        let base = |source: &Source| match source {
            Source::File(file) => file.parent().map(PathBuf::from).unwrap_or_default(),
            _ => given.folder.clone(),
        };
        let model_base = base(&model.source);
        let weights = pick(layers, |layer| layer.weights.clone().map(Some), None);
        let weights_base = base(&weights.source);
        type Get = fn(&LlamaLayer) -> Option<u32>;
        let of_llama = |name: &str, get: Get, range: RangeInclusive<u32>| {
            let setting = pick(layers, |layer| get(&layer.llama).map(Some), None);
            let holds = setting.value.is_none_or(|value| range.contains(&value));
            let text = format!("{} to {}", range.start(), range.end());
            demand(name, &setting.as_ref().map(|value| value.unwrap_or(0)), holds, &text)?;
            Ok::<_, Failure>(setting)
        };
        Ok(Self {
            places: given.places.clone(),
            model: model.map(|text| ModelChoice::parse(&text, &model_base)),
            profile,
            weights: weights.map(|file| file.map(|file| weights_base.join(file))),
            budget: budget_ms.map(Duration::from_millis),
            max_files: max_files.map(|files| files as usize),
            bar,
            injection_tag: tag,
            any_root: pick(layers, |layer| layer.any_root, false),
            feedback: pick(layers, |layer| layer.feedback, true),
            daemon: pick(layers, |layer| layer.daemon, true),
            workers: workers.map(|workers| workers as usize),
            queue: queue.map(|queue| queue as usize),
            endpoints: layers
                .iter()
                .flat_map(|(_, layer)| layer.endpoints.clone())
                .map(|(name, endpoint)| (name, with_key(endpoint, given)))
                .collect(),
            api_key: given.variables.get("CODEGREP_API_KEY").cloned().map(ApiKey::from),
            context_tokens: of_llama(
                "llama.context_tokens",
                |llama| llama.context_tokens,
                CONTEXT_TOKENS,
            )?,
            threads: of_llama("llama.threads", |llama| llama.threads, 1..=512)?,
            gpu_layers: of_llama("llama.gpu_layers", |llama| llama.gpu_layers, 0..=u32::MAX)?,
            sequences: of_llama("llama.sequences", |llama| llama.sequences, 1..=32)?,
        })
    }

    /// The user's own choice, if there is one: it goes before a repository's.
    pub fn max_files_if_set(&self) -> Option<usize> {
        (self.max_files.source != Source::Default).then_some(self.max_files.value)
    }

    /// Every value as it would stand in the settings file, and where it was written.
    pub fn rows(&self) -> Vec<(&'static str, String, &Source)> {
        fn row<'a, T>(
            name: &'static str,
            setting: &'a Setting<T>,
            value: impl FnOnce(&T) -> String,
        ) -> (&'static str, String, &'a Source) {
            (name, value(&setting.value), &setting.source)
        }
        fn quoted(text: &impl ToString) -> String {
            toml::Value::String(text.to_string()).to_string()
        }
        fn optional<T: ToString>(value: &Option<T>) -> String {
            value.as_ref().map_or("(automatic)".to_owned(), T::to_string)
        }
        vec![
            row("model", &self.model, quoted),
            row("profile", &self.profile, quoted),
            row("weights", &self.weights, |file| {
                file.as_ref().map_or("(built in)".to_owned(), |file| quoted(&file.display()))
            }),
            row("budget_ms", &self.budget, |budget| budget.as_millis().to_string()),
            row("max_files", &self.max_files, usize::to_string),
            row("bar", &self.bar, optional),
            row("injection_tag", &self.injection_tag, quoted),
            row("any_root", &self.any_root, bool::to_string),
            row("feedback", &self.feedback, bool::to_string),
            row("daemon", &self.daemon, bool::to_string),
            row("workers", &self.workers, usize::to_string),
            row("queue", &self.queue, usize::to_string),
            row("llama.context_tokens", &self.context_tokens, optional),
            row("llama.threads", &self.threads, optional),
            row("llama.gpu_layers", &self.gpu_layers, optional),
            row("llama.sequences", &self.sequences, optional),
        ]
    }

    /// How to run the GGUF file at `path`.
    pub fn llama(&self, path: PathBuf) -> LlamaConfig {
        let defaults = LlamaConfig::new(path);
        LlamaConfig {
            n_ctx: self.context_tokens.value.or(defaults.n_ctx),
            threads: self.threads.value.or(defaults.threads),
            gpu_layers: self.gpu_layers.value.unwrap_or(defaults.gpu_layers),
            sequences: self.sequences.value.unwrap_or(defaults.sequences),
            cache_dir: Some(self.places.cache.clone()),
            ..defaults
        }
    }
}

impl<T> Setting<T> {
    fn map<U>(self, f: impl FnOnce(T) -> U) -> Setting<U> {
        Setting { value: f(self.value), source: self.source }
    }

    fn as_ref(&self) -> Setting<&T> {
        Setting { value: &self.value, source: self.source.clone() }
    }
}

/// The key lies in a variable of the process that asks, not of the one that answers.
fn with_key(mut endpoint: RemoteConfig, given: &Given) -> RemoteConfig {
    let named = endpoint.api_key_env.as_ref().and_then(|name| given.variables.get(name));
    endpoint.api_key = endpoint.api_key.or_else(|| named.cloned().map(ApiKey::from));
    endpoint
}

fn pick<T>(
    layers: &[(Source, Layer)],
    get: impl Fn(&Layer) -> Option<T>,
    default: T,
) -> Setting<T> {
    layers
        .iter()
        .rev()
        .find_map(|(source, layer)| {
            get(layer).map(|value| Setting { value, source: source.clone() })
        })
        .unwrap_or(Setting { value: default, source: Source::Default })
}

fn demand<T: fmt::Display>(
    name: &str,
    setting: &Setting<T>,
    holds: bool,
    range: &str,
) -> Result<(), Failure> {
    if holds {
        return Ok(());
    }
    let message =
        format!("{name} is {} (from {}); it must be {range}", setting.value, setting.source);
    Err(match setting.source {
        Source::Flag => Failure::usage(message),
        _ => Failure::config(message),
    })
}

/// Refuses an endpoint that could never be asked.
fn check_endpoint(name: &str, endpoint: &RemoteConfig, source: &Source) -> Result<(), Failure> {
    let wrong = |what: String, hint: &str| {
        Err(Failure::config(format!("[endpoints.{name}] (from {source}) {what}")).hint(hint))
    };
    if ModelChoice::parse(name, Path::new("")) != ModelChoice::Named(name.to_owned()) {
        let hint = "give it a short name of its own";
        return wrong("has a name that `model` reads as something else".to_owned(), hint);
    }
    if endpoint.base_url.trim().is_empty() {
        let hint = "write it like base_url = \"http://localhost:8080/v1\"";
        return wrong("has no `base_url`".to_owned(), hint);
    }
    if !CONTEXT_TOKENS.contains(&endpoint.context_tokens) {
        let (least, most) = (CONTEXT_TOKENS.start(), CONTEXT_TOKENS.end());
        let tokens = endpoint.context_tokens;
        return wrong(format!("has context_tokens {tokens}; it must be {least} to {most}"), "");
    }
    for (key, value) in [
        ("connect_timeout_ms", endpoint.connect_timeout_ms),
        ("first_token_timeout_ms", endpoint.first_token_timeout_ms),
        ("idle_timeout_ms", endpoint.idle_timeout_ms),
    ] {
        if value == 0 {
            return wrong(format!("has {key} 0, which leaves no time at all"), "");
        }
    }
    Ok(())
}

/// The tag stands between `<` and `>` in a prompt: nothing in it may end it.
fn is_tag(tag: &str) -> bool {
    (1..=64).contains(&tag.len())
        && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn given() -> Given {
        let places = Places {
            config_file: "/c/config.toml".into(),
            models: "/m".into(),
            cache: "/k".into(),
            state: "/s".into(),
            run: "/r".into(),
        };
        let (variables, folder) = (BTreeMap::new(), "/w".into());
        Given { places, variables, folder, flags: Layer::default() }
    }

    #[test]
    fn the_later_layer_wins_and_its_source_is_kept() {
        let file = Layer { max_files: Some(5), model: Some("m.gguf".into()), ..Layer::default() };
        let flags = Layer { max_files: Some(2), ..Layer::default() };
        let file_source = Source::File("/c/config.toml".into());
        let layers = [(file_source.clone(), file), (Source::Flag, flags)];
        let settings = Settings::resolve(&given(), &layers).unwrap();
        assert_eq!(settings.max_files, Setting { value: 2, source: Source::Flag });
        let model = ModelChoice::File("/c/m.gguf".into());
        assert_eq!(settings.model, Setting { value: model, source: file_source });
        assert_eq!(settings.queue, Setting { value: 64, source: Source::Default });
    }

    #[test]
    fn a_value_out_of_range_names_its_source() {
        let bad = |layer| {
            let failure = Settings::resolve(&given(), &[(Source::Env, layer)]).unwrap_err();
            failure.message
        };
        expect!["max_files is 0 (from the environment); it must be 1 to 100"]
            .assert_eq(&bad(Layer { max_files: Some(0), ..Layer::default() }));
        expect!["bar is NaN (from the environment); it must be 0 to 1"]
            .assert_eq(&bad(Layer { bar: Some(f64::NAN), ..Layer::default() }));
        expect![
            "injection_tag is a> (from the environment); it must be letters, digits, `_` and `-`"
        ]
        .assert_eq(&bad(Layer { injection_tag: Some("a>".into()), ..Layer::default() }));
        expect!["profile is x (from the environment); it must be codegrep"]
            .assert_eq(&bad(Layer { profile: Some("x".into()), ..Layer::default() }));
        let llama = |llama| bad(Layer { llama, ..Layer::default() });
        let none = LlamaLayer::default;
        expect!["llama.context_tokens is 1 (from the environment); it must be 512 to 16777216"]
            .assert_eq(&llama(LlamaLayer { context_tokens: Some(1), ..none() }));
        for bad in [0, u32::MAX] {
            let message = llama(LlamaLayer { threads: Some(bad), ..none() });
            assert!(message.ends_with("it must be 1 to 512"), "{message}");
            let message = llama(LlamaLayer { sequences: Some(bad), ..none() });
            assert!(message.ends_with("it must be 1 to 32"), "{message}");
            llama(LlamaLayer { context_tokens: Some(bad), ..none() });
        }
        let endpoint = |name: &str, endpoint| {
            bad(Layer { endpoints: [(name.to_owned(), endpoint)].into(), ..Layer::default() })
        };
        let url = || RemoteConfig::new("http://h/v1", "");
        let said = [
            endpoint("team", RemoteConfig::default()),
            endpoint("auto", url()),
            endpoint("a/b", url()),
            endpoint("team", RemoteConfig { context_tokens: 0, ..url() }),
            endpoint("team", RemoteConfig { idle_timeout_ms: 0, ..url() }),
        ];
        expect![[r#"
            [endpoints.team] (from the environment) has no `base_url`
            [endpoints.auto] (from the environment) has a name that `model` reads as something else
            [endpoints.a/b] (from the environment) has a name that `model` reads as something else
            [endpoints.team] (from the environment) has context_tokens 0; it must be 512 to 16777216
            [endpoints.team] (from the environment) has idle_timeout_ms 0, which leaves no time at all"#]].assert_eq(&said.join("\n"));
    }
}
