use std::sync::{Mutex, MutexGuard, PoisonError};

use codegrep_plugin_sdk::{IndexRefresh, IndexStatus, IndexStatusParams, RpcError, code};
use serde::Serialize;
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::ls_types::*;
use tower_lsp::{Client, LanguageServer};

use super::documents::Documents;
use super::find::{self, FIND, Options};
use super::position::Encoding;
use super::{actions, symbols};
use crate::failure::Failure;
use crate::front::Service;
use crate::requests::{Symbols, SymbolsParams};

pub const STATUS: &str = "codegrep.status";
pub const REFRESH: &str = "codegrep.refresh";
/// The section of an editor's settings that is ours.
const SECTION: &str = "codegrep";

/// One editor's session.
pub struct Backend {
    client: Client,
    service: Service,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    documents: Documents,
    encoding: Encoding,
    capabilities: ClientCapabilities,
    /// What requests get that say nothing else.
    settings: Options,
}

impl Backend {
    pub fn new(client: Client, service: Service) -> Self {
        Self { client, service, state: Mutex::default() }
    }

    /// Never held across an await.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn find(
        &self,
        arguments: Vec<Value>,
        token: Option<ProgressToken>,
    ) -> Result<Option<LSPAny>> {
        let options = Options::of(arguments).map_err(error)?;
        let (request, show) = {
            let state = self.state();
            let options = options.or(&state.settings);
            let able = state.capabilities.window.as_ref().and_then(|it| it.show_document.as_ref());
            let show = options.show == Some(true) && able.is_some_and(|able| able.support);
            (options.request(&state.documents, &self.service.folder), show)
        };
        let answer =
            find::find(&self.service, &self.client, request, token).await.map_err(error)?;
        if show && let Some(best) = find::best(&answer) {
            // The editor's refusal is no failure of the search.
            if let Err(error) = self.client.show_document(best).await {
                tracing::warn!(%error, "the editor does not show the file");
            }
        }
        value(answer)
    }

    fn index(&self) -> IndexStatusParams {
        IndexStatusParams { roots: self.state().documents.roots(&self.service.folder) }
    }

    /// Takes an editor's settings: our section, or an object that holds it.
    async fn configure(&self, settings: Value) {
        let section = match settings.get(SECTION) {
            Some(section) => section.clone(),
            None => settings,
        };
        if section.is_null() {
            return;
        }
        match serde_json::from_value(section) {
            Ok(settings) => self.state().settings = settings,
            Err(error) => {
                let message = format!("the settings of {SECTION} are not used: {error}");
                self.client.show_message(MessageType::WARNING, message).await;
            }
        }
    }

    /// Asks the editor for its settings, where it lets itself be asked.
    async fn pull_settings(&self) {
        let able = {
            let state = self.state();
            state.capabilities.workspace.as_ref().and_then(|it| it.configuration)
        };
        if able != Some(true) {
            return;
        }
        let item = ConfigurationItem { scope_uri: None, section: Some(SECTION.to_owned()) };
        match self.client.configuration(vec![item]).await {
            Ok(values) => {
                if let Some(section) = values.into_iter().next() {
                    self.configure(section).await;
                }
            }
            Err(error) => tracing::warn!(%error, "the editor does not tell its settings"),
        }
    }
}

impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let general = params.capabilities.general.as_ref();
        let offered = general.and_then(|general| general.position_encodings.as_deref());
        let encoding = Encoding::choose(offered);
        {
            let mut state = self.state();
            state.encoding = encoding;
            // Deprecated by workspace folders, and all that some editors send.
            #[expect(deprecated)]
            let single = params.root_uri;
            match params.workspace_folders {
                Some(folders) => {
                    state.documents.set_folders(folders.into_iter().map(|folder| folder.uri));
                }
                None => state.documents.set_folders(single.into_iter()),
            }
            state.capabilities = params.capabilities;
        }
        if let Some(options) = params.initialization_options {
            self.configure(options).await;
        }
        Ok(InitializeResult {
            capabilities: capabilities(encoding),
            server_info: Some(ServerInfo {
                name: env!("CARGO_PKG_NAME").to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
            ..InitializeResult::default()
        })
    }

    async fn initialized(&self, _: InitializedParams) {
        self.pull_settings().await;
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let TextDocumentItem { uri, version, text, .. } = params.text_document;
        self.state().documents.keep(&uri, version, text);
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        // Full sync: the last one is the whole text.
        if let Some(change) = params.content_changes.into_iter().next_back() {
            let document = params.text_document;
            self.state().documents.keep(&document.uri, document.version, change.text);
        }
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        self.state().documents.saved(&params.text_document.uri);
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.state().documents.close(&params.text_document.uri);
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        let documents = &mut self.state().documents;
        params.event.removed.iter().for_each(|folder| documents.remove_folder(&folder.uri));
        params.event.added.iter().for_each(|folder| documents.add_folder(&folder.uri));
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        match params.settings.is_null() {
            true => self.pull_settings().await,
            false => self.configure(params.settings).await,
        }
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<LSPAny>> {
        let token = params.work_done_progress_params.work_done_token;
        match params.command.as_str() {
            FIND => self.find(params.arguments, token).await,
            STATUS => {
                let status = self.service.call::<IndexStatus>(self.index(), None);
                value(status.await.map_err(error)?)
            }
            REFRESH => {
                let status = self.service.call::<IndexRefresh>(self.index(), None);
                value(status.await.map_err(error)?)
            }
            other => Err(error(
                Failure::usage(format!("there is no command {other:?}"))
                    .hint(format!("there are {FIND}, {STATUS}, {REFRESH}")),
            )),
        }
    }

    async fn symbol(
        &self,
        params: WorkspaceSymbolParams,
    ) -> Result<Option<WorkspaceSymbolResponse>> {
        let (request, encoding) = {
            let state = self.state();
            let roots = state.documents.roots(&self.service.folder);
            let open_files = state.documents.unsaved(&roots);
            (SymbolsParams { query: params.query, roots, open_files }, state.encoding)
        };
        let found = self.service.call::<Symbols>(request, None).await.map_err(error)?;
        Ok(Some(symbols::response(found.symbols, encoding)))
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        let state = self.state();
        Ok(Some(actions::offered(&params, &state.documents, state.encoding)))
    }
}

fn capabilities(encoding: Encoding) -> ServerCapabilities {
    let progress = WorkDoneProgressOptions { work_done_progress: Some(true) };
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::FULL),
            save: Some(TextDocumentSyncSaveOptions::Supported(true)),
            ..TextDocumentSyncOptions::default()
        })),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::REFACTOR]),
            ..CodeActionOptions::default()
        })),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: [FIND, STATUS, REFRESH].map(str::to_owned).to_vec(),
            work_done_progress_options: progress,
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}

/// A failure with its hint, as the JSON-RPC front says it.
fn error(failure: Failure) -> Error {
    let RpcError { code, message, data } = failure.into();
    let code = match code {
        code::CANCELLED => ErrorCode::RequestCancelled,
        code => ErrorCode::from(i64::from(code)),
    };
    Error { code, message: message.into(), data: serde_json::to_value(data).ok() }
}

fn value(answer: impl Serialize) -> Result<Option<LSPAny>> {
    serde_json::to_value(answer)
        .map(Some)
        .map_err(|cause| error(Failure::internal(format!("an answer cannot be written: {cause}"))))
}
