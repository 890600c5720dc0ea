use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use git2::{ObjectType, Oid};

use super::refs::Rev;
use super::store::{Raw, Store};
use crate::Blob;

/// As many tags of tags are followed.
const MAX_TAGS: usize = 16;
/// As many entries of trees are remembered, some 100 MB; objects made by hand have more.
const MOST_NODES: usize = 1 << 20;
/// The most bytes of a tree, commit or tag.
const TREE_LIMIT: u64 = 32 << 20;

/// Commits, trees and blobs. Errors are sentences for the user.
pub(super) struct Objects {
    store: Store,
    trees: Mutex<Trees>,
}

/// Trees read so far; they never change.
#[derive(Default)]
struct Trees {
    by_id: HashMap<Oid, Arc<[Node]>>,
    /// Entries of them all.
    nodes: usize,
}

/// An entry of a tree object.
pub(super) struct Node {
    pub name: Vec<u8>,
    pub kind: NodeKind,
    /// Of a file, once asked for: the same tree may be listed often, and at many places.
    size: OnceLock<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    File(Oid),
    Link(Oid),
    Dir(Oid),
    Submodule,
}

impl Objects {
    /// Opens the folder `objects` of a repository.
    pub(super) fn open(objects: &Path) -> Result<Self, String> {
        Ok(Self { store: Store::open(objects)?, trees: Mutex::default() })
    }

    /// Follows `rev` to a commit and gives its id and its root tree's; `None` when there is no such
    /// object.
    pub(super) fn commit(&self, rev: &Rev) -> Result<Option<(Oid, Oid)>, String> {
        let (Rev::Id(hex) | Rev::Prefix(hex)) = rev;
        let Some(mut id) = self.store.find(hex)? else { return Ok(None) };
        for _ in 0..MAX_TAGS {
            let Raw { kind, bytes, .. } = self.whole(id)?;
            let field = match kind {
                ObjectType::Commit => &b"tree "[..],
                ObjectType::Tag => b"object ",
                _ => break,
            };
            let named = bytes.strip_prefix(field).and_then(|rest| rest.get(..40));
            let named = named.and_then(|hex| Oid::from_str(std::str::from_utf8(hex).ok()?).ok());
            let named =
                named.ok_or_else(|| format!("git object {id} is no commit as git writes it"))?;
            if kind == ObjectType::Commit {
                return Ok(Some((id, named)));
            }
            id = named;
        }
        Err(format!("{hex} names no commit"))
    }

    /// The entries of the tree `id`, sorted by name.
    pub(super) fn tree(&self, id: Oid) -> Result<Arc<[Node]>, String> {
        let known = || self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(nodes) = known().by_id.get(&id) {
            return Ok(nodes.clone());
        }
        let raw = self.whole(id)?;
        let nodes = if raw.kind == ObjectType::Tree { nodes(&raw.bytes) } else { None };
        let mut nodes =
            nodes.ok_or_else(|| format!("git object {id} is no tree as git writes it"))?;
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        // Git writes no name twice, but an object can be made by hand.
        nodes.dedup_by(|b, a| a.name == b.name);
        let nodes: Arc<[Node]> = nodes.into();
        known().add(id, nodes.clone());
        Ok(nodes)
    }

    /// Bytes of a blob, which is not inflated.
    pub(super) fn size(&self, id: Oid) -> Result<u64, String> {
        self.store.size(id)
    }

    /// The same of the blob `id` at `node`; zero for one that is missing: what a partial clone
    /// lacks is still named, and reading it says what is wrong.
    pub(super) fn size_at(&self, node: &Node, id: Oid) -> u64 {
        *node.size.get_or_init(|| self.size(id).unwrap_or(0))
    }

    /// The first `limit` bytes of a blob.
    pub(super) fn blob(&self, id: Oid, limit: u64) -> Result<Blob, String> {
        let Raw { kind, bytes, size } = self.store.read(id, limit, u64::MAX)?;
        match kind {
            ObjectType::Blob => Ok(Blob { bytes, size }),
            _ => Err(format!("git object {id} is no blob")),
        }
    }

    /// The bytes of a commit or tree, which are not kept.
    pub(super) fn raw(&self, id: Oid, kind: ObjectType) -> Result<Vec<u8>, String> {
        let raw = self.whole(id)?;
        if raw.kind != kind {
            return Err(format!("git object {id} is no {kind}"));
        }
        Ok(raw.bytes)
    }

    /// A tree, commit or tag.
    fn whole(&self, id: Oid) -> Result<Raw, String> {
        self.store.read(id, TREE_LIMIT, TREE_LIMIT)
    }
}

impl Trees {
    fn add(&mut self, id: Oid, nodes: Arc<[Node]>) {
        // Listing asks for the same few trees again at once, so that starting afresh costs little.
        if self.nodes + nodes.len() > MOST_NODES {
            *self = Self::default();
        }
        self.nodes += nodes.len();
        self.by_id.insert(id, nodes);
    }
}

/// The entries of a tree object, each `<octal mode> <name>\0<20 bytes of id>`; `None` when it is
/// none.
pub(super) fn nodes(mut bytes: &[u8]) -> Option<Vec<Node>> {
    let mut nodes = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.iter().position(|&byte| byte == 0)?;
        let (entry, rest) = (&bytes[..end], bytes.get(end + 1..)?);
        let (id, rest) = rest.split_at_checked(20)?;
        let id = Oid::from_bytes(id).ok()?;
        let space = entry.iter().position(|&byte| byte == b' ')?;
        let mode = std::str::from_utf8(&entry[..space]).ok()?;
        let kind = match u32::from_str_radix(mode, 8).ok()? & 0o170_000 {
            0o040_000 => NodeKind::Dir(id),
            0o120_000 => NodeKind::Link(id),
            0o160_000 => NodeKind::Submodule,
            _ => NodeKind::File(id),
        };
        nodes.push(Node { name: entry[space + 1..].to_owned(), kind, size: OnceLock::new() });
        bytes = rest;
    }
    Some(nodes)
}
