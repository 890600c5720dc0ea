use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use codegrep_model::remote::RemoteConfig;
use codegrep_tree::regular;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// More than this is no settings file.
const MOST_BYTES: u64 = 1 << 20;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Nowhere: the built-in value.
    Default,
    /// The user's settings file.
    File(PathBuf),
    /// `CODEGREP_…`.
    Env,
    /// The command line.
    Flag,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the built-in default"),
            Self::File(path) => path.display().fmt(f),
            Self::Env => f.write_str("the environment"),
            Self::Flag => f.write_str("the command line"),
        }
    }
}

/// What one source wrote.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Layer {
    /// `auto`, `none`, a name, a path, an endpoint or `scripted:FILE`.
    pub model: Option<String>,
    pub profile: Option<String>,
    /// A file that `codegrep-train lexical` wrote; relative to the settings file.
    pub weights: Option<PathBuf>,
    pub budget_ms: Option<u64>,
    pub max_files: Option<u32>,
    /// Lowest probability that is injected.
    pub bar: Option<f64>,
    pub injection_tag: Option<String>,
    /// Whether a home folder or `/` may be searched.
    pub any_root: Option<bool>,
    /// Whether feedback is kept.
    pub feedback: Option<bool>,
    /// Whether a client's process is served by the daemon that its user's clients share.
    pub daemon: Option<bool>,
    /// Requests served at the same time.
    pub workers: Option<u32>,
    /// Requests that may wait besides.
    pub queue: Option<u32>,
    pub llama: LlamaLayer,
    /// Endpoints by the name a request gives. Only the settings file has any, and it is never sent.
    #[serde(skip_serializing)]
    pub endpoints: BTreeMap<String, RemoteConfig>,
}

/// How GGUF files are run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LlamaLayer {
    pub context_tokens: Option<u32>,
    pub threads: Option<u32>,
    pub gpu_layers: Option<u32>,
    pub sequences: Option<u32>,
}

/// The user's settings file; an absent one is empty.
pub fn file_layer(path: &Path) -> Result<Layer, Failure> {
    let text = match regular::read_text(path, MOST_BYTES) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Layer::default());
        }
        Err(error) => {
            let message = format!("{} cannot be read: {error}", path.display());
            return Err(Failure::config(message).hint("it holds the settings"));
        }
    };
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        Failure::config(format!("{}:{line}: {}", path.display(), error.message()))
            .hint("correct the line, or delete it to return to the default")
    })
}

/// What the environment sets.
pub fn env_layer(variables: &BTreeMap<String, String>) -> Result<Layer, Failure> {
    let get = Variables(variables);
    Ok(Layer {
        model: get.parsed("CODEGREP_MODEL")?,
        profile: get.parsed("CODEGREP_PROFILE")?,
        weights: get.parsed::<String>("CODEGREP_WEIGHTS")?.map(PathBuf::from),
        budget_ms: get.parsed("CODEGREP_BUDGET_MS")?,
        max_files: get.parsed("CODEGREP_MAX_FILES")?,
        bar: get.parsed("CODEGREP_BAR")?,
        injection_tag: get.parsed("CODEGREP_INJECTION_TAG")?,
        feedback: get.parsed("CODEGREP_FEEDBACK")?,
        daemon: get.parsed("CODEGREP_DAEMON")?,
        workers: get.parsed("CODEGREP_WORKERS")?,
        queue: get.parsed("CODEGREP_QUEUE")?,
        ..Layer::default()
    })
}

/// The variables a process was given.
struct Variables<'a>(&'a BTreeMap<String, String>);

impl Variables<'_> {
    fn parsed<T: FromStr<Err: fmt::Display>>(&self, name: &str) -> Result<Option<T>, Failure> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        value.parse().map(Some).map_err(|error: T::Err| {
            Failure::config(format!("{name}={value}: {error}"))
                .hint(format!("correct the variable or unset {name}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_settings_file_of_every_kind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        assert_eq!(file_layer(&path).unwrap(), Layer::default());
        fs_err::write(
            &path,
            "model = 'm'\nmax_files = 5\n[llama]\nthreads = 2\n\
             [endpoints.team]\nbase_url = 'http://gpu/v1'\nmodel = 'q'\n",
        )
        .unwrap();
        let layer = file_layer(&path).unwrap();
        assert_eq!((layer.max_files, layer.llama.threads), (Some(5), Some(2)));
        assert_eq!(layer.endpoints["team"], RemoteConfig::new("http://gpu/v1", "q"));
        fs_err::write(&path, "max_files = 3\n\nmodle = 'x'\n").unwrap();
        let failure = file_layer(&path).unwrap_err();
        let message = failure.message.replace(&dir.path().display().to_string(), "DIR");
        expect!["DIR/config.toml:3: unknown field `modle`, expected one of `model`, `profile`, `weights`, `budget_ms`, `max_files`, `bar`, `injection_tag`, `any_root`, `feedback`, `daemon`, `workers`, `queue`, `llama`, `endpoints`"].assert_eq(&message);
    }
}
