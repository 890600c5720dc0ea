use std::collections::HashMap;
use std::path::{Path, PathBuf};

use codegrep_plugin_sdk::OpenFile;
use tower_lsp::ls_types::Uri;

use crate::core::file_path;

/// What the editor has open and where it works.
#[derive(Debug, Default)]
pub struct Documents {
    open: HashMap<String, Document>,
    folders: Vec<PathBuf>,
}

#[derive(Debug)]
struct Document {
    version: i32,
    text: String,
    /// Whether the text may differ from the disk's.
    dirty: bool,
}

impl Documents {
    /// A document's text, as opened or changed: an editor may open what is not saved. Notifications
    /// may overtake one another: the highest version wins.
    pub fn keep(&mut self, uri: &Uri, version: i32, text: String) {
        let newest = self.open.get(uri.as_str()).is_none_or(|known| known.version <= version);
        if newest {
            self.open.insert(uri.as_str().to_owned(), Document { version, text, dirty: true });
        }
    }

    /// The disk holds the newest text.
    pub fn saved(&mut self, uri: &Uri) {
        if let Some(document) = self.open.get_mut(uri.as_str()) {
            document.dirty = false;
        }
    }

    pub fn close(&mut self, uri: &Uri) {
        self.open.remove(uri.as_str());
    }

    pub fn text(&self, uri: &Uri) -> Option<&str> {
        self.open.get(uri.as_str()).map(|document| document.text.as_str())
    }

    pub fn set_folders(&mut self, folders: impl Iterator<Item = Uri>) {
        self.folders = folders.filter_map(|uri| file_path(uri.as_str())).collect();
    }

    pub fn add_folder(&mut self, uri: &Uri) {
        if let Some(folder) = file_path(uri.as_str())
            && !self.folders.contains(&folder)
        {
            self.folders.push(folder);
        }
    }

    pub fn remove_folder(&mut self, uri: &Uri) {
        let folder = file_path(uri.as_str());
        self.folders.retain(|known| Some(known) != folder.as_ref());
    }

    /// The workspace folders; the working folder of an editor that has none.
    pub fn roots(&self, folder: &Path) -> Vec<String> {
        let text = |folder: &Path| folder.to_string_lossy().into_owned();
        match self.folders.is_empty() {
            true => vec![text(folder)],
            false => self.folders.iter().map(|folder| text(folder)).collect(),
        }
    }

    /// The unsaved documents that lie in these roots; others would only be warned of.
    pub fn unsaved(&self, roots: &[String]) -> Vec<OpenFile> {
        let inside = |uri: &str| {
            file_path(uri).is_some_and(|file| roots.iter().any(|root| file.starts_with(root)))
        };
        let mut files: Vec<OpenFile> = self
            .open
            .iter()
            .filter(|(uri, document)| document.dirty && inside(uri))
            .map(|(uri, document)| OpenFile { path: uri.clone(), text: document.text.clone() })
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_version_wins_and_only_unsaved_text_is_sent() {
        let uri: Uri = "file:///w/a.rs".parse().unwrap();
        let mut documents = Documents::default();
        documents.keep(&uri, 1, "one".into());
        let roots = documents.roots(Path::new("/w"));
        assert_eq!(documents.unsaved(&roots).len(), 1);
        documents.keep(&uri, 3, "three".into());
        documents.keep(&uri, 2, "two".into());
        assert_eq!(documents.text(&uri), Some("three"));
        assert_eq!(documents.unsaved(&roots).len(), 1);
        assert_eq!(documents.unsaved(&["/elsewhere".into()]), vec![]);
        documents.saved(&uri);
        assert_eq!(documents.unsaved(&roots), vec![]);
        documents.close(&uri);
        assert_eq!(documents.text(&uri), None);
    }

    #[test]
    fn folders_come_and_go() {
        let uri = |text: &str| text.parse::<Uri>().unwrap();
        let mut documents = Documents::default();
        documents.set_folders([uri("file:///a"), uri("untitled:x")].into_iter());
        documents.add_folder(&uri("file:///b%20c"));
        documents.add_folder(&uri("file:///a"));
        assert_eq!(documents.roots(Path::new("/w")), ["/a", "/b c"]);
        documents.remove_folder(&uri("file:///a"));
        documents.remove_folder(&uri("file:///b%20c"));
        assert_eq!(documents.roots(Path::new("/w")), ["/w"]);
    }
}
