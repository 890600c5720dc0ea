//! Runs engines over tasks: resumable, every record on disk as soon as it is made.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use codegrep_agent::Model;
use codegrep_rank::Weights;
use codegrep_score::stats::SplitMix;
use codegrep_tree::{GitTree, Tree, Watch};
use rayon::prelude::*;

use super::engine::EngineKind;
use super::record::{Prediction, Record};
use crate::jsonl::{self, JsonlError};
use crate::tasks::{GitTemplate, Task};

/// What to run.
#[derive(Clone)]
pub struct Plan {
    pub git: GitTemplate,
    pub engines: Vec<EngineKind>,
    /// Asked by the engines that need one.
    pub model: Option<Arc<dyn Model>>,
    /// Of the ranker.
    pub weights: Weights,
    /// Time one question may take.
    pub budget: Option<Duration>,
    /// Repositories worked on at once; latencies are honest at 1.
    pub jobs: usize,
    /// How many tasks are also asked of a wrong repository of their language.
    pub wrong: usize,
    pub seed: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Jsonl(#[from] JsonlError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Stopped(#[from] codegrep_tree::Stop),
    #[error("cannot start the jobs: {0}")]
    Pool(#[from] rayon::ThreadPoolBuildError),
}

/// One engine asked of one task; `tree` holds the repository and commit asked.
struct Question<'a> {
    task: &'a Task,
    engine: EngineKind,
    asked_of: Option<&'a Task>,
}

impl<'a> Question<'a> {
    fn key(&self) -> (String, String, bool) {
        (self.engine.name().to_owned(), self.task.instance_id.clone(), self.asked_of.is_some())
    }

    /// Where it is asked: repository and commit.
    fn place(&self) -> &'a Task {
        self.asked_of.unwrap_or(self.task)
    }
}

/// Asks every question not yet answered in `file`, appending there, and returns all records.
/// Questions that failed before are asked again.
pub fn run(
    tasks: &[Task],
    plan: &Plan,
    file: &Path,
    watch: &Watch,
) -> Result<Vec<Record>, RunError> {
    let mut records: Vec<Record> = jsonl::read(file)?;
    records.retain(|record| record.error.is_none());
    let out = jsonl::rewrite(file, &records)?;

    let done = records.iter().map(key).collect::<HashSet<_>>();
    let mut places: BTreeMap<&str, Vec<Question<'_>>> = BTreeMap::new();
    let open =
        questions(tasks, plan).into_iter().filter(|question| !done.contains(&question.key()));
    open.for_each(|question| places.entry(question.place().git()).or_default().push(question));

    let bar = crate::progress(places.values().map(Vec::len).sum());
    let out = Mutex::new((out, records));
    let pool = crate::pool(plan.jobs)?;
    pool.install(|| {
        places.into_par_iter().try_for_each(|(git, questions)| {
            let engines = plan
                .engines
                .iter()
                .map(|kind| (*kind, kind.open(plan.model.as_ref(), &plan.weights)))
                .collect::<BTreeMap<_, _>>();
            for question in questions {
                watch.check()?;
                bar.set_message(git.to_owned());
                let limited = plan.budget.map_or(watch.clone(), |budget| watch.within(budget));
                let record =
                    ask(&question, &*engines[&question.engine], &plan.git.path(git), &limited);
                watch.check()?;
                let mut out = out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                jsonl::append(&mut out.0, &record)?;
                out.1.push(record);
                bar.inc(1);
            }
            Ok::<_, RunError>(())
        })
    })?;
    bar.finish_and_clear();
    let mut records = out.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).1;
    records.sort_by_key(key);
    Ok(records)
}

fn ask(
    question: &Question<'_>,
    engine: &dyn super::engine::Engine,
    repository: &Path,
    watch: &Watch,
) -> Record {
    let task = question.task;
    let answer = GitTree::open(repository, &question.place().base_commit)
        .map_err(|error| error.to_string())
        .and_then(|tree| engine.predict(task, Arc::new(tree) as Arc<dyn Tree>, watch));
    let (prediction, error) = match answer {
        Ok(prediction) => (prediction, None),
        Err(why) => (Prediction { stop: "error".into(), ..Prediction::default() }, Some(why)),
    };
    Record {
        engine: question.engine.name().to_owned(),
        instance_id: task.instance_id.clone(),
        repo: task.git().to_owned(),
        language: task.language.clone(),
        names_gold: task.names_gold(),
        gold: task.gold_files.clone(),
        asked_of: question.asked_of.map(|other| other.git().to_owned()),
        prediction,
        error,
    }
}

/// Every question of the plan, tasks of a repository in a row so that its index is reused.
fn questions<'a>(tasks: &'a [Task], plan: &Plan) -> Vec<Question<'a>> {
    let mut questions = Vec::new();
    for &engine in &plan.engines {
        questions.extend(tasks.iter().map(|task| Question { task, engine, asked_of: None }));
        let wrong = wrong_places(tasks, plan.wrong, plan.seed);
        questions.extend(wrong.into_iter().map(|(task, other)| Question {
            task,
            engine,
            asked_of: Some(other),
        }));
    }
    questions
}

/// Up to `wanted` tasks by seed, each with a task of another repository in the same language.
fn wrong_places(tasks: &[Task], wanted: usize, seed: u64) -> Vec<(&Task, &Task)> {
    let mut random = SplitMix(seed);
    let mut order = tasks.iter().collect::<Vec<_>>();
    random.shuffle(&mut order);
    order
        .into_iter()
        .filter_map(|task| {
            let others = tasks
                .iter()
                .filter(|other| other.language == task.language && other.git() != task.git())
                .collect::<Vec<_>>();
            (!others.is_empty()).then(|| (task, others[random.below(others.len())]))
        })
        .take(wanted)
        .collect()
}

fn key(record: &Record) -> (String, String, bool) {
    (record.engine.clone(), record.instance_id.clone(), record.asked_of.is_some())
}
