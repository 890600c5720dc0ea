use std::sync::Arc;
use std::time::{Duration, Instant};

use codegrep_agent::inject::Shape;
use codegrep_agent::profiles::{CodeGrep, Profile};
use codegrep_agent::{AnswerError, Context, Model, Request, Rules, answer};
use codegrep_plugin_sdk as wire;
use codegrep_plugin_sdk::{OpenFile, ProgressToken, Retrieve, RetrieveParams, RetrieveResponse};
use codegrep_tree::{Stop, Watch};

use super::{budget_or, roots};
use crate::config::{MAX_FILES, ModelChoice, RepositorySettings, Settings};
use crate::core::{Engines, Root, Serve, Workspace};
use crate::failure::Failure;

/// The profiles a request may name.
pub const PROFILES: &[&str] = &["codegrep"];

/// A question, whichever way it came in.
#[derive(Debug, Clone)]
pub struct Ask {
    pub text: String,
    pub source: Source,
    /// `None`: the repository's wish, then the user's setting.
    pub max_files: Option<usize>,
    pub gate: bool,
    pub profile: Option<String>,
    pub model: ModelChoice,
    pub adapter: Option<String>,
    pub context: Option<Context>,
}

/// Where to look.
#[derive(Debug, Clone)]
pub enum Source {
    Disk { roots: Vec<Root>, open_files: Vec<OpenFile> },
    Commit { root: Root, rev: String },
}

impl Serve for Retrieve {
    fn budget(params: &RetrieveParams, settings: &Settings) -> Duration {
        budget_or(params.budget_ms, settings.budget.value)
    }

    fn progress(params: &RetrieveParams) -> Option<&ProgressToken> {
        params.progress_token.as_ref()
    }

    fn serve(
        params: RetrieveParams,
        engines: &Engines,
        watch: &Watch,
    ) -> Result<RetrieveResponse, Failure> {
        let ask = Ask {
            source: Source::Disk {
                roots: roots(&params.roots, &engines.settings)?,
                open_files: params.open_files,
            },
            max_files: params.max_files.map(|files| files as usize),
            gate: params.gate == wire::Gate::On,
            profile: params.profile,
            model: ModelChoice::of_request(params.model.as_deref().unwrap_or("auto")),
            adapter: params.adapter,
            context: params.context.map(|context| match context {
                wire::Context::None => Context::None,
                wire::Context::Candidates => Context::Candidates,
            }),
            text: params.text,
        };
        retrieve(ask, engines, watch)
    }

    fn late() -> Result<RetrieveResponse, Failure> {
        Ok(crate::wire::late(PROFILES[0]))
    }
}

/// The files a task is about. The one way from a question to an answer, for every front.
pub fn retrieve(ask: Ask, engines: &Engines, watch: &Watch) -> Result<RetrieveResponse, Failure> {
    let began = Instant::now();
    let settings = &engines.settings;
    if ask.text.trim().is_empty() {
        return Err(Failure::usage("the task text is empty")
            .hint("say in a few words what is wrong or what is to be done"));
    }
    let profile = profile(ask.profile.as_deref().unwrap_or(&settings.profile.value))?;
    if ask.max_files.is_some_and(|files| !(1..=MAX_FILES).contains(&files)) {
        return Err(Failure::usage(format!("maxFiles must be 1 to {MAX_FILES}")));
    }
    let mut warnings = Vec::new();
    // Loading begins before the ranking and goes on beside it.
    let model = engines.models.choose(&ask.model, ask.adapter.as_deref(), settings);
    // A model that cannot be had is no error: the lexical engine answers.
    let model = model.unwrap_or_else(|failure| {
        warnings.push(failure.into_warning());
        None
    });
    let workspace = match ask.source {
        Source::Disk { roots, open_files } => Workspace::open(roots, open_files)?,
        Source::Commit { root, rev } => Workspace::commit(root, &rev)?,
    };
    warnings.extend(workspace.warnings.iter().cloned());
    let repository = RepositorySettings::of(&*workspace.tree);
    warnings.extend(repository.warnings);

    let rules = rules(profile, ask.context, repository.bar, engines);
    let max_files = ask.max_files.or_else(|| settings.max_files_if_set());
    let request = Request {
        text: ask.text,
        max_files: max_files.or(repository.max_files).unwrap_or(settings.max_files.value),
        gate: ask.gate,
    };
    let parts = codegrep_agent::Engines {
        ranker: &engines.ranker,
        model: model.as_ref().map(|model| model as &dyn Model),
        pool: &engines.pool,
    };
    let name = rules.profile.name();
    match answer(&request, &*workspace.tree, parts, &rules, watch) {
        Ok(outcome) => {
            Ok(crate::wire::response(outcome, &workspace, name, began.elapsed(), warnings))
        }
        Err(AnswerError::Stopped(Stop::Deadline)) => Ok(crate::wire::late(name)),
        Err(AnswerError::Stopped(stop)) => Err(stop.into()),
        Err(AnswerError::Tree(error)) => Err(error.into()),
    }
}

fn profile(name: &str) -> Result<Arc<dyn Profile>, Failure> {
    match name {
        "codegrep" => Ok(Arc::new(CodeGrep::default())),
        _ => Err(Failure::usage(format!("there is no profile {name:?}"))
            .hint(format!("there are {}", PROFILES.join(", ")))),
    }
}

fn rules(
    profile: Arc<dyn Profile>,
    context: Option<Context>,
    repository_bar: Option<f64>,
    engines: &Engines,
) -> Rules {
    let settings = &engines.settings;
    let bar = settings.bar.value.unwrap_or_else(|| engines.ranker.default_bar());
    let shape = Shape { tag: settings.injection_tag.value.clone(), ..Shape::default() };
    let defaults = Rules::default();
    Rules {
        profile,
        context: context.unwrap_or(defaults.context),
        // A repository may ask for more certainty, never for less.
        bar: Some(repository_bar.map_or(bar, |wish| wish.max(bar))),
        shape,
        ..defaults
    }
}
