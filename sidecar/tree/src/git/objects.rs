use std::collections::{HashMap, VecDeque};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use git2::{ErrorCode, Odb, Oid, Repository, TreeEntry};

use super::refs::Rev;
use crate::{Blob, regular};

const ALTERNATES_LIMIT: u64 = 64 << 10;
/// As many object folders behind one another as git follows.
const MAX_FOLDERS: usize = 16;
/// As many tags of tags are followed.
const MAX_TAGS: usize = 16;
/// The most bytes of a packed blob, which git can only inflate whole.
const INFLATE_LIMIT: u64 = 256 << 20;
/// The most bytes of a tree, commit or tag.
const TREE_LIMIT: u64 = 32 << 20;

/// A repository's objects, for many threads at once.
///
/// Handles are made over the object folders alone, so no configuration is ever read. libgit2 locks
/// one handle while it reads an object: each thread takes its own from the pool. Errors are
/// sentences for the user.
pub(crate) struct Objects {
    /// The object folder, then those that its `info/alternates` name.
    folders: Vec<PathBuf>,
    idle: Mutex<Vec<Repository>>,
    /// Trees read so far; they never change.
    trees: Mutex<HashMap<Oid, Arc<[Node]>>>,
}

/// An entry of a tree object.
pub(crate) struct Node {
    pub name: Vec<u8>,
    pub kind: NodeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    File(Oid),
    Link(Oid),
    Dir(Oid),
    Submodule,
}

impl Node {
    fn of(entry: &TreeEntry<'_>) -> Self {
        let kind = match entry.filemode() & 0o170_000 {
            0o040_000 => NodeKind::Dir(entry.id()),
            0o120_000 => NodeKind::Link(entry.id()),
            0o160_000 => NodeKind::Submodule,
            _ => NodeKind::File(entry.id()),
        };
        Self { name: entry.name_bytes().to_owned(), kind }
    }
}

impl Objects {
    /// Opens the folder `objects` of a repository.
    pub(crate) fn open(objects: &Path) -> Result<Self, String> {
        let mut folders = Vec::new();
        let mut todo = VecDeque::from([objects.to_owned()]);
        while let Some(folder) = todo.pop_front() {
            if folders.contains(&folder) || !folder.is_dir() {
                continue;
            }
            if folders.len() == MAX_FOLDERS {
                return Err("too many alternate object folders".to_owned());
            }
            todo.extend(alternates(&folder)?);
            only_regular_packs(&folder)?;
            folders.push(folder);
        }
        Ok(Self { folders, idle: Mutex::default(), trees: Mutex::default() })
    }

    /// Follows `rev` to a commit and gives its id and its root tree's; `None` when there is no such
    /// object.
    pub(crate) fn commit(&self, rev: &Rev) -> Result<Option<(Oid, Oid)>, String> {
        self.with(|repo, odb| {
            let (Rev::Id(hex) | Rev::Prefix(hex)) = rev;
            let mut id = match odb.exists_prefix(Oid::from_str(hex).map_err(text)?, hex.len()) {
                Ok(id) => id,
                Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
                Err(error) if error.code() == ErrorCode::Ambiguous => {
                    return Err(format!("several objects begin with {hex}"));
                }
                Err(error) => return Err(text(error)),
            };
            for _ in 0..MAX_TAGS {
                self.check(odb, id, TREE_LIMIT)?;
                let object = repo.find_object(id, None).map_err(|error| missing(id, &error))?;
                if let Some(commit) = object.as_commit() {
                    return Ok(Some((id, commit.tree_id())));
                }
                match object.as_tag() {
                    Some(tag) => id = tag.target_id(),
                    None => break,
                }
            }
            Err(format!("{hex} names no commit"))
        })
    }

    /// The entries of the tree `id`, sorted by name.
    pub(crate) fn tree(&self, id: Oid) -> Result<Arc<[Node]>, String> {
        let known = || self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(nodes) = known().get(&id) {
            return Ok(nodes.clone());
        }
        let mut nodes: Vec<Node> = self.with(|repo, odb| {
            self.check(odb, id, TREE_LIMIT)?;
            let tree = repo.find_tree(id).map_err(|error| missing(id, &error))?;
            Ok(tree.iter().map(|entry| Node::of(&entry)).collect())
        })?;
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        // Git writes no name twice, but an object can be made by hand.
        nodes.dedup_by(|b, a| a.name == b.name);
        let nodes: Arc<[Node]> = nodes.into();
        known().insert(id, nodes.clone());
        Ok(nodes)
    }

    /// Bytes of a blob, which is not inflated.
    pub(crate) fn size(&self, id: Oid) -> Result<u64, String> {
        self.with(|_, odb| self.check(odb, id, u64::MAX))
    }

    /// The first `limit` bytes of a blob.
    pub(crate) fn read(&self, id: Oid, limit: u64) -> Result<Blob, String> {
        self.with(|_, odb| {
            let size = self.check(odb, id, u64::MAX)?;
            if size > INFLATE_LIMIT {
                // Only an object in a file of its own can be read from its start.
                let (reader, ..) = odb
                    .reader(id)
                    .map_err(|_| format!("{size} bytes in a pack are too many to be read"))?;
                let mut bytes = Vec::new();
                reader.take(limit).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
                return Ok(Blob { bytes, size });
            }
            let object = odb.read(id).map_err(|error| missing(id, &error))?;
            let end = usize::try_from(limit).unwrap_or(usize::MAX).min(object.len());
            Ok(Blob { bytes: object.data()[..end].to_owned(), size })
        })
    }

    /// The size of the object `id`, at most `limit`. libgit2 would wait for a pipe that lies where
    /// a loose object should, and inflate whatever is asked for.
    fn check(&self, odb: &Odb<'_>, id: Oid, limit: u64) -> Result<u64, String> {
        let hex = id.to_string();
        let (folder, file) = hex.split_at(2);
        for objects in &self.folders {
            let metadata = objects.join(folder).join(file).metadata();
            if metadata.is_ok_and(|metadata| !metadata.is_file()) {
                return Err(format!("git object {hex} is not a regular file"));
            }
        }
        let (size, _) = odb.read_header(id).map_err(|error| missing(id, &error))?;
        let size = size as u64;
        if size > limit {
            return Err(format!("git object {hex} has {size} bytes, too many to be read"));
        }
        Ok(size)
    }

    /// Runs `act` with a handle of its own.
    fn with<T>(
        &self,
        act: impl FnOnce(&Repository, &Odb<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let repo = match taken {
            Some(repo) => repo,
            None => {
                let odb = Odb::new().map_err(text)?;
                let folder = self.folders.first().ok_or("no objects")?;
                let folder = folder.to_str().ok_or("the path to its objects is not UTF-8")?;
                // As an alternate it is opened for reading only.
                odb.add_disk_alternate(folder).map_err(text)?;
                Repository::from_odb(odb).map_err(text)?
            }
        };
        let result = repo.odb().map_err(text).and_then(|odb| act(&repo, &odb));
        idle().push(repo);
        result
    }
}

fn text(error: git2::Error) -> String {
    error.message().to_owned()
}

fn missing(id: Oid, error: &git2::Error) -> String {
    match error.code() {
        git2::ErrorCode::NotFound => {
            format!("git object {id} is missing (a shallow or partial clone?)")
        }
        _ => format!("git object {id}: {}", error.message()),
    }
}

/// The folders that `info/alternates` names: clones with `--shared` or `--reference` have one.
fn alternates(objects: &Path) -> Result<Vec<PathBuf>, String> {
    let file = objects.join("info").join("alternates");
    let text = match regular::read(&file, ALTERNATES_LIMIT) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("objects/info/alternates: {error}")),
    };
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(|line| objects.join(line)).collect())
}

/// libgit2 opens every pack and index that it finds.
fn only_regular_packs(objects: &Path) -> Result<(), String> {
    let Ok(packs) = objects.join("pack").read_dir() else { return Ok(()) };
    for pack in packs.flatten() {
        let metadata = pack.path().metadata();
        if metadata.is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            return Err("objects/pack holds what is not a regular file".to_owned());
        }
    }
    Ok(())
}
