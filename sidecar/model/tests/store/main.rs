//! The models on a machine: adding files, and pulling them from a hub that fails in every way.

mod add;
mod gguf;
mod hub;
mod pull;

use std::path::PathBuf;

use codegrep_model::store::{Store, StoreError};
use tempfile::TempDir;

/// A store in an empty folder, and a folder for the user's own files beside it.
fn setup() -> (TempDir, Store, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().join("models"));
    let files = folder.path().join("files");
    std::fs::create_dir(&files).unwrap();
    (folder, store, files)
}

fn quiet(_: codegrep_model::store::Step, _: u64, _: u64) {}

/// Message and hint of an error.
fn said<T>(result: Result<T, StoreError>) -> (String, String) {
    match result {
        Ok(_) => panic!("it should have failed"),
        Err(error) => (error.to_string(), error.hint().to_owned()),
    }
}

/// Everything below the store's folder, as paths relative to it.
fn contents(store: &Store) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![store.folder().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(store.folder()).unwrap();
                    found.push(name.to_string_lossy().into_owned());
                }
            }
        }
    }
    found.sort();
    found
}
