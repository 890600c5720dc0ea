//! Features of every file that the lexical engine compares closely, on disk as they are made.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use codegrep_index::Store;
use codegrep_rank::{Features, Ranker, Weights, explain};
use codegrep_tree::{GitTree, RepoPath, Watch};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::FitError;
use crate::jsonl;
use crate::tasks::Task;

/// What the lexical engine knew about one task's candidates.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Gathered {
    pub instance_id: String,
    /// `owner/name`: folds are made of these.
    pub repo: String,
    pub language: String,
    pub names_gold: bool,
    pub gold: Vec<String>,
    /// What the values are, so that those of an older program are told apart.
    pub features: Vec<String>,
    /// Best first, by the weights it was gathered with.
    pub candidates: Vec<Row>,
}

/// One candidate: its path and `Features::values`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub path: String,
    pub values: Vec<f32>,
}

impl AsRef<[f32]> for Row {
    fn as_ref(&self) -> &[f32] {
        &self.values
    }
}

impl Gathered {
    pub fn is_gold(&self, path: &str) -> bool {
        self.gold.iter().any(|gold| gold == path)
    }

    /// How many gold files are among the candidates.
    pub fn found(&self) -> usize {
        self.candidates.iter().filter(|row| self.is_gold(&row.path)).count()
    }
}

/// All that `file` holds already.
///
/// # Errors
/// It was gathered by a program with other features.
pub fn gathered(file: &Path) -> Result<Vec<Gathered>, FitError> {
    let known: Vec<Gathered> = jsonl::read(file)?;
    let stale = |task: &Gathered| {
        task.features != Features::NAMES
            || task.candidates.iter().any(|row| row.values.len() != Features::NAMES.len())
    };
    match known.iter().find(|task| stale(task)) {
        Some(task) => {
            Err(FitError::Stale { file: file.to_owned(), task: task.instance_id.clone() })
        }
        None => Ok(known),
    }
}

/// Gathers the tasks not yet in `file`, appending there; returns all of `tasks`, in their order,
/// and a line for each that could not be read. `repository` says where a task's repository lies.
pub fn gather(
    tasks: &[Task],
    repository: impl Fn(&Task) -> std::path::PathBuf + Sync,
    file: &Path,
    jobs: usize,
    watch: &Watch,
) -> Result<(Vec<Gathered>, Vec<String>), FitError> {
    let known = gathered(file)?;
    let done = known.iter().map(|task| task.instance_id.as_str()).collect::<HashSet<_>>();
    let mut repositories: BTreeMap<&str, Vec<&Task>> = BTreeMap::new();
    for task in tasks.iter().filter(|task| !done.contains(task.instance_id.as_str())) {
        repositories.entry(task.git()).or_default().push(task);
    }
    let bar = crate::progress(repositories.values().map(Vec::len).sum());
    let out = jsonl::rewrite(file, &known)?;
    let shared = Mutex::new((out, known.clone(), Vec::new()));
    let pool = crate::pool(jobs)?;
    pool.install(|| {
        repositories.into_par_iter().try_for_each(|(repo, tasks)| {
            // One ranker a repository: what its commits share is read once. Histories are waited
            // for: features must not depend on how busy the machine was.
            let ranker = Ranker::new(Store::default().patient(), Weights::built_in());
            for task in tasks {
                watch.check()?;
                bar.set_message(repo.to_owned());
                let rows = GitTree::open(&repository(task), &task.base_commit)
                    .map_err(|error| error.to_string())
                    .and_then(|tree| {
                        explain(&task.problem_statement, &tree, &ranker, watch)
                            .map_err(|error| error.to_string())
                    });
                watch.check()?;
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                match rows {
                    Ok(rows) => {
                        let gathered = of(task, rows);
                        jsonl::append(&mut shared.0, &gathered)?;
                        shared.1.push(gathered);
                    }
                    Err(why) => shared.2.push(format!("{}: {why}", task.instance_id)),
                }
                bar.inc(1);
            }
            Ok::<_, FitError>(())
        })
    })?;
    bar.finish_and_clear();
    let (_, all, mut failed) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.sort();
    let mut by_id: BTreeMap<_, _> =
        all.into_iter().map(|task| (task.instance_id.clone(), task)).collect();
    let in_order = tasks.iter().filter_map(|task| by_id.remove(&task.instance_id)).collect();
    Ok((in_order, failed))
}

fn of(task: &Task, rows: Vec<(RepoPath, Features)>) -> Gathered {
    Gathered {
        instance_id: task.instance_id.clone(),
        repo: task.git().to_owned(),
        language: task.language.clone(),
        names_gold: task.names_gold(),
        gold: task.gold_files.clone(),
        features: Features::NAMES.iter().map(|name| (*name).to_owned()).collect(),
        candidates: rows
            .into_iter()
            .map(|(path, features)| Row {
                path: path.to_string(),
                values: features.values().to_vec(),
            })
            .collect(),
    }
}
