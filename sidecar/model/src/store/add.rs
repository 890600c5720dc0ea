use std::path::{Path, PathBuf};

use codegrep_tree::Watch;

use super::lock::Lock;
use super::manifest::{check_name, name_of, now};
use super::{
    Manifest, Progress, Source, Store, StoreError, Stored, hash, inspect, remove_if_there,
};

/// How to add a file.
#[derive(Debug, Clone, Default)]
pub struct Add {
    /// The name to give it; made of the file's name when `None`.
    pub name: Option<String>,
    /// Copy it into the store instead of using it where it is.
    pub copy: bool,
}

impl Store {
    /// Adds a GGUF file of the user's. Adding the same file again changes nothing.
    pub fn add(
        &self,
        path: &Path,
        how: &Add,
        progress: Progress<'_>,
        watch: &Watch,
    ) -> Result<Stored, StoreError> {
        let path = std::path::absolute(path)?;
        let name = name(&path, how.name.as_deref())?;
        // Says what is wrong before hundreds of megabytes are read.
        inspect(&path).map_err(|reason| unusable(&path, &reason))?;
        let source = Source::Path { path: path.clone() };
        if how.copy {
            fs_err::create_dir_all(self.partial())?;
            let aside = self.partial().join(format!("{name}.copy"));
            // One copy at a time: what another process left half done can then be told from what
            // it is at.
            let _lock = Lock::take(&self.copy_lock(), watch)?;
            self.check_free(&name)?;
            let stored = hash::copy(&path, &aside, progress, watch)
                .and_then(|hash| self.enter(&name, Weights::Aside(&aside), hash, source, watch));
            // Gone when it was moved into its place; a leftover otherwise.
            let _ = std::fs::remove_file(&aside);
            return stored;
        }
        let sha256 = hash::sha256(&path, progress, watch)?;
        self.enter(&name, Weights::Elsewhere(&path), sha256, source, watch)
    }

    /// Makes a new entry. One of that name and content is left as it is; a broken one is replaced.
    pub(super) fn enter(
        &self,
        name: &str,
        weights: Weights<'_>,
        sha256: String,
        source: Source,
        watch: &Watch,
    ) -> Result<Stored, StoreError> {
        let _lock = self.lock(watch)?;
        self.sweep();
        let holder = self.manifest_path(name).exists().then(|| self.stored(name));
        match &holder {
            Some(holder) if holder.broken.is_none() => {
                let same = holder.manifest.sha256 == sha256;
                return if same { Ok(holder.clone()) } else { Err(taken(name)) };
            }
            _ => {}
        }
        let (Weights::Aside(path) | Weights::Elsewhere(path)) = weights;
        let inspected = inspect(path).map_err(|reason| unusable(path, &reason))?;
        let bytes = fs_err::metadata(path)?.len();
        let own = self.own_path(name);
        let (file, path) = match weights {
            Weights::Aside(aside) => {
                self.check_free(name)?;
                fs_err::rename(aside, &own)?;
                (PathBuf::from(format!("{name}.gguf")), own)
            }
            Weights::Elsewhere(path) => {
                // Adding the store's own file is no reason to delete it.
                if holder.is_some_and(|holder| self.owns(&holder)) && !same_file(&own, path) {
                    remove_if_there(&own)?;
                }
                (path.to_owned(), path.to_owned())
            }
        };
        let manifest = Manifest {
            name: name.to_owned(),
            kind: inspected.kind,
            file,
            bytes,
            sha256,
            architecture: inspected.architecture,
            parameters: inspected.parameters,
            source,
            added: now(),
        };
        manifest.write(&self.folder)?;
        Ok(Stored { manifest, path, broken: None })
    }

    /// Refuses a name whose place in the folder is held by a file that was not made here: it may
    /// be all its owner has.
    pub(super) fn check_free(&self, name: &str) -> Result<(), StoreError> {
        let own = self.own_path(name);
        if own.symlink_metadata().is_err()
            || (self.manifest_path(name).exists() && self.owns(&self.stored(name)))
        {
            return Ok(());
        }
        Err(StoreError::request(
            format!("{} is there already, and was neither pulled nor copied", own.display()),
            "give another name with --name, or move the file away; `codegrep model add` takes it \
             as it is",
        ))
    }

    /// Deletes what copies left that did not come to their end.
    pub(super) fn sweep(&self) {
        let Ok(entries) = std::fs::read_dir(self.partial()) else { return };
        let is_copy = |path: &PathBuf| path.extension().is_some_and(|end| end == "copy");
        let mut copies = entries.flatten().map(|entry| entry.path()).filter(is_copy).peekable();
        if copies.peek().is_some()
            && let Ok(Some(_lock)) = Lock::try_take(&self.copy_lock())
        {
            for path in copies {
                // Where it cannot be deleted it only takes room.
                let _ = std::fs::remove_file(path);
            }
        }
    }

    /// Held while a file is copied.
    fn copy_lock(&self) -> PathBuf {
        self.folder.join(".copy.lock")
    }

    /// Where files grow that are not there yet.
    pub(super) fn partial(&self) -> PathBuf {
        self.folder.join("partial")
    }
}

/// The name asked for, or one made of the file's.
pub(super) fn name(file: &Path, wanted: Option<&str>) -> Result<String, StoreError> {
    match wanted {
        Some(name) => check_name(name).map(str::to_owned),
        None => Ok(name_of(file)),
    }
}

/// Where the weights of a new entry are.
#[derive(Clone, Copy)]
pub(super) enum Weights<'a> {
    /// In the store's folder: they are moved into their place.
    Aside(&'a Path),
    /// Where their owner wants them.
    Elsewhere(&'a Path),
}

fn same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

pub(super) fn taken(name: &str) -> StoreError {
    StoreError::request(
        format!("another model is named {name:?}"),
        format!("give this one another name with --name, or `codegrep model remove {name}`"),
    )
}

fn unusable(path: &Path, reason: &str) -> StoreError {
    StoreError::request(
        format!("{} cannot be used: {reason}", path.display()),
        "give a whole GGUF file of a model or a LoRA adapter",
    )
}
