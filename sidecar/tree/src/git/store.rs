use std::collections::VecDeque;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use git2::{ErrorCode, ObjectType, Odb, Oid};

use super::loose::Loose;
use super::packs::{PACKED_LIMIT, Packs};
use crate::regular;

const ALTERNATES_LIMIT: u64 = 64 << 10;
/// As many object folders behind one another are followed.
const MAX_FOLDERS: usize = 16;

/// A repository's objects, for many threads at once. Errors are sentences for the user.
///
/// Only the object folders are opened, so no configuration is ever read. libgit2 reads the packs;
/// it locks a handle meanwhile, so each thread takes its own from a pool.
pub(super) struct Store {
    /// The object folder, then those that its `info/alternates` name.
    folders: Vec<PathBuf>,
    packs: OnceLock<Result<Packs, String>>,
    idle: Mutex<Vec<Odb<'static>>>,
}

/// The start of an object.
pub(super) struct Raw {
    pub kind: ObjectType,
    pub bytes: Vec<u8>,
    /// Of the whole.
    pub size: u64,
}

impl Store {
    /// Opens the folder `objects` of a repository.
    pub(super) fn open(objects: &Path) -> Result<Self, String> {
        let mut folders = Vec::new();
        let mut todo = VecDeque::from([(objects.to_owned(), true)]);
        while let Some((folder, is_own)) = todo.pop_front() {
            if folders.contains(&folder) || !folder.is_dir() {
                continue;
            }
            if folders.len() == MAX_FOLDERS {
                return Err("too many alternate object folders".to_owned());
            }
            todo.extend(alternates(&folder, is_own)?.into_iter().map(|folder| (folder, false)));
            only_regular_packs(&folder)?;
            folders.push(folder);
        }
        Ok(Self { folders, packs: OnceLock::new(), idle: Mutex::default() })
    }

    /// The id that begins with these hex digits; `None` when there is none.
    pub(super) fn find(&self, prefix: &str) -> Result<Option<Oid>, String> {
        let short = Oid::from_str(prefix).map_err(text)?;
        self.packed(|odb| match odb.exists_prefix(short, prefix.len()) {
            Ok(id) => Ok(Some(id)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) if error.code() == ErrorCode::Ambiguous => {
                Err(format!("several objects begin with {prefix}"))
            }
            Err(error) => Err(text(error)),
        })
    }

    /// Bytes of an object, which is not inflated.
    pub(super) fn size(&self, id: Oid) -> Result<u64, String> {
        match self.loose(id)? {
            Some(loose) => Ok(loose.size),
            None => {
                self.admit(id)?;
                self.packed(|odb| packed_size(odb, id))
            }
        }
    }

    /// The first `limit` bytes of an object that has at most `most`. Whole ones are checked against
    /// their id.
    pub(super) fn read(&self, id: Oid, limit: u64, most: u64) -> Result<Raw, String> {
        let fits = |size: u64| match size <= most {
            true => Ok(()),
            false => Err(format!("git object {id} has {size} bytes, too many to be read")),
        };
        if let Some(loose) = self.loose(id)? {
            let (kind, size) = (loose.kind, loose.size);
            fits(size)?;
            let bytes = loose.read(limit).map_err(|error| damaged(id, error))?;
            if bytes.len() as u64 == size {
                let hash = Oid::hash_object(kind, &bytes).map_err(text)?;
                if hash != id {
                    return Err(damaged(id, format!("its content has the id {hash}")));
                }
            }
            return Ok(Raw { kind, bytes, size });
        }
        self.admit(id)?;
        self.packed(|odb| {
            let size = packed_size(odb, id)?;
            fits(size)?;
            if size > PACKED_LIMIT {
                return Err(format!("git object {id} has {size} bytes, too many to be unpacked"));
            }
            let object = odb.read(id).map_err(|error| missing(id, error))?;
            let end = usize::try_from(limit).unwrap_or(usize::MAX).min(object.len());
            Ok(Raw { kind: object.kind(), bytes: object.data()[..end].to_owned(), size })
        })
    }

    /// An error when the object is not packed, or libgit2 would come to harm by it.
    fn admit(&self, id: Oid) -> Result<(), String> {
        let packs = self.packs.get_or_init(|| Packs::open(&self.folders)).as_ref();
        match packs.map_err(Clone::clone)?.admit(id) {
            Ok(true) => Ok(()),
            Ok(false) => Err(absent(id)),
            Err(why) => Err(damaged(id, why)),
        }
    }

    fn loose(&self, id: Oid) -> Result<Option<Loose>, String> {
        for folder in &self.folders {
            let found = Loose::open(folder, id).map_err(|error| damaged(id, error))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Runs `act` with a handle of its own; to be asked only for what is not loose.
    fn packed<T>(&self, act: impl FnOnce(&Odb<'_>) -> Result<T, String>) -> Result<T, String> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let odb = match taken {
            Some(odb) => odb,
            None => {
                let odb = Odb::new().map_err(text)?;
                let folder = self.folders.first().ok_or("no objects")?;
                let folder = folder.to_str().ok_or("the path to its objects is not UTF-8")?;
                // As an alternate it is opened for reading only.
                odb.add_disk_alternate(folder).map_err(text)?;
                odb
            }
        };
        let result = act(&odb);
        idle().push(odb);
        result
    }
}

fn packed_size(odb: &Odb<'_>, id: Oid) -> Result<u64, String> {
    let (size, _) = odb.read_header(id).map_err(|error| missing(id, error))?;
    Ok(size as u64)
}

fn text(error: git2::Error) -> String {
    error.message().to_owned()
}

fn missing(id: Oid, error: git2::Error) -> String {
    match error.code() {
        ErrorCode::NotFound => absent(id),
        _ => damaged(id, error.message()),
    }
}

fn absent(id: Oid) -> String {
    format!("git object {id} is missing (a shallow or partial clone?)")
}

fn damaged(id: Oid, why: impl Display) -> String {
    format!("git object {id} is damaged: {why}")
}

/// The folders that `info/alternates` names: clones with `--shared` or `--reference` have one.
///
/// libgit2 reads the file as well. Where it would find another folder than this, all is refused: a
/// path that begins with neither a dot nor a slash, or a relative one behind the first folder, is
/// to it one of the working folder.
fn alternates(objects: &Path, is_own: bool) -> Result<Vec<PathBuf>, String> {
    let file = objects.join("info").join("alternates");
    let text = match regular::read_text(&file, ALTERNATES_LIMIT) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("objects/info/alternates: {error}")),
    };
    let mut folders = Vec::new();
    for line in text.split(['\r', '\n']).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let is_plain = Path::new(line).is_absolute() || (is_own && line.starts_with('.'));
        if !is_plain || line.contains('\0') {
            return Err(format!("objects/info/alternates: {line:?} is not an absolute path"));
        }
        folders.push(objects.join(line));
    }
    Ok(folders)
}

/// libgit2 opens every pack and index that it finds, and would wait for a pipe among them.
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
