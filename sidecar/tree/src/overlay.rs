use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::hash::stamp;
use crate::resolve::resolve;
use crate::{Blob, BlobId, Folder, Item, ItemKind, Kind, RepoPath, Tree, TreeError, Watch};

/// A tree under an editor's unsaved buffers: their text wins over what the tree holds.
///
/// A buffer may be new; it is then listed unless the ignore rules exclude it, as if it were saved.
/// A buffer of an ignore file changes the rules.
pub struct OverlayTree {
    base: Arc<dyn Tree>,
    buffers: HashMap<RepoPath, Vec<u8>>,
    /// What the buffers add to each folder.
    added: HashMap<RepoPath, BTreeMap<String, ItemKind>>,
}

impl OverlayTree {
    /// Lays `buffers`, path and text, over `base`; of two for one file the later wins.
    ///
    /// Fails on a buffer that is no file of the tree: outside the root through a link, in git's own
    /// folder, or where the tree has a folder.
    pub fn new(
        base: Arc<dyn Tree>,
        buffers: impl IntoIterator<Item = (RepoPath, Vec<u8>)>,
    ) -> Result<Self, TreeError> {
        let mut tree = Self { base, buffers: HashMap::new(), added: HashMap::new() };
        for (path, text) in buffers {
            tree.put(&path, text)?;
        }
        Ok(tree)
    }

    fn put(&mut self, path: &RepoPath, text: Vec<u8>) -> Result<(), TreeError> {
        let real = self.place(path)?;
        if matches!(self.base.kind(&real), Ok(Kind::Dir)) || self.added.contains_key(&real) {
            return Err(TreeError::IsDir { path: path.to_string() });
        }
        let dirs: Vec<RepoPath> = std::iter::successors(real.parent(), RepoPath::parent).collect();
        let is_file = |dir: &RepoPath| {
            self.buffers.contains_key(dir)
                || matches!(
                    self.base.kind(dir),
                    Ok(Kind::File { .. }) | Err(TreeError::Special { .. })
                )
        };
        if dirs.iter().any(is_file) {
            return Err(TreeError::NotFound { path: path.to_string() });
        }
        let mut kind = ItemKind::File { size: text.len() as u64, stamp: stamp(&text) };
        let mut name = real.file_name();
        for dir in &dirs {
            self.added.entry(dir.clone()).or_default().insert(name.to_owned(), kind);
            (name, kind) = (dir.file_name(), ItemKind::Dir);
        }
        self.buffers.insert(real, text);
        Ok(())
    }

    /// The path without links of what is, or would be, at `path`.
    fn place(&self, path: &RepoPath) -> Result<RepoPath, TreeError> {
        match self.base.resolve(path) {
            Err(TreeError::NotFound { .. }) => resolve(path, |at| match self.base.link(at) {
                Err(TreeError::NotFound { .. }) => Ok(None),
                link => link,
            }),
            placed => placed,
        }
    }

    /// The buffer at `path`, links followed.
    fn buffer(&self, path: &RepoPath) -> Result<Option<&Vec<u8>>, TreeError> {
        if self.buffers.is_empty() {
            return Ok(None);
        }
        Ok(self.buffers.get(&self.place(path)?))
    }
}

impl Tree for OverlayTree {
    fn name(&self) -> &str {
        self.base.name()
    }

    fn list(&self, dir: &RepoPath, watch: &Watch) -> Result<Folder, TreeError> {
        let real = self.place(dir)?;
        let added = self.added.get(&real);
        let mut folder = match (self.base.list(&real, watch), added) {
            (Err(TreeError::NotFound { .. }), Some(_)) => Folder::default(),
            (folder, _) => folder?,
        };
        if let Some(added) = added {
            folder.items.retain(|item| !added.contains_key(&item.name));
            let items = added.iter().map(|(name, &kind)| Item { name: name.clone(), kind });
            folder.items.extend(items);
        }
        Ok(folder)
    }

    fn link(&self, path: &RepoPath) -> Result<Option<String>, TreeError> {
        if self.buffers.contains_key(path) || self.added.contains_key(path) {
            return Ok(None);
        }
        self.base.link(path)
    }

    fn resolve(&self, path: &RepoPath) -> Result<RepoPath, TreeError> {
        let real = self.place(path)?;
        if self.buffers.contains_key(&real) || self.added.contains_key(&real) {
            return Ok(real);
        }
        self.base.resolve(path)
    }

    fn kind(&self, path: &RepoPath) -> Result<Kind, TreeError> {
        if let Some(text) = self.buffer(path)? {
            return Ok(Kind::File { size: text.len() as u64 });
        }
        match self.base.kind(path) {
            Err(TreeError::NotFound { .. }) if self.added.contains_key(&self.place(path)?) => {
                Ok(Kind::Dir)
            }
            kind => kind,
        }
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Blob, TreeError> {
        if let Some(text) = self.buffer(path)? {
            let end = usize::try_from(limit).unwrap_or(usize::MAX).min(text.len());
            return Ok(Blob { bytes: text[..end].to_owned(), size: text.len() as u64 });
        }
        match self.base.read(path, limit) {
            Err(TreeError::NotFound { .. }) if self.added.contains_key(&self.place(path)?) => {
                Err(TreeError::IsDir { path: path.to_string() })
            }
            blob => blob,
        }
    }

    fn blob_id(&self, path: &RepoPath) -> Result<BlobId, TreeError> {
        match self.buffer(path)? {
            Some(text) => Ok(BlobId::of(text)),
            None => self.base.blob_id(path),
        }
    }
}
