use std::time::Duration;

use codegrep_agent::ModelError;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::OnceCell;

use super::config::Timeouts;
use super::fault::{Fault, excerpt, is_html, overlong, protocol, retry_after, unavailable};
use super::{ApiKey, RemoteConfig};
use crate::http::{self, Trouble};

/// Bytes of an error's body that are read.
const ERROR_BODY: usize = 64 << 10;
/// Bytes of a list of models that are read.
const MODELS_BODY: usize = 4 << 20;

/// A model that the endpoint offers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Offered {
    /// The name to ask for it by.
    pub id: String,
    /// Its context window in tokens, where the server says (vLLM does).
    #[serde(rename = "max_model_len")]
    pub context_tokens: Option<u32>,
}

/// One server, and the right to use it.
pub(super) struct Endpoint {
    client: Client,
    base: Url,
    key: Option<HeaderValue>,
    key_env: Option<String>,
    /// The model asked for; empty: the only one there is.
    model: String,
    only: OnceCell<String>,
    pub timeouts: Timeouts,
}

impl Endpoint {
    /// Connects to nothing yet. Errors: `Unavailable` with what is wrong in the settings.
    pub(super) fn new(config: &RemoteConfig) -> Result<Self, ModelError> {
        let base = base_url(&config.base_url)?;
        let timeouts = config.timeouts();
        let client = http::client(&base, timeouts.connect).map_err(|e| trouble(&e, &base))?;
        Ok(Self {
            client,
            key: key(config)?,
            key_env: config.api_key_env.clone(),
            model: config.model.trim().to_owned(),
            only: OnceCell::new(),
            timeouts,
            base,
        })
    }

    /// Scheme, host and port, for messages.
    pub(super) fn origin(&self) -> String {
        http::origin(&self.base)
    }

    /// The model's name, as far as it is known.
    pub(super) fn known_model(&self) -> Option<&str> {
        match self.model.as_str() {
            "" => self.only.get().map(String::as_str),
            name => Some(name),
        }
    }

    /// The model's name; asked for once where none is set.
    pub(super) async fn model(&self) -> Result<&str, Fault> {
        if !self.model.is_empty() {
            return Ok(&self.model);
        }
        let only = self.only.get_or_try_init(async || {
            let offered = self.models().await?;
            match offered.as_slice() {
                [only] => Ok(only.id.clone()),
                _ => Err(Fault::Final(unavailable(
                    format!("{} offers {} models, and none is named", self.origin(), offered.len()),
                    match offered.is_empty() {
                        true => String::from("load one into the server first"),
                        false => format!("name one of: {}", offers(&offered)),
                    },
                ))),
            }
        });
        only.await.map(String::as_str)
    }

    /// Sends a chat request; a response is one with status 200.
    pub(super) async fn chat(&self, body: &Map<String, Value>) -> Result<Response, Fault> {
        let request = self
            .client
            .post(self.url("chat/completions"))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(Value::Object(body.clone()).to_string());
        let response = self.send(request, self.timeouts.first).await?;
        match response.status() {
            StatusCode::OK => Ok(response),
            status => Err(self.refusal(status, response).await),
        }
    }

    /// The models the endpoint offers.
    pub(super) async fn models(&self) -> Result<Vec<Offered>, Fault> {
        #[derive(Deserialize)]
        struct List {
            data: Vec<Offered>,
        }
        let patience = Duration::from_secs(10);
        let response = self.send(self.client.get(self.url("models")), patience).await?;
        let status = response.status();
        if status != StatusCode::OK {
            return Err(self.refusal_of(status, response).await);
        }
        let text = http::text(response, MODELS_BODY, patience).await;
        match serde_json::from_str::<List>(&text) {
            Ok(list) => Ok(list.data),
            Err(_) => Err(Fault::Final(protocol(
                format!("{} answered {} instead of a list of models", self.origin(), nature(&text)),
                WRONG_PLACE,
            ))),
        }
    }

    async fn send(&self, request: RequestBuilder, patience: Duration) -> Result<Response, Fault> {
        let request = match &self.key {
            Some(key) => request.header(AUTHORIZATION, key.clone()),
            None => request,
        };
        match tokio::time::timeout(patience, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => {
                let trouble = Trouble::of(&error);
                let explained = self::trouble(&error, &self.base);
                Err(match trouble {
                    Trouble::Closed => Fault::passing(explained),
                    _ if trouble.may_pass() => Fault::Unreached(explained),
                    _ => Fault::Final(explained),
                })
            }
            Err(_) => Err(Fault::Final(hangs(&self.origin(), "did not begin to answer", patience))),
        }
    }

    /// What a chat request's status other than 200 means.
    async fn refusal(&self, status: StatusCode, response: Response) -> Fault {
        let fault = self.refusal_of(status, response).await;
        match fault {
            Fault::Rejected { status: 404, text } => Fault::Final(self.not_found(&text).await),
            fault => fault,
        }
    }

    async fn refusal_of(&self, status: StatusCode, response: Response) -> Fault {
        let origin = self.origin();
        let after = retry_after(response.headers());
        if status.is_redirection() {
            let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            return Fault::Final(protocol(
                format!("{origin} redirects to {}", excerpt(target.unwrap_or("nowhere"))),
                "set base_url to the address it redirects to, if you trust it: redirects are not \
                 followed, as they would take the key along",
            ));
        }
        let text = http::text(response, ERROR_BODY, self.timeouts.idle).await;
        let said = excerpt(&text);
        let message = format!("{origin} answered {}: {said}", status.as_u16());
        match status.as_u16() {
            400 | 413 | 422 => {
                overlong(&text).unwrap_or(Fault::Rejected { status: status.as_u16(), text: said })
            }
            401 | 403 => Fault::Final(unavailable(message, self.key_hint())),
            402 => Fault::Final(unavailable(message, "the account behind the key cannot pay")),
            429 if text.contains("insufficient_quota") => {
                Fault::Final(unavailable(message, "the account behind the key has no quota left"))
            }
            404 => Fault::Rejected { status: 404, text: said },
            408 | 425 | 429 => Fault::Passing {
                error: unavailable(message, "the server is busy; try again later"),
                after,
            },
            // llama-server without --jinja, and others, name what they cannot do in a 500.
            500 | 501 if names_a_feature(&said) => {
                Fault::Rejected { status: status.as_u16(), text: said }
            }
            500..=599 => Fault::Passing {
                error: unavailable(message, "look into the server's own log"),
                after,
            },
            _ => Fault::Final(protocol(message, WRONG_PLACE)),
        }
    }

    /// Tells a wrong path from a model that is not there.
    async fn not_found(&self, said: &str) -> ModelError {
        let origin = self.origin();
        match self.models().await {
            Ok(offered) if offered.iter().any(|offer| offer.id == self.model) => {
                protocol(format!("{origin} answered 404: {said}"), WRONG_PLACE)
            }
            Ok(offered) => unavailable(
                format!("{origin} does not offer the model {}", self.model),
                match offers(&offered) {
                    list if list.is_empty() => String::from("it offers none: load one first"),
                    list => format!("it offers: {list}"),
                },
            ),
            Err(_) => protocol(
                format!("{origin} has no chat completions at {}", self.base.path()),
                WRONG_PLACE,
            ),
        }
    }

    fn key_hint(&self) -> String {
        match (&self.key_env, &self.key) {
            (Some(name), _) => format!("check the key in the environment variable {name}"),
            (None, Some(_)) => String::from("check the key in the configuration"),
            (None, None) => {
                String::from("it wants a key: name its environment variable in `api_key_env`")
            }
        }
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        url
    }
}

/// The first names, for a hint.
pub(super) fn offers(offered: &[Offered]) -> String {
    let mut names: Vec<&str> = offered.iter().take(10).map(|offer| offer.id.as_str()).collect();
    if offered.len() > names.len() {
        names.push("…");
    }
    names.join(", ")
}

pub(super) const WRONG_PLACE: &str =
    "check base_url: it should be an OpenAI-compatible API and usually ends in /v1";

/// What a body is that is not what was asked for.
pub(super) fn nature(text: &str) -> String {
    if text.trim().is_empty() {
        String::from("nothing")
    } else if is_html(text) {
        String::from("a web page")
    } else {
        format!("`{}`", excerpt(text).chars().take(80).collect::<String>())
    }
}

pub(super) fn hangs(origin: &str, what: &str, patience: Duration) -> ModelError {
    unavailable(
        format!("{origin} {what} for {} s", patience.as_secs_f64()),
        "look whether the server is stuck or overloaded, or allow more time in the settings",
    )
}

fn names_a_feature(said: &str) -> bool {
    ["tools", "tool_choice", "tool choice", "jinja", "response_format", "json_schema", "grammar"]
        .iter()
        .any(|name| said.contains(name))
}

fn trouble(error: &reqwest::Error, base: &Url) -> ModelError {
    let trouble = Trouble::of(error);
    let hint = trouble.hint().unwrap_or("start the model server, or correct base_url");
    unavailable(trouble.text(&http::origin(base)), hint)
}

fn base_url(text: &str) -> Result<Url, ModelError> {
    let wrong = |what: &str, hint: &str| Err(unavailable(format!("base_url {what}"), hint));
    let example = "write it like http://localhost:8080/v1";
    let mut url = match Url::parse(text.trim()) {
        Ok(url) => url,
        Err(error) => return wrong(&format!("{text:?} is no address: {error}"), example),
    };
    if !matches!(url.scheme(), "http" | "https") {
        return wrong(&format!("{text:?} is neither http nor https"), example);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return wrong("holds a user name or password", "put the key in `api_key_env`");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return wrong(&format!("{text:?} has something after the path"), example);
    }
    if url.path() == "/" {
        url.set_path("/v1");
    }
    Ok(url)
}

fn key(config: &RemoteConfig) -> Result<Option<HeaderValue>, ModelError> {
    let from_env = || -> Result<Option<ApiKey>, ModelError> {
        let Some(name) = &config.api_key_env else { return Ok(None) };
        match std::env::var(name) {
            Ok(key) if !key.trim().is_empty() => Ok(Some(key.into())),
            _ => Err(unavailable(
                format!("the environment variable {name} holds no key"),
                format!("set {name} to the endpoint's key, or remove `api_key_env`"),
            )),
        }
    };
    let Some(key) = config.api_key.clone().map_or_else(from_env, |key| Ok(Some(key)))? else {
        return Ok(None);
    };
    match HeaderValue::try_from(format!("Bearer {}", key.reveal().trim())) {
        Ok(mut value) => {
            value.set_sensitive(true);
            Ok(Some(value))
        }
        Err(_) => Err(unavailable(
            String::from("the endpoint's key holds characters that no key can hold"),
            "copy it again, on one line",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_checked_and_completed() {
        for (text, want) in [
            ("http://localhost:8080", Ok("http://localhost:8080/v1/models")),
            (" https://api.example.com/v1/ ", Ok("https://api.example.com/v1/models")),
            ("https://example.com/openai/x", Ok("https://example.com/openai/x/models")),
            ("localhost:8080", Err("base_url \"localhost:8080\" is neither http nor https")),
            (
                "file:///etc/passwd",
                Err("base_url \"file:///etc/passwd\" is neither http nor https"),
            ),
            ("", Err("base_url \"\" is no address: relative URL without a base")),
            ("http://me:secret@host/v1", Err("base_url holds a user name or password")),
            (
                "http://host/v1?x=1",
                Err("base_url \"http://host/v1?x=1\" has something after the path"),
            ),
        ] {
            let got = Endpoint::new(&RemoteConfig::new(text, "m"))
                .map(|endpoint| endpoint.url("models").to_string())
                .map_err(|error| error.to_string());
            assert_eq!(got, want.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn a_missing_or_impossible_key_is_said_before_anything_is_sent() {
        let config = RemoteConfig {
            api_key_env: Some(String::from("CODEGREP_TEST_NO_SUCH_KEY")),
            ..RemoteConfig::new("http://localhost", "m")
        };
        let error = Endpoint::new(&config).err().unwrap();
        assert_eq!(
            error.to_string(),
            "the environment variable CODEGREP_TEST_NO_SUCH_KEY holds no key"
        );
        let config = RemoteConfig { api_key: Some(String::from("a\nb").into()), ..config };
        let error = Endpoint::new(&config).err().unwrap();
        assert_eq!(error.to_string(), "the endpoint's key holds characters that no key can hold");
    }
}
