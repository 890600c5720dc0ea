use std::time::{Duration, Instant};

use codegrep_agent::{Ask, Constraint, Message, ModelError, Sampling};
use codegrep_model::remote::{Offered, RemoteConfig, is_loopback, probe};
use codegrep_model::store::{Kind, Store, Stored};
use codegrep_model::{ModelConfig, open};
use codegrep_tree::Watch;

use super::Check;
use crate::config::{ModelChoice, Settings};
use crate::core::choose;

/// After which an endpoint counts as dead.
const PROBE: Duration = Duration::from_secs(5);
/// After which loading a model and hearing a word from it is given up.
const DEEP: Duration = Duration::from_secs(120);

/// The models and endpoints, and which of them requests get.
pub fn checks(settings: &Settings, deep: bool) -> Vec<Check> {
    let mut checks = Vec::new();
    match Store::at(&settings.places.models).list() {
        Ok(list) => checks.extend(list.iter().map(|stored| model(stored, settings, deep))),
        Err(error) => {
            checks.push(Check::warning("model", error.to_string(), error.hint()));
        }
    }
    checks.extend(
        settings.endpoints.iter().map(|(name, endpoint)| self::endpoint(name, endpoint, deep)),
    );
    checks.push(default(settings));
    checks
}

/// What answers a request that names no model.
fn default(settings: &Settings) -> Check {
    match choose(&ModelChoice::Auto, None, settings) {
        Ok(Some(chosen)) => Check::ok("default", format!("requests get the model {}", chosen.name)),
        Ok(None) => Check::ok("default", "word search answers without a model"),
        Err(failure) => {
            let source = &settings.model.source;
            let message = format!("{} (`model` is set by {source})", failure.message);
            Check::warning("default", message, failure.hint)
        }
    }
}

fn model(stored: &Stored, settings: &Settings, deep: bool) -> Check {
    let Stored { manifest, path, broken } = stored;
    let name = &manifest.name;
    if let Some(reason) = broken {
        return Check::warning(
            "model",
            format!("{name}: {reason}"),
            format!("add or pull it again, or `codegrep model remove {name}`"),
        );
    }
    if manifest.kind == Kind::Adapter {
        return Check::ok("model", format!("{name}: an adapter for {}", manifest.architecture));
    }
    if !cfg!(feature = "llama") {
        return Check::warning(
            "model",
            format!("{name}: whole, but this build cannot run it"),
            "`make install` in the checkout makes one that can",
        );
    }
    if !deep {
        return Check::ok("model", format!("{name}: its header is sound (--deep loads it)"));
    }
    heard(name, &ModelConfig::Llama(settings.llama(path.clone())))
}

fn endpoint(name: &str, endpoint: &RemoteConfig, deep: bool) -> Check {
    let watch = Watch::new(Some(Instant::now() + PROBE), None);
    let patient = RemoteConfig { retries: 0, ..endpoint.clone() };
    let offered = match probe(&patient, &watch) {
        Ok(offered) => offered,
        Err(ModelError::Stopped(_)) => {
            let message = format!("{name}: no answer within {} s", PROBE.as_secs());
            return Check::warning("endpoint", message, "look whether the server is stuck");
        }
        Err(error) => return Check::warning("endpoint", format!("{name}: {error}"), error.hint()),
    };
    let keyed = endpoint.api_key.is_some() || endpoint.api_key_env.is_some();
    if keyed && endpoint.base_url.starts_with("http:") && !is_loopback(&endpoint.base_url) {
        return Check::warning(
            "endpoint",
            format!("{name}: its key travels unencrypted to {}", endpoint.base_url),
            "use https://, or a tunnel to this machine",
        );
    }
    if let Some(check) = lacking(name, endpoint, &offered) {
        return check;
    }
    match deep {
        true => heard(name, &ModelConfig::OpenAi(patient)),
        false => Check::ok("endpoint", format!("{name}: {} answers", endpoint.base_url)),
    }
}

/// What is wrong with the offer.
fn lacking(name: &str, endpoint: &RemoteConfig, offered: &[Offered]) -> Option<Check> {
    let wanted = endpoint.model.as_str();
    let offer = match (wanted, offered) {
        ("", [only]) => only,
        _ => match offered.iter().find(|offer| offer.id == wanted) {
            Some(offer) => offer,
            None => {
                let some: Vec<&str> =
                    offered.iter().take(10).map(|offer| offer.id.as_str()).collect();
                return Some(Check::warning(
                    "endpoint",
                    format!("{name}: {} does not list the model {wanted:?}", endpoint.base_url),
                    format!("set `model` to one of: {}", some.join(", ")),
                ));
            }
        },
    };
    let context = offer.context_tokens.filter(|&context| context < endpoint.context_tokens)?;
    Some(Check::warning(
        "endpoint",
        format!(
            "{name}: its context has {context} tokens, and the settings say {}",
            endpoint.context_tokens
        ),
        format!("set `context_tokens = {context}`"),
    ))
}

/// Opens a model and has it say something.
fn heard(name: &str, config: &ModelConfig) -> Check {
    let started = Instant::now();
    let watch = Watch::new(Some(started + DEEP), None);
    let said = || -> Result<(Duration, Duration), ModelError> {
        let model = open(config, &watch)?;
        let mut chat = model.open(&watch)?;
        let loaded = started.elapsed();
        chat.push(&[
            Message::System { text: "You are a helpful assistant.".into(), tools: Vec::new() },
            Message::User("Say yes.".into()),
        ])?;
        let ask = Ask { constraint: Constraint::Free, max_tokens: 8, sampling: Sampling::GREEDY };
        chat.turn(&ask, &watch)?;
        Ok((loaded, started.elapsed() - loaded))
    };
    match said() {
        Ok((loaded, said)) => {
            let [loaded, said] = [loaded, said].map(|time| time.as_secs_f64());
            Check::ok("model", format!("{name}: opened in {loaded:.1} s, spoke after {said:.1} s"))
        }
        Err(error) => Check::warning("model", format!("{name}: {error}"), error.hint()),
    }
}
