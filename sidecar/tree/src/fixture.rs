//! Repositories for tests, written as text. Panics where something fails, as tests want.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{IndexAddOption, Repository, RepositoryInitOptions, Signature, Time};
use tempfile::TempDir;

/// A folder that goes away with the value.
pub struct Fixture {
    root: PathBuf,
    _dir: Option<TempDir>,
}

impl Fixture {
    /// Writes the files that `text` holds: each begins with a line `//- /path/of/file` and ends
    /// before the next. Indentation common to all lines is dropped.
    pub fn new(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let fixture = Self { root: dir.path().to_owned(), _dir: Some(dir) };
        for (path, content) in files(text) {
            fixture.write(path, content);
        }
        fixture
    }

    /// An empty folder at `root`, which someone else removes.
    pub fn new_in(root: &Path) -> Self {
        fs::create_dir_all(root).unwrap();
        Self { root: root.to_owned(), _dir: None }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Writes one file and the folders above it.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, content).unwrap();
        file
    }

    /// Makes a symbolic link and the folders above it; `target` is written as given.
    #[cfg(unix)]
    pub fn link(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) {
        let link = self.path().join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, link).unwrap();
    }

    /// Removes one file.
    pub fn remove(&self, path: impl AsRef<Path>) {
        fs::remove_file(self.path().join(path)).unwrap();
    }

    /// Commits the folder as it lies, ignored files too, to the branch `main` of a repository that
    /// the first call makes. Gives the commit's id: 40 hex digits, the same in every run.
    pub fn commit(&self, message: &str) -> String {
        let repo = Repository::open(self.path()).unwrap_or_else(|_| {
            let mut options = RepositoryInitOptions::new();
            options.initial_head("main").external_template(false);
            let repo = Repository::init_opts(self.path(), &options).unwrap();
            // Bytes are committed as they lie, whatever this machine's git is set to.
            repo.config().unwrap().set_str("core.autocrlf", "false").unwrap();
            repo
        });
        let mut index = repo.index().unwrap();
        index.add_all(["*"], IndexAddOption::FORCE, None).unwrap();
        index.update_all(["*"], None).unwrap();
        index.write().unwrap();
        let tree = repo.find_tree(index.write_tree().unwrap()).unwrap();
        let parent = repo.head().ok().map(|head| head.peel_to_commit().unwrap());
        let seconds = parent.as_ref().map_or(1_700_000_000, |p| p.time().seconds() + 60);
        let author =
            Signature::new("A Developer", "dev@example.org", &Time::new(seconds, 0)).unwrap();
        let parents: Vec<_> = parent.iter().collect();
        repo.commit(Some("HEAD"), &author, &author, message, &tree, &parents).unwrap().to_string()
    }
}

/// The files in a fixture's text, as [`Fixture::new`] reads it.
pub fn files(text: &str) -> Vec<(String, String)> {
    let indent = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start_matches(' ').len())
        .min()
        .unwrap_or(0);
    let mut files: Vec<(String, String)> = Vec::new();
    // The spaces before a closing quote on its own line are no line of the last file.
    for line in text.trim_end_matches(' ').lines() {
        let line = line.get(indent..).unwrap_or("");
        if let Some(path) = line.strip_prefix("//- /") {
            files.push((path.trim_end().to_owned(), String::new()));
        } else if let Some((_, content)) = files.last_mut() {
            content.push_str(line);
            content.push('\n');
        } else {
            assert!(line.is_empty(), "text before the first `//- /path` line: {line:?}");
        }
    }
    files
}
