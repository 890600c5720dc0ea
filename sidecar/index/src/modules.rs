use codegrep_tree::RepoPath;
use rustc_hash::FxHashMap;

use crate::imports::Import;
use crate::index::DocId;
use crate::token::exact_name;

/// A name with more files than this tells nothing.
const MOST: usize = 32;

/// Finds files by the end of their path, with or without extension, and packages by folder.
#[derive(Debug, Default)]
pub struct Modules {
    /// Path of each file without extension, `__init__`, `index`, `mod` and `lib` dropped: what
    /// an import names.
    stems: Vec<Box<str>>,
    paths: Vec<RepoPath>,
    by_last: FxHashMap<u64, Vec<DocId>>,
    /// Files by their exact name with extension, in lower case.
    by_name: FxHashMap<u64, Vec<DocId>>,
    by_folder: FxHashMap<u64, Vec<DocId>>,
}

impl Modules {
    pub(crate) fn new<'a>(paths: impl Iterator<Item = &'a RepoPath>) -> Self {
        let mut modules = Self::default();
        for (id, path) in paths.enumerate() {
            let id = id as DocId;
            let stem = module_stem(path);
            let last = stem.rsplit('/').next().unwrap_or("");
            modules.by_last.entry(key(last)).or_default().push(id);
            modules.by_name.entry(key(path.file_name())).or_default().push(id);
            if let Some(folder) = path.parent() {
                modules.by_folder.entry(key(folder.file_name())).or_default().push(id);
            }
            modules.stems.push(stem.into());
            modules.paths.push(path.clone());
        }
        modules
    }

    /// Files whose path ends with `text` (`db/models.py`, `models.py`), letter case ignored;
    /// those that share the most folders with it when its first folders are unknown here, such
    /// as those of an installed package: how many segments match, then the files.
    pub fn ending_with(&self, text: &str) -> (usize, Vec<DocId>) {
        let name = text.rsplit('/').next().unwrap_or("");
        let ids = self.by_name.get(&key(name)).map_or(&[][..], Vec::as_slice);
        deepest(ids, text, |id| self.paths[id as usize].as_str())
    }

    /// Files that the module path `text` (`django/db/models`) names, like
    /// [`Modules::ending_with`] for paths without extension.
    pub fn named(&self, text: &str) -> (usize, Vec<DocId>) {
        let last = text.rsplit('/').next().unwrap_or("");
        let ids = self.by_last.get(&key(last)).map_or(&[][..], Vec::as_slice);
        deepest(ids, text, |id| &self.stems[id as usize])
    }

    /// Files directly in folders whose path ends with `text`.
    pub fn in_folder(&self, text: &str) -> Vec<DocId> {
        let last = text.rsplit('/').next().unwrap_or("");
        let ids = self.by_folder.get(&key(last)).map_or(&[][..], Vec::as_slice);
        let folder = |id: DocId| {
            let path = self.paths[id as usize].as_str();
            path.rsplit_once('/').map_or("", |(folder, _)| folder)
        };
        deepest(ids, text, folder).1
    }

    pub(crate) fn imported(&self, import: &Import) -> Vec<DocId> {
        let ids = match import {
            Import::Exact(path) => {
                let wanted = path.split('/').count();
                let (depth, mut ids) = self.named(path);
                ids.retain(|id| self.stems[*id as usize] == *path);
                if depth >= wanted { ids } else { Vec::new() }
            }
            Import::Suffix(path) => {
                let wanted = path.split('/').count();
                let (depth, ids) = self.named(path);
                // One matching segment of several is a coincidence.
                if depth == wanted || depth >= 2 {
                    ids
                } else if wanted >= 2 || path.contains('/') {
                    self.in_folder(path)
                } else {
                    Vec::new()
                }
            }
        };
        if ids.len() > MOST { Vec::new() } else { ids }
    }

    pub(crate) fn memory(&self) -> usize {
        self.stems.iter().map(|stem| stem.len() + 16 + 16).sum::<usize>()
            + self.stems.len() * 3 * 44
    }
}

fn key(name: &str) -> u64 {
    exact_name(name.to_ascii_lowercase().as_bytes())
}

fn module_stem(path: &RepoPath) -> &str {
    let text = path.as_str();
    let stem = match path.extension() {
        Some(extension) => &text[..text.len() - extension.len() - 1],
        None => text,
    };
    match stem.rsplit_once('/') {
        Some((folder, "__init__" | "index" | "mod" | "lib")) => folder,
        _ => stem,
    }
}

/// Of `ids`, those whose path shares the most trailing segments with `text`.
fn deepest<'a>(ids: &[DocId], text: &str, path: impl Fn(DocId) -> &'a str) -> (usize, Vec<DocId>) {
    let mut best = 0;
    let mut found = Vec::new();
    for &id in ids {
        let depth = path(id)
            .rsplit('/')
            .zip(text.rsplit('/'))
            .take_while(|(a, b)| a.eq_ignore_ascii_case(b))
            .count();
        if depth > best {
            best = depth;
            found.clear();
        }
        if depth == best && depth > 0 {
            found.push(id);
        }
    }
    (best, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 6] = [
        "django/db/models/__init__.py",
        "django/db/models/query.py",
        "django/forms/models.py",
        "lib/util.js",
        "pkg/xds/client.go",
        "pkg/xds/xds.go",
    ];

    fn modules() -> Modules {
        let paths: Vec<RepoPath> = PATHS.iter().map(|p| RepoPath::parse(p).unwrap()).collect();
        Modules::new(paths.iter())
    }

    #[test]
    fn the_longest_common_end_wins() {
        let m = modules();
        assert_eq!(m.ending_with("site-packages/django/db/models/query.py"), (4, vec![1]));
        assert_eq!(m.ending_with("models.py"), (1, vec![2]));
        assert_eq!(m.ending_with("Forms/Models.py"), (2, vec![2]));
        assert_eq!(m.named("django/db/models"), (3, vec![0]));
        assert_eq!(m.named("models"), (1, vec![0, 2]));
        assert_eq!(m.ending_with("none.py"), (0, vec![]));
    }

    #[test]
    fn imports_find_files_and_folders() {
        let m = modules();
        let suffix = |text: &str| m.imported(&Import::Suffix(text.into()));
        assert_eq!(suffix("django/db/models"), [0]);
        assert_eq!(suffix("elsewhere/util"), [] as [DocId; 0]);
        assert_eq!(suffix("grpc/pkg/xds"), [4, 5]);
        assert_eq!(m.imported(&Import::Exact("lib/util".into())), [3]);
        assert_eq!(m.imported(&Import::Exact("other/util".into())), [] as [DocId; 0]);
    }
}
