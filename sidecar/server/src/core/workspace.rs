use std::path::{Path, PathBuf};
use std::sync::Arc;

use codegrep_plugin_sdk::{FileRef, OpenFile};
use codegrep_tree::{DiskTree, ForestTree, GitTree, OverlayTree, RepoPath, Tree, TreeError};

use super::Root;
use super::roots::file_path;
use crate::failure::Failure;

/// The roots of a request as one tree, and the way back from its paths.
pub struct Workspace {
    pub tree: Arc<dyn Tree>,
    /// Open files that are not used, and why.
    pub warnings: Vec<String>,
    roots: Vec<Root>,
    /// Where there are several roots: each in a folder that bears its name.
    forest: Option<Arc<ForestTree>>,
}

impl Workspace {
    /// Opens the roots as they lie on disk, with the unsaved text of open files over it.
    pub fn open(mut roots: Vec<Root>, open_files: Vec<OpenFile>) -> Result<Self, Failure> {
        let mut seen = Vec::new();
        roots.retain(|root| {
            let new = !seen.contains(&root.real);
            seen.push(root.real.clone());
            new
        });
        let mut trees: Vec<(String, Arc<dyn Tree>)> = Vec::new();
        for root in &roots {
            let name = root.real.file_name().unwrap_or_default().to_string_lossy().into_owned();
            trees.push((name, Arc::new(DiskTree::open(&root.path)?)));
        }
        let (tree, forest): (Arc<dyn Tree>, _) = match &trees[..] {
            [(_, tree)] => (Arc::clone(tree), None),
            _ => {
                let forest = Arc::new(ForestTree::new(trees));
                (Arc::clone(&forest) as Arc<dyn Tree>, Some(forest))
            }
        };
        let mut workspace = Self { tree, warnings: Vec::new(), roots, forest };
        workspace.lay_over(open_files)?;
        Ok(workspace)
    }

    /// Opens one commit of a repository; nothing is checked out.
    pub fn commit(root: Root, rev: &str) -> Result<Self, Failure> {
        let tree = Arc::new(GitTree::open(&root.path, rev)?);
        Ok(Self { tree, warnings: Vec::new(), roots: vec![root], forest: None })
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

    fn lay_over(&mut self, open_files: Vec<OpenFile>) -> Result<(), Failure> {
        if open_files.is_empty() {
            return Ok(());
        }
        let mut buffers = Vec::new();
        for open in open_files {
            let placed = self.place(&open.path).and_then(|path| {
                // One that has no place in the tree must not take the others with it.
                OverlayTree::new(Arc::clone(&self.tree), [(path.clone(), Vec::new())])?;
                Ok(path)
            });
            match placed {
                Ok(path) => buffers.push((path, open.text.into_bytes())),
                Err(failure) => self.warnings.push(format!(
                    "the unsaved text of {} is not used: {}",
                    open.path, failure.message
                )),
            }
        }
        self.tree = Arc::new(OverlayTree::new(Arc::clone(&self.tree), buffers)?);
        Ok(())
    }

    /// The tree's path of a file the client names.
    fn place(&self, text: &str) -> Result<RepoPath, Failure> {
        let file = file_path(text)
            .ok_or_else(|| Failure::usage("it is named by no absolute path and no file:// URI"))?;
        // Of roots inside one another, the innermost.
        let (index, rest) = self
            .roots
            .iter()
            .enumerate()
            .filter_map(|(index, root)| Some((index, root.below(&file)?)))
            .min_by_key(|(_, rest)| rest.as_os_str().len())
            .ok_or_else(|| Failure::usage("it lies in none of the roots"))?;
        let path = RepoPath::parse(&rest.to_string_lossy()).map_err(TreeError::from)?;
        Ok(match &self.forest {
            Some(forest) => forest.path(index, &path)?,
            None => path,
        })
    }
}

impl Root {
    /// What is left of `file` below this root.
    fn below(&self, file: &Path) -> Option<PathBuf> {
        let rest = file.strip_prefix(&self.path).or_else(|_| file.strip_prefix(&self.real));
        rest.ok().map(Path::to_owned)
    }
}
