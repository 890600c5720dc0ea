use std::env;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use hf_hub::Cache;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, LOCATION, RANGE};
use reqwest::{Client, Method, Response, StatusCode, Url};
use serde::Deserialize;

use super::StoreError;
use super::hash::is_sha256;
use crate::http::{self, Trouble};

/// How long a hub may take to accept, to answer, and between two pieces of a file.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
const REDIRECTS: usize = 5;

/// A file of a repository of the hub: `OWNER/NAME/FILE.gguf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubFile {
    /// `OWNER/NAME`.
    pub repo: String,
    /// The file, with its folders.
    pub file: String,
}

impl FromStr for HubFile {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let wrong = || {
            StoreError::request(
                format!("{text:?} names no file of a hub"),
                "write it like Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/\
                 qwen2.5-coder-0.5b-instruct-q4_0.gguf",
            )
        };
        let plain = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-+ ".contains(c))
        };
        let parts: Vec<&str> = text.split('/').collect();
        match parts.as_slice() {
            [owner, name, file @ ..]
                if parts.iter().all(|part| plain(part))
                    && file.last().is_some_and(|file| file.ends_with(".gguf")) =>
            {
                Ok(Self { repo: format!("{owner}/{name}"), file: file.join("/") })
            }
            _ => Err(wrong()),
        }
    }
}

/// A model hub that speaks Hugging Face's protocol.
#[derive(Clone)]
pub struct Hub {
    endpoint: Url,
    token: Option<HeaderValue>,
    offline: bool,
    /// Where the hub's own tools keep what they downloaded.
    pub(super) cache: Option<Cache>,
}

/// What a hub says of a file before it is downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Promise {
    pub sha256: String,
    pub bytes: u64,
    pub commit: String,
}

impl Hub {
    /// The hub at this address, such as `https://huggingface.co`.
    pub fn at(endpoint: &str, token: Option<&str>) -> Result<Self, StoreError> {
        let url = Url::parse(endpoint).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let Some(endpoint) = url else {
            return Err(StoreError::request(
                format!("{endpoint:?} is no address of a hub"),
                "set HF_ENDPOINT to something like https://huggingface.co",
            ));
        };
        let token = token.map(|token| {
            let value = HeaderValue::try_from(format!("Bearer {}", token.trim()));
            value.map(|mut value| {
                value.set_sensitive(true);
                value
            })
        });
        let token = token.transpose().map_err(|_| {
            StoreError::request("the hub's token holds characters that no token can hold", "")
        })?;
        Ok(Self { endpoint, token, offline: false, cache: None })
    }

    /// As the user's environment has it: `HF_ENDPOINT`, `HF_TOKEN` or the token that the hub's
    /// own tools have stored, `HF_HUB_OFFLINE`, `HF_HOME`.
    pub fn of_this_user() -> Result<Self, StoreError> {
        let set = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
        let endpoint = set("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".into());
        let homeless = set("HF_HOME").is_none() && env::home_dir().is_none();
        let cache = (!homeless).then(Cache::from_env);
        let token = set("HF_TOKEN").or_else(|| cache.as_ref()?.token());
        let offline = set("HF_HUB_OFFLINE").is_some_and(|value| value != "0");
        Ok(Self { offline, cache, ..Self::at(&endpoint, token.as_deref())? })
    }

    /// Downloads nothing: only what is on this machine already can be had.
    pub fn offline(self) -> Self {
        Self { offline: true, ..self }
    }

    /// Looks into this folder of the hub's own tools first.
    pub fn with_cache(self, folder: PathBuf) -> Self {
        Self { cache: Some(Cache::new(folder)), ..self }
    }

    pub(super) fn endpoint(&self) -> &str {
        self.endpoint.as_str().trim_end_matches('/')
    }

    pub(super) fn client(&self) -> Result<Client, StoreError> {
        if self.offline {
            return Err(StoreError::hub(
                "HF_HUB_OFFLINE is set: nothing is downloaded",
                "unset it, or `codegrep model add` a file you have",
            ));
        }
        http::client(&self.endpoint, PATIENCE).map_err(|error| {
            let trouble = Trouble::of(&error);
            StoreError::hub(
                trouble.text(&http::origin(&self.endpoint)),
                trouble.hint().unwrap_or(""),
            )
        })
    }

    /// Where a file can be fetched by hand.
    pub(super) fn address(&self, wanted: &HubFile, revision: &str) -> Url {
        let mut url = self.endpoint.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(wanted.repo.split('/'));
            path.extend(["resolve", revision]).extend(wanted.file.split('/'));
        }
        url
    }

    /// What the hub has under this name now.
    pub(super) async fn promise(
        &self,
        client: &Client,
        wanted: &HubFile,
    ) -> Result<Promise, HubFault> {
        let url = self.address(wanted, "main");
        let response = self.request(client, Method::HEAD, url, None, Headers::Wanted).await?;
        let header = |name: &str| response.headers().get(name)?.to_str().ok();
        let etag = header("x-linked-etag").or(header("etag")).unwrap_or_default();
        let sha256 = etag.trim_start_matches("W/").trim_matches('"').to_ascii_lowercase();
        let bytes = header("x-linked-size").or(header("content-length"));
        let bytes = bytes.and_then(|bytes| bytes.parse().ok());
        let commit = header("x-repo-commit").unwrap_or_default();
        let (true, Some(bytes)) = (is_sha256(&sha256), bytes) else {
            return Err(HubFault::Final(StoreError::hub(
                format!("{} gives no SHA-256 to check {} by", self.endpoint(), wanted.file),
                "fetch the file by hand, check where it is from, and `codegrep model add` it",
            )));
        };
        let plain = commit.len() <= 64 && commit.bytes().all(|b| b.is_ascii_hexdigit());
        let commit = if plain && !commit.is_empty() { commit } else { "main" };
        Ok(Promise { sha256, bytes, commit: commit.to_owned() })
    }

    /// Asks for the file from byte `start` on.
    pub(super) async fn open(
        &self,
        client: &Client,
        wanted: &HubFile,
        commit: &str,
        start: u64,
    ) -> Result<Response, HubFault> {
        let range = (start > 0).then(|| format!("bytes={start}-"));
        let url = self.address(wanted, commit);
        self.request(client, Method::GET, url, range, Headers::NotYet).await
    }

    /// The names of the GGUF files in a repository, for a hint.
    pub(super) async fn files(&self, client: &Client, repo: &str) -> Option<Vec<String>> {
        #[derive(Deserialize)]
        struct Info {
            siblings: Vec<Sibling>,
        }
        #[derive(Deserialize)]
        struct Sibling {
            rfilename: String,
        }
        let mut url = self.endpoint.clone();
        url.path_segments_mut().ok()?.pop_if_empty().extend(["api", "models"]);
        url.path_segments_mut().ok()?.extend(repo.split('/'));
        let response = self.request(client, Method::GET, url, None, Headers::NotYet).await.ok()?;
        let info: Info =
            serde_json::from_str(&http::text(response, 8 << 20, PATIENCE).await).ok()?;
        let names = info.siblings.into_iter().map(|sibling| sibling.rfilename);
        Some(names.filter(|name| name.ends_with(".gguf")).collect())
    }

    /// Follows redirects; the token goes to the hub itself only. With [`Headers::Wanted`], stops
    /// at the first response that describes the file, which is the one before the redirect to
    /// where the bytes are.
    async fn request(
        &self,
        client: &Client,
        method: Method,
        mut url: Url,
        range: Option<String>,
        headers: Headers,
    ) -> Result<Response, HubFault> {
        for _ in 0..=REDIRECTS {
            let mut request = client.request(method.clone(), url.clone());
            if let Some(token) = &self.token
                && url.origin() == self.endpoint.origin()
            {
                request = request.header(AUTHORIZATION, token.clone());
            }
            if let Some(range) = &range {
                request = request.header(RANGE, range);
            }
            let origin = http::origin(&url);
            let response = match tokio::time::timeout(PATIENCE, request.send()).await {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => return Err(HubFault::unreached(&error, &origin)),
                Err(_) => {
                    return Err(HubFault::Passing(StoreError::hub(
                        format!("{origin} did not answer for {} s", PATIENCE.as_secs()),
                        "",
                    )));
                }
            };
            let status = response.status();
            if !status.is_redirection()
                || (headers == Headers::Wanted && described(response.headers()))
            {
                return match status.is_client_error() || status.is_server_error() {
                    true => Err(HubFault::of_status(&origin, response)),
                    false => Ok(response),
                };
            }
            let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            url = match target.and_then(|target| url.join(target).ok()) {
                Some(next) if next.scheme() == "https" || next.scheme() == url.scheme() => next,
                _ => {
                    return Err(HubFault::Final(StoreError::hub(
                        format!("{origin} redirects to {}", target.unwrap_or("nowhere")),
                        "check HF_ENDPOINT",
                    )));
                }
            };
        }
        Err(HubFault::Final(StoreError::hub(
            format!("{} redirects in a circle", self.endpoint()),
            "check HF_ENDPOINT",
        )))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Headers {
    Wanted,
    NotYet,
}

fn described(headers: &HeaderMap) -> bool {
    headers.contains_key("x-linked-etag")
}

/// Why the hub did not give something.
#[derive(Debug)]
pub(super) enum HubFault {
    /// Worth another attempt.
    Passing(StoreError),
    /// 404, or 401 for what might exist but is not shown.
    Missing(StatusCode),
    /// 416: there is nothing after the byte asked for.
    BeyondEnd,
    Final(StoreError),
}

impl HubFault {
    fn unreached(error: &reqwest::Error, origin: &str) -> Self {
        let trouble = Trouble::of(error);
        let explained = StoreError::hub(trouble.text(origin), trouble.hint().unwrap_or(""));
        if trouble.may_pass() { Self::Passing(explained) } else { Self::Final(explained) }
    }

    fn of_status(origin: &str, response: Response) -> Self {
        let status = response.status();
        let code = response.headers().get("x-error-code").and_then(|value| value.to_str().ok());
        match (status.as_u16(), code) {
            (_, Some("GatedRepo")) | (403, _) => Self::Final(StoreError::hub(
                format!("{origin} gives this file only to accounts that were granted it"),
                "accept its terms on the hub's page, then set HF_TOKEN to your token",
            )),
            (401 | 404, _) => Self::Missing(status),
            (416, _) => Self::BeyondEnd,
            (408 | 429 | 500..=599, _) => Self::Passing(StoreError::hub(
                format!("{origin} answered {status}"),
                "try again later",
            )),
            _ => Self::Final(StoreError::hub(format!("{origin} answered {status}"), "")),
        }
    }
}
