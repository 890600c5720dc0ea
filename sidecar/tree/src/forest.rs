use std::sync::Arc;

use crate::{
    Blob, BlobId, Folder, History, Item, ItemKind, Kind, Listing, RepoPath, Scope, Tree, TreeError,
    Watch,
};

/// Several trees side by side, each in a folder that bears its root's name: the workspace of a
/// request with several roots.
pub struct ForestTree {
    name: String,
    trees: Vec<(RepoPath, Arc<dyn Tree>)>,
}

impl ForestTree {
    /// Puts each tree under a folder called as given, normally its root's own folder name. Names
    /// that are taken get `-2`, `-3`, …; names that no path can hold become `root`.
    pub fn new(trees: impl IntoIterator<Item = (String, Arc<dyn Tree>)>) -> Self {
        let mut forest = Self { name: String::new(), trees: Vec::new() };
        for (name, tree) in trees {
            let taken = |path: &RepoPath| {
                // Some systems ignore case, and so do people.
                forest.trees.iter().any(|(it, _)| it.as_str().eq_ignore_ascii_case(path.as_str()))
            };
            let named = |name: &str| {
                let path = RepoPath::root().child(name).ok()?;
                (name.len() <= 255 && !path.in_git_dir()).then_some(path)
            };
            let base = if named(&name).is_some() { name.as_str() } else { "root" };
            let prefix = std::iter::once(base.to_owned())
                .chain((2..).map(|n| format!("{base}-{n}")))
                .filter_map(|name| named(&name))
                .find(|path| !taken(path))
                .unwrap_or_else(RepoPath::root);
            forest.trees.push((prefix, tree));
        }
        let names: Vec<&str> = forest.trees.iter().map(|(_, tree)| tree.name()).collect();
        forest.name = names.join(", ");
        forest
    }

    /// The tree that holds `path`, by its place in [`ForestTree::new`], and the path within it;
    /// `None` for the forest's own root and for what lies in no tree.
    pub fn locate(&self, path: &RepoPath) -> Option<(usize, RepoPath)> {
        let in_tree =
            |(index, (prefix, _)): (usize, &(RepoPath, _))| Some((index, path.below(prefix)?));
        self.trees.iter().enumerate().find_map(in_tree)
    }

    /// The path here of `path` in the tree at `index`.
    pub fn path(&self, index: usize, path: &RepoPath) -> Result<RepoPath, TreeError> {
        let (prefix, _) =
            self.trees.get(index).ok_or_else(|| TreeError::NotFound { path: path.to_string() })?;
        Ok(prefix.join(path)?)
    }

    /// Asks the tree that holds `path`; errors name the path as it is here.
    fn ask<T>(
        &self,
        path: &RepoPath,
        act: impl FnOnce(&dyn Tree, &RepoPath) -> Result<T, TreeError>,
    ) -> Result<T, TreeError> {
        let (index, inner) =
            self.locate(path).ok_or_else(|| TreeError::NotFound { path: path.to_string() })?;
        act(&*self.trees[index].1, &inner).map_err(|error| error.at(path))
    }
}

impl Tree for ForestTree {
    fn name(&self) -> &str {
        &self.name
    }

    fn list(&self, dir: &RepoPath, watch: &Watch) -> Result<Folder, TreeError> {
        if !dir.is_root() {
            return self.ask(dir, |tree, inner| tree.list(inner, watch));
        }
        let item = |(prefix, _): &(RepoPath, _)| Item {
            name: prefix.file_name().to_owned(),
            kind: ItemKind::Dir,
        };
        Ok(Folder { items: self.trees.iter().map(item).collect(), ..Folder::default() })
    }

    fn link(&self, path: &RepoPath) -> Result<Option<String>, TreeError> {
        match self.locate(path) {
            Some((_, inner)) if inner.is_root() => Ok(None),
            None if path.is_root() => Ok(None),
            _ => self.ask(path, |tree, inner| tree.link(inner)),
        }
    }

    // Not over `link`: a link may not lead from one tree to another.
    fn resolve(&self, path: &RepoPath) -> Result<RepoPath, TreeError> {
        let Some((index, inner)) = self.locate(path) else {
            return match path.is_root() {
                true => Ok(path.clone()),
                false => Err(TreeError::NotFound { path: path.to_string() }),
            };
        };
        let real = self.trees[index].1.resolve(&inner).map_err(|error| error.at(path))?;
        self.path(index, &real)
    }

    fn kind(&self, path: &RepoPath) -> Result<Kind, TreeError> {
        if path.is_root() { Ok(Kind::Dir) } else { self.ask(path, |tree, inner| tree.kind(inner)) }
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Blob, TreeError> {
        if path.is_root() {
            return Err(TreeError::IsDir { path: path.to_string() });
        }
        self.ask(path, |tree, inner| tree.read(inner, limit))
    }

    fn blob_id(&self, path: &RepoPath) -> Result<BlobId, TreeError> {
        if path.is_root() {
            return Err(TreeError::IsDir { path: path.to_string() });
        }
        self.ask(path, |tree, inner| tree.blob_id(inner))
    }

    fn history(&self) -> Option<History> {
        let mut all = History::default();
        for (prefix, tree) in &self.trees {
            if let Some(history) = tree.history() {
                all.add(prefix, history);
            }
        }
        Some(all)
    }

    /// Each tree's own walk: a root is searched whatever its name, and no tree's rules reach into
    /// another.
    fn walk(&self, scope: &Scope, watch: &Watch) -> Result<Listing, TreeError> {
        let under = scope.under.clone().unwrap_or_else(RepoPath::root);
        let wanted: Vec<(usize, Option<RepoPath>)> = match self.locate(&under) {
            Some((index, inner)) => vec![(index, Some(inner))],
            None if under.is_root() => (0..self.trees.len()).map(|index| (index, None)).collect(),
            None => return Err(TreeError::NotFound { path: under.to_string() }),
        };
        let mut all = Listing::default();
        for (index, inner) in wanted {
            let (prefix, tree) = &self.trees[index];
            let scope = Scope { under: inner, ..scope.clone() };
            let listing = tree.walk(&scope, watch).map_err(|error| error.at(&under))?;
            for mut entry in listing.entries {
                entry.path = prefix.join(&entry.path)?;
                all.entries.push(entry);
            }
            all.warnings.extend(listing.warnings.iter().map(|text| format!("{prefix}: {text}")));
        }
        all.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        all.warnings.truncate(Listing::MAX_WARNINGS);
        Ok(all)
    }
}
