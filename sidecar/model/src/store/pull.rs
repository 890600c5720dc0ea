use std::path::{Path, PathBuf};
use std::time::Duration;

use codegrep_tree::{Stop, Watch};
use hf_hub::Cache;
use reqwest::Client;

use super::add::{Weights, name, taken};
use super::download::download;
use super::hash::{is_sha256, sha256};
use super::hub::{Hub, HubFault, HubFile};
use super::lock::Lock;
use super::{Progress, Source, Store, StoreError, Stored, inspect};

impl Store {
    /// Gets a GGUF file from a hub, checked against the SHA-256 that the hub promises. A download
    /// that broke off goes on where it stopped. A file that the hub's own tools have on this
    /// machine already is used where it is.
    pub fn pull(
        &self,
        hub: &Hub,
        wanted: &HubFile,
        as_name: Option<&str>,
        progress: Progress<'_>,
        watch: &Watch,
    ) -> Result<Stored, StoreError> {
        let name = name(Path::new(&wanted.file), as_name)?;
        if let Some(cached) = hub.cache.as_ref().and_then(|cache| in_cache(cache, wanted))
            && sha256(&cached.path, progress, watch)? == cached.sha256
        {
            let source = source(hub, wanted, cached.commit);
            let weights = Weights::Elsewhere(&cached.path);
            return self.enter(&name, weights, cached.sha256, source, watch);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            tokio::select! {
                stored = self.fetch(hub, wanted, &name, progress, watch) => stored,
                stop = stopped(watch) => Err(stop.into()),
            }
        })
    }

    async fn fetch(
        &self,
        hub: &Hub,
        wanted: &HubFile,
        name: &str,
        progress: Progress<'_>,
        watch: &Watch,
    ) -> Result<Stored, StoreError> {
        let client = hub.client()?;
        let promise = match hub.promise(&client, wanted).await {
            Ok(promise) => promise,
            Err(fault) => return Err(explain(fault, hub, &client, wanted).await),
        };
        if let Ok(stored) = self.find(name)
            && stored.broken.is_none()
        {
            // Said before hundreds of megabytes are fetched.
            let same = stored.manifest.sha256 == promise.sha256;
            return if same { Ok(stored) } else { Err(taken(name)) };
        }
        self.check_free(name)?;
        fs_err::create_dir_all(self.partial())?;
        let part = self.partial().join(format!("{}.part", promise.sha256));
        let Some(_lock) = Lock::try_take(&part.with_extension("lock"))? else {
            return Err(StoreError::request(
                format!("another process is downloading {}", wanted.file),
                "wait until it is done",
            ));
        };
        download(hub, &client, wanted, &promise, &part, progress, watch).await?;
        let source = source(hub, wanted, promise.commit);
        let stored = self.enter(name, Weights::Aside(&part), promise.sha256, source, watch);
        if stored.is_ok() || inspect(&part).is_err() {
            // Not there any more, or whole and yet no model; otherwise only its name was refused.
            let _ = std::fs::remove_file(&part);
            let _ = std::fs::remove_file(part.with_extension("lock"));
        }
        stored
    }
}

/// Returns when the watch does.
async fn stopped(watch: &Watch) -> Stop {
    loop {
        if let Err(stop) = watch.check() {
            return stop;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn source(hub: &Hub, wanted: &HubFile, commit: String) -> Source {
    Source::Hub {
        endpoint: hub.endpoint().to_owned(),
        repo: wanted.repo.clone(),
        file: wanted.file.clone(),
        commit,
    }
}

/// A file that the hub's own tools have downloaded.
struct Cached {
    path: PathBuf,
    sha256: String,
    commit: String,
}

/// `snapshots/COMMIT/FILE` is a link to `blobs/SHA256`, or a copy where links cannot be made.
fn in_cache(cache: &Cache, wanted: &HubFile) -> Option<Cached> {
    let path = cache.model(wanted.repo.clone()).get(&wanted.file)?;
    let blob = path.canonicalize().ok()?;
    let sha256 = blob.file_name()?.to_str().filter(|name| is_sha256(name))?.to_owned();
    let depth = wanted.file.split('/').count();
    let commit = path.ancestors().nth(depth)?.file_name()?.to_str()?.to_owned();
    Some(Cached { path: blob, sha256, commit })
}

/// With what can be done instead.
async fn explain(fault: HubFault, hub: &Hub, client: &Client, wanted: &HubFile) -> StoreError {
    let by_hand = format!(
        "check the network and HTTPS_PROXY; or fetch {} on another machine and run \
         `codegrep model add FILE`",
        hub.address(wanted, "main")
    );
    match fault {
        HubFault::Passing(error) => StoreError::hub(error.to_string(), by_hand),
        HubFault::Final(error) if error.hint().is_empty() => {
            StoreError::hub(error.to_string(), by_hand)
        }
        HubFault::Final(error) => error,
        HubFault::BeyondEnd => StoreError::hub("the hub has nothing of this file", by_hand),
        HubFault::Missing(status) => match hub.files(client, &wanted.repo).await {
            Some(files) if files.is_empty() => StoreError::hub(
                format!("{} holds no GGUF file", wanted.repo),
                "look for a repository whose name ends in -GGUF",
            ),
            Some(files) => StoreError::hub(
                format!("{} holds no file {}", wanted.repo, wanted.file),
                format!("it holds: {}", files.join(", ")),
            ),
            None => StoreError::hub(
                format!("{} has no repository {} ({status})", hub.endpoint(), wanted.repo),
                "check the name; if it is private, set HF_TOKEN to a token that may read it",
            ),
        },
    }
}
