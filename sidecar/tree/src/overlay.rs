use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::hash::stamp;
use crate::resolve::{Missing, resolve};
use crate::{
    Blob, BlobId, Folder, History, Item, ItemKind, Kind, RepoPath, Tree, TreeError, Watch,
};

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
            tree.lay(&path, text)?;
        }
        Ok(tree)
    }

    /// Lays one more buffer over the tree; one that fails changes nothing.
    pub fn lay(&mut self, path: &RepoPath, text: Vec<u8>) -> Result<(), TreeError> {
        let real = self.place(path)?;
        if matches!(self.base.kind(&real), Ok(Kind::Dir)) || self.added.contains_key(&real) {
            return Err(TreeError::IsDir { path: path.to_string() });
        }
        let dirs: Vec<RepoPath> = std::iter::successors(real.parent(), RepoPath::parent).collect();
        for dir in &dirs {
            // Above a folder there are only folders.
            if self.added.contains_key(dir) {
                break;
            }
            let base = self.base.kind(dir);
            if self.buffers.contains_key(dir)
                || matches!(base, Ok(Kind::File { .. }) | Err(TreeError::Special { .. }))
            {
                return Err(TreeError::NotFound { path: path.to_string() });
            }
            if base.is_ok() {
                break;
            }
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
            Err(TreeError::NotFound { .. }) => resolve(path, Missing::Stays, |at| self.link(at)),
            placed => placed,
        }
    }

    /// What the buffers make of `path`, links followed.
    fn over(&self, path: &RepoPath) -> Result<Over<'_>, TreeError> {
        if self.buffers.is_empty() {
            return Ok(Over::Nothing);
        }
        let real = self.place(path)?;
        Ok(match self.buffers.get(&real) {
            Some(text) => Over::Buffer(text),
            None if self.added.contains_key(&real) => Over::Folder,
            None => Over::Nothing,
        })
    }
}

enum Over<'a> {
    Buffer(&'a [u8]),
    /// One that holds a buffer.
    Folder,
    Nothing,
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
        match self.over(path)? {
            Over::Buffer(text) => Ok(Kind::File { size: text.len() as u64 }),
            Over::Folder => Ok(Kind::Dir),
            Over::Nothing => self.base.kind(path),
        }
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Blob, TreeError> {
        match self.over(path)? {
            Over::Buffer(text) => {
                let end = usize::try_from(limit).unwrap_or(usize::MAX).min(text.len());
                Ok(Blob { bytes: text[..end].to_owned(), size: text.len() as u64 })
            }
            Over::Folder => Err(TreeError::IsDir { path: path.to_string() }),
            Over::Nothing => self.base.read(path, limit),
        }
    }

    fn blob_id(&self, path: &RepoPath) -> Result<BlobId, TreeError> {
        match self.over(path)? {
            Over::Buffer(text) => Ok(BlobId::of(text)),
            Over::Folder => Err(TreeError::IsDir { path: path.to_string() }),
            Over::Nothing => self.base.blob_id(path),
        }
    }

    fn history(&self) -> Option<History> {
        self.base.history()
    }
}
