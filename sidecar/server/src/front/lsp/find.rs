use std::path::Path;

use codegrep_plugin_sdk::{
    Context, Gate, Retrieve, RetrieveParams, RetrieveResponse, RetrievedFile, VerdictKind,
};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tower_lsp::Client;
use tower_lsp::ls_types::{Position, ProgressToken, Range, ShowDocumentParams, Uri};

use super::documents::Documents;
use crate::failure::Failure;
use crate::front::{PROGRESS, Service};

pub const FIND: &str = "codegrep.find";

/// What `codegrep.find` is given: `[text]`, `[text, options]` or `[options]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Options {
    pub text: Option<String>,
    /// These instead of the workspace folders.
    pub roots: Option<Vec<String>>,
    pub budget_ms: Option<u64>,
    pub max_files: Option<u32>,
    pub gate: Option<Gate>,
    pub profile: Option<String>,
    pub model: Option<String>,
    pub adapter: Option<String>,
    pub context: Option<Context>,
    pub session_id: Option<String>,
    /// Whether the editor is to open the best file.
    pub show: Option<bool>,
}

impl Options {
    /// # Errors
    /// The arguments are of another shape.
    pub fn of(arguments: Vec<Value>) -> Result<Self, Failure> {
        let bad = |why: String| {
            Failure::usage(format!("bad arguments of {FIND}: {why}"))
                .hint("give the task text, and an object of options if need be")
        };
        let mut options = Self::default();
        for argument in arguments {
            match argument {
                Value::String(text) => options.text = Some(text),
                Value::Null => {}
                other => {
                    let text = options.text.take();
                    options =
                        serde_json::from_value(other).map_err(|error| bad(error.to_string()))?;
                    options.text = text.or(options.text);
                }
            }
        }
        if options.text.is_none() {
            return Err(bad("the task text is missing".to_owned()));
        }
        Ok(options)
    }

    /// With what the user set for all requests where this one says nothing.
    pub fn or(self, settings: &Self) -> Self {
        let settings = settings.clone();
        Self {
            text: self.text,
            roots: self.roots,
            session_id: self.session_id,
            budget_ms: self.budget_ms.or(settings.budget_ms),
            max_files: self.max_files.or(settings.max_files),
            gate: self.gate.or(settings.gate),
            profile: self.profile.or(settings.profile),
            model: self.model.or(settings.model),
            adapter: self.adapter.or(settings.adapter),
            context: self.context.or(settings.context),
            show: self.show.or(settings.show),
        }
    }

    /// The request, with the unsaved text of open documents.
    pub fn request(self, documents: &Documents, folder: &Path) -> RetrieveParams {
        let roots = self.roots.unwrap_or_else(|| documents.roots(folder));
        RetrieveParams {
            text: self.text.unwrap_or_default(),
            open_files: documents.unsaved(&roots),
            roots,
            budget_ms: self.budget_ms,
            max_files: self.max_files,
            gate: self.gate.unwrap_or_default(),
            profile: self.profile,
            model: self.model,
            adapter: self.adapter,
            context: self.context,
            session_id: self.session_id,
            progress_token: None,
        }
    }
}

/// Asks, and tells `token` how far it is. Dropped when the editor cancels, which stops the work.
pub async fn find(
    service: &Service,
    client: &Client,
    request: RetrieveParams,
    token: Option<ProgressToken>,
) -> Result<RetrieveResponse, Failure> {
    let Some(token) = token else {
        return service.call::<Retrieve>(request, None).await;
    };
    let (sender, mut events) = mpsc::channel(PROGRESS);
    let progress = client.progress(token, "Finding files").begin().await;
    let call = service.call::<Retrieve>(request, Some(sender));
    tokio::pin!(call);
    let answer = loop {
        tokio::select! {
            biased;
            answer = &mut call => break answer,
            Some(event) = events.recv() => progress.report(event.message).await,
        }
    };
    let end = match &answer {
        Ok(answer) => answer.verdict.reason.clone(),
        Err(failure) => failure.message.clone(),
    };
    progress.finish_with_message(end).await;
    // A token ends with its request: what was told is written before the answer is.
    tokio::task::yield_now().await;
    answer
}

/// Where the best file is to be shown; nowhere on an abstention.
pub fn best(answer: &RetrieveResponse) -> Option<ShowDocumentParams> {
    let file = match answer.verdict.kind {
        VerdictKind::Inject => answer.files.first()?,
        VerdictKind::Abstain => return None,
    };
    Some(ShowDocumentParams {
        uri: Uri::from_file_path(Path::new(&file.root).join(&file.path))?,
        external: Some(false),
        take_focus: Some(true),
        selection: Some(selection(file)),
    })
}

/// The beginning of the first line that matters.
fn selection(file: &RetrievedFile) -> Range {
    let named = file.line_ranges.first().map(|(first, _)| *first);
    let line = named.or_else(|| file.evidence.first().map(|line| line.line)).unwrap_or(1);
    let at = Position::new(line.saturating_sub(1), 0);
    Range::new(at, at)
}
