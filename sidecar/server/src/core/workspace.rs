use std::path::{Path, PathBuf};
use std::sync::Arc;

use codegrep_plugin_sdk::{FileRef, OpenFile};
use codegrep_tree::{ForestTree, GitTree, OverlayTree, RepoPath, Tree, TreeError, Watch, reaches};

use super::Root;
use super::roots::file_path;
use crate::failure::Failure;

/// More files than anybody edits at once; each costs a look at the disk.
const MOST_OPEN: usize = 1000;
/// Folders above an open file; each costs another.
const DEEPEST_OPEN: usize = 256;

/// The roots of a request as one tree, and the way back from its paths.
pub struct Workspace {
    pub tree: Arc<dyn Tree>,
    /// Open files that are not used, and why; roots that are searched as part of others.
    pub warnings: Vec<String>,
    /// Each apart from the others.
    roots: Vec<Root>,
    /// Every root the request named, and its path in the tree.
    named: Vec<(Root, RepoPath)>,
    /// Where there are several roots: each in a folder that bears its name.
    forest: Option<Arc<ForestTree>>,
}

impl Workspace {
    /// Opens the roots as they lie on disk, with the unsaved text of open files over it.
    ///
    /// A root that another holds is not searched a second time, unless that one leaves it out.
    pub fn open(
        named: Vec<Root>,
        open_files: Vec<OpenFile>,
        watch: &Watch,
    ) -> Result<Self, Failure> {
        let mut roots: Vec<Root> = Vec::new();
        let mut warnings = Vec::new();
        for root in &named {
            if roots.iter().any(|known| known.real == root.real) {
                continue;
            }
            match named.iter().find(|outer| outer.covers(root)) {
                Some(outer) => warnings.push(format!(
                    "the root {} is searched as a part of the root {}",
                    root.name(),
                    outer.name()
                )),
                None => roots.push(root.clone()),
            }
        }
        let (tree, forest): (Arc<dyn Tree>, _) = match &roots[..] {
            [root] => (Arc::clone(&root.tree) as Arc<dyn Tree>, None),
            _ => {
                let forest = Arc::new(ForestTree::new(roots.iter().map(|root| {
                    let name = root.real.file_name().unwrap_or_default();
                    let tree = Arc::clone(&root.tree) as Arc<dyn Tree>;
                    (name.to_string_lossy().into_owned(), tree)
                })));
                (Arc::clone(&forest) as Arc<dyn Tree>, Some(forest))
            }
        };
        let mut workspace = Self { tree, warnings, roots, named: Vec::new(), forest };
        for root in named {
            if let Some(path) = workspace.path_of(&root) {
                workspace.named.push((root, path));
            }
        }
        workspace.lay_over(open_files, watch)?;
        Ok(workspace)
    }

    /// Opens one commit of a repository; nothing is checked out.
    pub fn commit(root: Root, rev: &str) -> Result<Self, Failure> {
        let tree = Arc::new(GitTree::open(&root.real, rev)?);
        let named = vec![(root.clone(), RepoPath::root())];
        Ok(Self { tree, warnings: Vec::new(), roots: vec![root], named, forest: None })
    }

    /// The folders of the tree that the request named as roots.
    pub fn named(&self) -> Vec<RepoPath> {
        let mut paths: Vec<RepoPath> = self.named.iter().map(|(_, path)| path.clone()).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Where a root lies in the tree.
    fn path_of(&self, root: &Root) -> Option<RepoPath> {
        let holding = self.roots.iter().enumerate().filter_map(|(index, holder)| {
            Some((index, root.real.strip_prefix(&holder.real).ok()?))
        });
        let (index, rest) = holding.min_by_key(|(_, rest)| rest.as_os_str().len())?;
        let path = below(rest)?;
        match &self.forest {
            Some(forest) => forest.path(index, &path).ok(),
            None => Some(path),
        }
    }

    /// The root a path of the tree lies in, and the path below it.
    pub fn locate(&self, path: &RepoPath) -> FileRef {
        let within = self.forest.as_ref().and_then(|forest| forest.locate(path));
        let (root, path) = match within {
            Some((index, inner)) => (&self.roots[index], inner),
            None => (&self.roots[0], path.clone()),
        };
        FileRef { root: root.name(), path: path.as_str().to_owned() }
    }

    fn lay_over(&mut self, open_files: Vec<OpenFile>, watch: &Watch) -> Result<(), Failure> {
        if open_files.is_empty() {
            return Ok(());
        }
        if open_files.len() > MOST_OPEN {
            let message = format!("openFiles holds {} files", open_files.len());
            let hint = format!("give those with unsaved text, at most {MOST_OPEN}");
            return Err(Failure::usage(message).hint(hint));
        }
        let mut tree = OverlayTree::new(Arc::clone(&self.tree), [])?;
        for open in open_files {
            watch.check()?;
            let laid = self.place(&open.path).and_then(|path| match path.segments().count() {
                0..=DEEPEST_OPEN => Ok(tree.lay(&path, open.text.into_bytes())?),
                depth => Err(Failure::usage(format!(
                    "it lies {depth} folders deep, where {DEEPEST_OPEN} are the most"
                ))),
            });
            // One that has no place in the tree must not take the others with it.
            if let Err(failure) = laid {
                self.warnings.push(format!(
                    "the unsaved text of {} is not used: {}",
                    open.path, failure.message
                ));
            }
        }
        self.tree = Arc::new(tree);
        Ok(())
    }

    /// The tree's path of a file the client names.
    fn place(&self, text: &str) -> Result<RepoPath, Failure> {
        let file = file_path(text)
            .ok_or_else(|| Failure::usage("it is named by no absolute path and no file:// URI"))?;
        // Of roots inside one another, the innermost.
        let (at, rest) = self
            .named
            .iter()
            .filter_map(|(root, at)| Some((at, root.below(&file)?)))
            .min_by_key(|(_, rest)| rest.as_os_str().len())
            .ok_or_else(|| Failure::usage("it lies in none of the roots"))?;
        let path = RepoPath::parse(&rest.to_string_lossy()).map_err(TreeError::from)?;
        Ok(at.join(&path).map_err(TreeError::from)?)
    }
}

/// A path that the system gave, below a root.
fn below(rest: &Path) -> Option<RepoPath> {
    rest.iter().try_fold(RepoPath::root(), |at, name| at.child(name.to_str()?).ok())
}

impl Root {
    /// Whether `other` lies inside this root and is listed there.
    fn covers(&self, other: &Self) -> bool {
        let Ok(rest) = other.real.strip_prefix(&self.real) else { return false };
        let path = below(rest).filter(|path| !path.is_root());
        path.is_some_and(|path| reaches(&*self.tree, &path, &Watch::idle()).unwrap_or(false))
    }

    /// What is left of `file` below this root.
    fn below(&self, file: &Path) -> Option<PathBuf> {
        let rest = file.strip_prefix(&self.path).or_else(|_| file.strip_prefix(&self.real));
        rest.ok().map(Path::to_owned)
    }
}
