//! The models on this machine, under the names they are asked for.
//!
//! A folder holds a manifest `NAME.json` for each, and the weights `NAME.gguf` of those that the
//! store owns because they were pulled or copied. A file that was only added stays where it is:
//! hundreds of megabytes are never copied unasked, and a hard link would hide from its owner why
//! deleting it frees no space. What has no manifest is not there: downloads grow in `partial/`
//! and get their manifest last.

use std::path::{Path, PathBuf};

use codegrep_tree::Watch;

mod add;
mod download;
mod error;
mod hash;
mod hub;
mod lock;
mod manifest;
mod pull;

pub use add::Add;
pub use error::StoreError;
pub use hub::{Hub, HubFile};
pub use manifest::{Kind, Manifest, Source};

use crate::gguf::Header;
use lock::Lock;

/// What a long operation is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Reading a file to hash it.
    Hash,
    /// Copying a file into the store.
    Copy,
    /// Getting a file from the hub.
    Download,
}

/// Told of bytes done and bytes in all.
pub type Progress<'a> = &'a mut dyn FnMut(Step, u64, u64);

/// One entry of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// What was written when it was added.
    pub manifest: Manifest,
    /// Its weights.
    pub path: PathBuf,
    /// Why it cannot be used now: the file is gone, or another one.
    pub broken: Option<String>,
}

/// What hashing a model again showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The file is, bit for bit, what was added.
    Intact,
    /// It is not, or cannot be read; says why.
    Broken(String),
}

/// A folder of models.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store in this folder, which is made when something is added.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where it lies.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All entries by name. A manifest that cannot be read is an entry of its own, marked broken.
    pub fn list(&self) -> Result<Vec<Stored>, StoreError> {
        let entries = match fs_err::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut names = Vec::new();
        for entry in entries {
            let file = entry?.file_name();
            // Names that cannot be asked for are no entries: half-written files begin with a dot.
            if let Some(name) = file.to_str().and_then(|file| file.strip_suffix(".json"))
                && manifest::check_name(name).is_ok()
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names.iter().map(|name| self.stored(name)).collect())
    }

    /// The entry of this name, broken or not.
    pub fn find(&self, name: &str) -> Result<Stored, StoreError> {
        if manifest::check_name(name).is_ok() && self.manifest_path(name).exists() {
            return Ok(self.stored(name));
        }
        let known: Vec<String> =
            self.list()?.into_iter().map(|stored| stored.manifest.name).collect();
        let hint = match known.is_empty() {
            true => String::from("`codegrep model add PATH` or `codegrep model pull` gets one"),
            false => format!("there are: {}", known.join(", ")),
        };
        Err(StoreError::request(format!("there is no model named {name:?}"), hint))
    }

    /// Hashes the weights again.
    pub fn verify(
        &self,
        stored: &Stored,
        progress: Progress<'_>,
        watch: &Watch,
    ) -> Result<Verdict, StoreError> {
        if let Some(reason) = &stored.broken {
            return Ok(Verdict::Broken(reason.clone()));
        }
        match hash::sha256(&stored.path, progress, watch) {
            Ok(hash) if hash == stored.manifest.sha256 => Ok(Verdict::Intact),
            Ok(hash) => Ok(Verdict::Broken(format!(
                "its SHA-256 is {hash} and was {}",
                stored.manifest.sha256
            ))),
            Err(StoreError::Stopped(stop)) => Err(stop.into()),
            Err(error) => Ok(Verdict::Broken(error.to_string())),
        }
    }

    /// Forgets an entry, and deletes its weights if they were pulled or copied. Those of a manifest
    /// that cannot be read stay: nothing says whose they are.
    pub fn remove(&self, name: &str, watch: &Watch) -> Result<Stored, StoreError> {
        // Said before a folder is made to lock.
        self.find(name)?;
        let _lock = self.lock(watch)?;
        self.sweep();
        let stored = self.find(name)?;
        fs_err::remove_file(self.manifest_path(name))?;
        if self.owns(&stored) {
            remove_if_there(&self.own_path(name))?;
        }
        Ok(stored)
    }

    /// Whether the weights were pulled or copied into the folder: only then may they be deleted.
    fn owns(&self, stored: &Stored) -> bool {
        stored.manifest.file.is_relative() && stored.path == self.own_path(&stored.manifest.name)
    }

    fn stored(&self, name: &str) -> Stored {
        match Manifest::read(&self.manifest_path(name)) {
            Ok(manifest) if manifest.name == name => {
                let path = self.folder.join(&manifest.file);
                let broken = check(&path, &manifest).err();
                Stored { manifest, path, broken }
            }
            Ok(manifest) => {
                self.unreadable(name, format!("its manifest names {:?}", manifest.name))
            }
            Err(reason) => self.unreadable(name, reason),
        }
    }

    fn unreadable(&self, name: &str, reason: String) -> Stored {
        let path = self.own_path(name);
        let manifest = Manifest {
            name: name.to_owned(),
            kind: Kind::Model,
            file: path.clone(),
            bytes: 0,
            sha256: String::new(),
            architecture: String::new(),
            parameters: 0,
            source: Source::Path { path: path.clone() },
            added: String::new(),
        };
        Stored { manifest, path, broken: Some(reason) }
    }

    fn manifest_path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// The weights of an entry that the store owns.
    fn own_path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.gguf"))
    }

    /// Held while entries change.
    fn lock(&self, watch: &Watch) -> Result<Lock, StoreError> {
        fs_err::create_dir_all(&self.folder)?;
        Lock::take(&self.folder.join(".lock"), watch)
    }
}

fn remove_if_there(path: &Path) -> Result<(), StoreError> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// A quick look: is there a file of that size, with a header that makes sense?
fn check(path: &Path, manifest: &Manifest) -> Result<(), String> {
    let meta = path.metadata().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => String::from("its file is gone"),
        _ => error.to_string(),
    })?;
    if meta.len() != manifest.bytes {
        return Err(format!("its file has {} bytes and had {}", meta.len(), manifest.bytes));
    }
    inspect(path).map(drop)
}

/// What the header of a usable file says.
struct Inspected {
    kind: Kind,
    architecture: String,
    parameters: u64,
}

fn inspect(path: &Path) -> Result<Inspected, String> {
    let header = Header::read(path)?;
    let architecture = header.text("general.architecture").unwrap_or("").to_owned();
    let kind = match header.text("general.type") {
        Some("adapter") => {
            header.check_adapter(&architecture)?;
            Kind::Adapter
        }
        _ => {
            header.check_model()?;
            Kind::Model
        }
    };
    Ok(Inspected { kind, architecture, parameters: header.parameters })
}
