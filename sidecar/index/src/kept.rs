use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codegrep_tree::{RepoPath, regular};
use serde::{Deserialize, Serialize};

use crate::git::{Changed, Written};
use crate::token::exact_name;

/// A larger file was not written by us.
const LIMIT: u64 = 64 << 20;

/// A file of commits that were compared before, a JSON object a line.
///
/// It only saves time: a file that is missing, damaged or not writable is as good as empty.
pub(crate) struct Kept {
    file: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    id: std::borrow::Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paths: Option<Vec<std::borrow::Cow<'a, str>>>,
}

impl Kept {
    /// The file in `folder` for the repository called `root`.
    pub fn of_root(folder: &Path, root: &str) -> Self {
        Self { file: folder.join(format!("{:016x}.jsonl", exact_name(root.as_bytes()))) }
    }

    /// All whole lines.
    pub fn load(&self) -> Vec<(String, Changed)> {
        let text = regular::read_text(&self.file, LIMIT).unwrap_or_default();
        let changed = |line: Line<'_>| {
            let paths = line.paths.map(|paths| {
                let parsed = paths.iter().filter_map(|path| RepoPath::parse(path).ok());
                Arc::from(parsed.collect::<Vec<_>>())
            });
            (line.id.into_owned(), paths)
        };
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).map(changed).collect()
    }

    /// Replaces the file; a reader sees the old or the new one, whenever this process ends.
    pub fn save(&self, commits: &Written<'_>) {
        let Some(folder) = self.file.parent() else { return };
        let written = fs::create_dir_all(folder).and_then(|()| {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            let mut out = std::io::BufWriter::new(file.as_file_mut());
            for (id, changed) in commits {
                let line = Line {
                    id: (*id).into(),
                    paths: changed
                        .as_ref()
                        .map(|paths| paths.iter().map(|path| path.as_str().into()).collect()),
                };
                serde_json::to_writer(&mut out, &line)?;
                out.write_all(b"\n")?;
            }
            out.flush()?;
            drop(out);
            file.persist(&self.file)?;
            Ok(())
        });
        // The next process compares again; nothing else is lost.
        drop(written);
    }
}
