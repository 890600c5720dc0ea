//! Task rows: an issue, a commit, and the files its fix edits (spec 3, "Files").

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One row of a tasks file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub instance_id: String,
    pub repo: String,
    /// `owner/name` of the repository that holds the commits; `repo` when absent.
    #[serde(default)]
    pub git: Option<String>,
    pub language: String,
    pub base_commit: String,
    pub problem_statement: String,
    /// Repo-relative paths of the code files the gold patch edits at the base commit.
    pub gold_files: Vec<String>,
    /// Whether the statement names a gold file; worked out from the text when absent.
    #[serde(default)]
    pub names_gold: Option<bool>,
}

/// A row that can't be used, by its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRow {
    /// 1-based.
    pub line: usize,
    pub why: String,
}

#[derive(Debug, thiserror::Error)]
pub enum TasksError {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("{path}: no usable task row ({bad} bad rows; the first: line {line}: {why})")]
    Nothing { path: String, bad: usize, line: usize, why: String },
    #[error("{0}: empty; a tasks file holds one JSON object a line, see docs/evaluation.md")]
    Empty(String),
    #[error("--git {0:?}: must hold {{owner}} and {{name}}, such as repos/{{owner}}+{{name}}/repo")]
    Template(String),
}

impl Task {
    /// `owner/name` that holds the commits.
    pub fn git(&self) -> &str {
        self.git.as_deref().unwrap_or(&self.repo)
    }

    /// Whether the statement holds a gold file's path or name.
    pub fn names_gold(&self) -> bool {
        self.names_gold.unwrap_or_else(|| {
            self.gold_files.iter().any(|path| {
                let name = path.rsplit('/').next().unwrap_or(path);
                self.problem_statement.contains(name)
            })
        })
    }

    /// Refuses what could be read as an option, a path or nothing at all: a row is hostile input.
    fn check(&self) -> Result<(), String> {
        let commit = &self.base_commit;
        let hex = commit.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !(7..=64).contains(&commit.len()) || !hex {
            return Err(format!("base_commit {commit:?} is not 7 to 64 lower-case hex digits"));
        }
        if self.problem_statement.trim().is_empty() {
            return Err("problem_statement is empty".to_owned());
        }
        owner_name(self.git()).map(|_| ())
    }
}

/// Splits and checks `owner/name`: neither part may climb or hold anything but `[A-Za-z0-9._-]`.
fn owner_name(git: &str) -> Result<(&str, &str), String> {
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    // `swe-bench/pylint-dev__pylint` has one slash like any other.
    git.split_once('/')
        .filter(|(owner, name)| plain(owner) && plain(name))
        .ok_or_else(|| format!("repository {git:?} is not owner/name"))
}

/// Reads every usable row; the others are returned by line, and are never fatal unless nothing
/// is left.
pub fn read(path: &Path) -> Result<(Vec<Task>, Vec<BadRow>), TasksError> {
    let (mut tasks, mut bad) = (Vec::new(), Vec::new());
    // Line by id: records are told apart by it.
    let mut first = HashMap::new();
    for (at, line) in std::io::BufReader::new(fs_err::File::open(path)?).split(b'\n').enumerate() {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let row = serde_json::from_slice::<Task>(&line)
            .map_err(|error| error.to_string())
            .and_then(|task| task.check().map(|()| task))
            .and_then(|task| match first.entry(task.instance_id.clone()) {
                Entry::Occupied(first) => Err(format!(
                    "instance_id {:?} is that of line {} already",
                    task.instance_id,
                    first.get()
                )),
                Entry::Vacant(new) => {
                    new.insert(at + 1);
                    Ok(task)
                }
            });
        match row {
            Ok(task) => {
                tasks.push(Task { language: crate::language::canonical(&task.language), ..task })
            }
            Err(why) => bad.push(BadRow { line: at + 1, why }),
        }
    }
    if tasks.is_empty() {
        let path = path.display().to_string();
        return Err(match bad.first() {
            Some(first) => TasksError::Nothing {
                path,
                bad: bad.len(),
                line: first.line,
                why: first.why.clone(),
            },
            None => TasksError::Empty(path),
        });
    }
    Ok((tasks, bad))
}

/// Where repositories lie: a path with `{owner}` and `{name}` in it.
#[derive(Debug, Clone)]
pub struct GitTemplate(String);

impl GitTemplate {
    pub fn new(text: &str) -> Result<Self, TasksError> {
        if text.contains("{owner}") && text.contains("{name}") {
            Ok(Self(text.to_owned()))
        } else {
            Err(TasksError::Template(text.to_owned()))
        }
    }

    /// The repository of `owner/name`, which [`read`] has checked.
    pub fn path(&self, git: &str) -> PathBuf {
        let (owner, name) = git.split_once('/').unwrap_or(("", git));
        PathBuf::from(self.0.replace("{owner}", owner).replace("{name}", name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<(Vec<Task>, Vec<BadRow>), TasksError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read(file.path())
    }

    const ROW: &str = r#"{"instance_id":"a__b-1","repo":"a/b","language":"C++","base_commit":"0123abc","problem_statement":"x.cc breaks","gold_files":["src/x.cc"]}"#;

    #[test]
    fn a_bad_row_is_told_by_line_and_not_fatal() {
        let hostile = ROW.replace("0123abc", "--upload-pack=x");
        let climbing = ROW.replace("a/b", "../../etc");
        let (tasks, bad) =
            read_text(&format!("{ROW}\n\n{hostile}\n{climbing}\n{{\n\u{fffd}\n")).unwrap();
        assert_eq!(tasks.len(), 1);
        assert_eq!(tasks[0].language, "cpp");
        assert!(tasks[0].names_gold());
        assert_eq!(bad.iter().map(|row| row.line).collect::<Vec<_>>(), [3, 4, 5, 6]);
    }

    #[test]
    fn the_second_task_of_an_id_is_a_bad_row() {
        let second = ROW.replace("x.cc breaks", "y.cc breaks");
        let (tasks, bad) = read_text(&format!("{ROW}\n{second}\n")).unwrap();
        assert_eq!((tasks.len(), tasks[0].problem_statement.as_str()), (1, "x.cc breaks"));
        let why = "instance_id \"a__b-1\" is that of line 1 already".to_owned();
        assert_eq!(bad, [BadRow { line: 2, why }]);
    }

    #[test]
    fn nothing_usable_is_an_error_that_quotes_the_first_cause() {
        assert!(matches!(read_text("\n"), Err(TasksError::Empty(_))));
        let error = read_text("{}\n").unwrap_err().to_string();
        assert!(error.contains("line 1: missing field"), "{error}");
    }

    #[test]
    fn a_template_is_filled_from_git() {
        let template = GitTemplate::new("r/{owner}+{name}/repo").unwrap();
        assert_eq!(
            template.path("swe-bench/django__django"),
            Path::new("r/swe-bench+django__django/repo")
        );
        assert!(GitTemplate::new("r/{name}").is_err());
    }
}
