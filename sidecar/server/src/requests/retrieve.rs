use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use codegrep_agent::inject::{self, Shape};
use codegrep_agent::profiles::{CodeGrep, Profile};
use codegrep_agent::{
    AnswerError, Context, Engine, Model, Outcome, Request, Rules, StopReason, Took, answer,
};
use codegrep_plugin_sdk as sdk;
use codegrep_plugin_sdk::{OpenFile, ProgressToken, Retrieve, RetrieveParams, RetrieveResponse};
use codegrep_rank::{self as rank, Ranked, Verdict};
use codegrep_tree::{Stop, Watch};

use super::{budget_or, roots};
use crate::config::{MAX_FILES, ModelChoice, RepositorySettings, Settings};
use crate::core::{Engines, Late, Root, Run, Serve, Workspace, serialise};
use crate::failure::Failure;
use crate::wire;

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
        serve(params, engines, watch, &Early::default())
    }

    fn job(params: RetrieveParams, settings: &Settings) -> (Run, Late) {
        let early = Early::default();
        let profile = params.profile.as_ref().unwrap_or(&settings.profile.value).clone();
        let seen = Arc::clone(&early);
        let late = move || serialise(seen.get().map_or_else(|| wire::late(&profile), overdue));
        let run = move |engines: &Engines, watch: &Watch| {
            serialise(serve(params, engines, watch, &early)?)
        };
        (Box::new(run), Box::new(late))
    }
}

/// The answer of the words alone and when the work began, as soon as files are ranked: for a request
/// whose model does not end in time.
pub type Early = Arc<OnceLock<(RetrieveResponse, Instant)>>;

/// The early answer where it has to do.
fn overdue((response, began): &(RetrieveResponse, Instant)) -> RetrieveResponse {
    let mut response = response.clone();
    response.ms.total = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    response.ms.model =
        response.ms.total.saturating_sub(response.ms.index).saturating_sub(response.ms.rank);
    response
}

fn serve(
    params: RetrieveParams,
    engines: &Engines,
    watch: &Watch,
    early: &Early,
) -> Result<RetrieveResponse, Failure> {
    let ask = Ask {
        source: Source::Disk {
            roots: roots(&params.roots, &engines.settings)?,
            open_files: params.open_files,
        },
        max_files: params.max_files.map(|files| files as usize),
        gate: params.gate == sdk::Gate::On,
        profile: params.profile,
        model: ModelChoice::of_request(params.model.as_deref().unwrap_or("auto")),
        adapter: params.adapter,
        context: params.context.map(|context| match context {
            sdk::Context::None => Context::None,
            sdk::Context::Candidates => Context::Candidates,
        }),
        text: params.text,
    };
    retrieve(ask, engines, watch, early)
}

/// The files a task is about. The one way from a question to an answer, for every front.
///
/// `early` is set before a model is asked.
pub fn retrieve(
    ask: Ask,
    engines: &Engines,
    watch: &Watch,
    early: &Early,
) -> Result<RetrieveResponse, Failure> {
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
    let workspace = Arc::new(match ask.source {
        Source::Disk { roots, open_files } => Workspace::open(roots, open_files, watch)?,
        Source::Commit { root, rev } => Workspace::commit(root, &rev)?,
    });
    warnings.extend(workspace.warnings.iter().cloned());
    let repository = RepositorySettings::of(&*workspace.tree, &workspace.named());
    warnings.extend(repository.warnings);

    let rules = rules(profile, ask.context, repository.bar, engines);
    let max_files = ask.max_files.or_else(|| settings.max_files_if_set());
    let request = Request {
        text: ask.text,
        max_files: max_files.or(repository.max_files).unwrap_or(settings.max_files.value),
        gate: ask.gate,
    };
    let name = rules.profile.name();
    let ranker = {
        let (early, workspace) = (Arc::clone(early), Arc::clone(&workspace));
        let (request, rules, warnings) = (request.clone(), rules.clone(), warnings.clone());
        engines.ranker.telling(move |ranked| {
            let outcome = of_words(ranked, &request, &rules);
            let took = outcome.took.total;
            let response = wire::response(outcome, &workspace, name, took, warnings.clone());
            let _ = early.set((response, began));
        })
    };
    let parts = codegrep_agent::Engines {
        ranker: &ranker,
        model: model.as_ref().map(|model| model as &dyn Model),
        pool: &engines.pool,
    };
    match answer(&request, &*workspace.tree, parts, &rules, watch) {
        Ok(outcome) => Ok(wire::response(outcome, &workspace, name, began.elapsed(), warnings)),
        Err(AnswerError::Stopped(Stop::Deadline)) => Ok(wire::late(name)),
        Err(AnswerError::Stopped(stop)) => Err(stop.into()),
        Err(AnswerError::Tree(error)) => Err(error.into()),
    }
}

/// What the words alone answer where the time ends while a model is at work.
fn of_words(ranked: &Ranked, request: &Request, rules: &Rules) -> Outcome {
    let mut files = rank::cut(&ranked.candidates, request.max_files);
    let mut verdict = Verdict::Inject { reason: "the gate is off".to_owned() };
    if request.gate || files.is_empty() {
        let (kept, gated) = rank::gate(&files, rules.bar.unwrap_or_default());
        if !kept.is_empty() {
            files = kept;
        }
        verdict = gated;
    }
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let why = "the time budget ended while the model was at work; these files come from the word \
               search alone";
    Outcome {
        injection: match verdict {
            Verdict::Inject { .. } => inject::block(&paths, &rules.shape),
            Verdict::Abstain { .. } => None,
        },
        verdict,
        files,
        ranked: Vec::new(),
        engine: Engine::Lexical,
        stop: StopReason::Deadline,
        episode: None,
        index: ranked.index,
        took: Took { index: ranked.index_time, rank: ranked.rank_time, ..Took::default() },
        reproducible: false,
        warnings: ranked.warnings.iter().cloned().chain([why.to_owned()]).collect(),
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use codegrep_tree::Stage;

    use super::*;
    use crate::config::{Layer, Places};

    #[test]
    fn a_late_answer_has_the_ranking_once_there_is_one() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("shop");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("cart.py"), "def total_price(): pass\n").unwrap();
        let home = dir.path().join("home");
        let places = Places::below(&home);
        let layer = Layer { bar: Some(0.0), ..Layer::default() };
        let mut settings = Settings::load(places, layer).unwrap();
        settings.profile.value = "mine".into();
        let params =
            || RetrieveParams::new("total_price is wrong", root.to_str().unwrap().to_owned());
        let read = |late: Late| -> RetrieveResponse {
            serde_json::from_str(late().unwrap_or_else(|failure| panic!("{failure:?}")).get())
                .unwrap()
        };
        let (_, late) = Retrieve::job(params(), &settings);
        let none = read(late);
        assert_eq!((none.files, none.engine.profile.as_str()), (vec![], "mine"));

        let ask = RetrieveParams { profile: Some("codegrep".into()), ..params() };
        let (run, late) = Retrieve::job(ask, &settings);
        let (late, answer) = (Mutex::new(Some(late)), Arc::new(Mutex::new(None)));
        let seen = Arc::clone(&answer);
        // The time ends just before a model is asked.
        let sink = move |event: codegrep_tree::Event| {
            if event.stage == Stage::Rank
                && let Some(late) = late.lock().unwrap().take()
            {
                *seen.lock().unwrap() = Some(late().unwrap().get().to_owned());
            }
        };
        let engines = Engines::new(settings).unwrap();
        run(&engines, &Watch::new(None, Some(Arc::new(sink)))).unwrap();
        let answer = answer.lock().unwrap().take().expect("ranked");
        let answer: RetrieveResponse = serde_json::from_str(&answer).unwrap();
        let found: Vec<&str> = answer.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((found, answer.stop), (vec!["cart.py"], sdk::Stop::Deadline));
        assert_eq!(answer.verdict.kind, sdk::VerdictKind::Inject);
        assert_eq!(
            answer.injection.as_deref(),
            Some("\n\n<candidate_files>\n- cart.py\n</candidate_files>\n")
        );
        assert_eq!((answer.engine.profile.as_str(), answer.reproducible), ("codegrep", false));
        assert!(answer.warnings[0].starts_with("the time budget ended"), "{:?}", answer.warnings);
    }
}
