//! One request: candidates, the agent's run, their join, cut, gate and injection.

use std::time::{Duration, Instant};

use codegrep_index::{IndexState, IndexStatus};
use codegrep_rank::{self as rank, Candidate, RankError, Ranked, Ranker, Verdict};
use codegrep_tree::{Event, Stage, Stop, Tree, TreeError, Watch};

use crate::chat::{Model, ModelInfo};
use crate::record::{Episode, StopReason};
use crate::rules::Rules;
use crate::tools::Pool;
use crate::{inject, join, prompt, turns};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The task: an issue, a bug report, a prompt.
    pub text: String,
    /// The most files to return.
    pub max_files: usize,
    /// Whether unlikely files are held back; off, whatever was found is injected.
    pub gate: bool,
}

/// What answers, shared by all requests.
#[derive(Clone, Copy)]
pub struct Engines<'a> {
    pub ranker: &'a Ranker,
    pub model: Option<&'a dyn Model>,
    pub pool: &'a Pool,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Best first. When the verdict is to abstain: what would have been returned without the gate.
    pub files: Vec<Candidate>,
    /// Every candidate of both engines, best first, before the cut.
    pub ranked: Vec<Candidate>,
    pub verdict: Verdict,
    /// The block to append to the task; `None` when abstaining.
    pub injection: Option<String>,
    /// Whose files these are.
    pub engine: Engine,
    pub stop: StopReason,
    /// The agent's run; `None` where no model was asked.
    pub episode: Option<Episode>,
    pub index: IndexStatus,
    pub took: Took,
    /// The same request on the same tree would get the same answer.
    pub reproducible: bool,
    /// For the user: a sentence each.
    pub warnings: Vec<String>,
}

/// Which engine answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Engine {
    Lexical,
    Agent { model: ModelInfo, profile: String, rules_hash: String },
}

/// Wall time by stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Took {
    pub index: Duration,
    pub rank: Duration,
    pub model: Duration,
    pub total: Duration,
}

/// Why there is no answer at all. A missing, failing or slow model is no error: the lexical
/// ranking answers.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error(transparent)]
    Stopped(#[from] Stop),
    /// The repository cannot be read.
    #[error(transparent)]
    Tree(TreeError),
}

/// Time kept after the model for joining and reading evidence.
const AFTER_MODEL: Duration = Duration::from_millis(50);

/// Answers one request. Blocks; cancelling `watch` before there is any ranking is an error,
/// afterwards the ranking is returned with [`StopReason::Cancelled`].
pub fn answer(
    request: &Request,
    tree: &dyn Tree,
    engines: Engines<'_>,
    rules: &Rules,
    watch: &Watch,
) -> Result<Outcome, AnswerError> {
    let started = Instant::now();
    let ranked =
        rank::candidates(&request.text, tree, engines.ranker, watch).map_err(
            |error| match error {
                RankError::Stopped(stop) => AnswerError::Stopped(stop),
                RankError::Tree(error) => AnswerError::Tree(error),
            },
        )?;
    // Only time leaves files unread.
    let hurried = ranked.index.state != IndexState::Ready || watch.check().is_err();
    let ranked_whole = is_whole(&ranked, tree) && !hurried;
    watch.report(Event {
        stage: Stage::Rank,
        turn: 0,
        tool_calls: 0,
        message: format!("{} candidates", ranked.candidates.len()),
        candidates: Some(ranked.candidates.iter().map(|c| c.path.to_string()).collect()),
    });

    let mut warnings = ranked.warnings.clone();
    let model = engines.model.filter(|_| !request.text.trim().is_empty());
    let episode = model.map(|model| {
        let opening = prompt::open(&request.text, &ranked.candidates, rules);
        let watch = match watch.left() {
            Some(left) => watch.within(left.saturating_sub(AFTER_MODEL)),
            None => watch.clone(),
        };
        turns::run(opening, tree, model, engines.pool, rules, &watch)
    });
    let without_model = if hurried { StopReason::Deadline } else { StopReason::NoModel };
    let stop = episode.as_ref().map_or(without_model, |episode| episode.stop);
    if ranked.index.state == IndexState::Partial {
        let IndexStatus { files, total, .. } = ranked.index;
        warnings.push(format!(
            "the time budget ended when {files} of {total} files were read; give more time, or ask \
             again"
        ));
    }
    warnings.extend(episode.as_ref().and_then(warning));

    let joined = match &episode {
        Some(episode) => join::join(&ranked.candidates, episode, tree, watch),
        None => ranked.candidates,
    };
    // Past the deadline evidence is left out.
    let joined_whole = episode.is_none() || watch.check().is_ok();
    let mut files = rank::cut(&joined, request.max_files);
    let verdict = if files.is_empty() && hurried {
        Verdict::Abstain { reason: "the time budget ended before any file was ranked".to_owned() }
    } else if request.gate {
        let (kept, verdict) = rank::gate(&files, rules.bar.unwrap_or(engines.ranker.default_bar()));
        if !kept.is_empty() {
            files = kept;
        }
        verdict
    } else if files.is_empty() {
        Verdict::Abstain { reason: "no file found".to_owned() }
    } else {
        Verdict::Inject { reason: "the gate is off".to_owned() }
    };
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let injection = match verdict {
        Verdict::Inject { .. } => inject::block(&paths, &rules.shape),
        Verdict::Abstain { .. } => None,
    };

    let run_again = match &episode {
        Some(episode) => episode.reproducible && rules.sampling.temperature <= 0.0,
        None => true,
    };
    Ok(Outcome {
        engine: engine(episode.as_ref()),
        took: Took {
            index: ranked.index_time,
            rank: ranked.rank_time,
            model: Duration::from_millis(episode.as_ref().map_or(0, |episode| episode.ms)),
            total: started.elapsed(),
        },
        reproducible: ranked_whole && run_again && joined_whole,
        index: ranked.index,
        files,
        ranked: joined,
        verdict,
        injection,
        stop,
        episode,
        warnings,
    })
}

/// Whether time cut nothing from what the ranking went by: the files, and the history where there
/// is one.
fn is_whole(ranked: &Ranked, tree: &dyn Tree) -> bool {
    let has_history = || tree.history().is_some_and(|history| !history.tips().is_empty());
    ranked.index.state == IndexState::Ready && (ranked.index.git_signals || !has_history())
}

/// The agent answered when a file of its answer exists; otherwise the ranking did.
fn engine(episode: Option<&Episode>) -> Engine {
    match episode {
        Some(episode) if !episode.files.is_empty() => Engine::Agent {
            model: episode.model.clone(),
            profile: episode.profile.clone(),
            rules_hash: episode.rules_hash.clone(),
        },
        _ => Engine::Lexical,
    }
}

/// What the user should know of a run that gave no file.
fn warning(episode: &Episode) -> Option<String> {
    let name = &episode.model.name;
    let why = match episode.stop {
        StopReason::Answered if episode.files.is_empty() => {
            let unknown = episode.unknown_paths;
            format!("the model {name} named no file that exists ({unknown} unknown)")
        }
        StopReason::Answered | StopReason::NoModel | StopReason::Cancelled => return None,
        StopReason::NoAnswer => format!("the model {name} gave no readable answer"),
        StopReason::Deadline => format!("the time budget ended before the model {name} answered"),
        StopReason::Turns => format!("the model {name} kept searching and gave no answer"),
        StopReason::Tokens => format!("the model {name} used up its tokens without an answer"),
        StopReason::ContextFull => format!("the context of the model {name} is full"),
        StopReason::ModelError => {
            format!("the model {name} failed: {}", episode.error.as_deref().unwrap_or("unknown"))
        }
    };
    Some(format!("{why}; these files come from the word search alone"))
}
