use codegrep_plugin_sdk::Method;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ProtocolVersion, ServerCapabilities, ServerConfig, Tool as Listed,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::sync::mpsc;

use super::roots::Known;
use super::tools::{self, FindFiles, Glob, Grep, Read, Tool};
use crate::failure::Failure;
use crate::front::{PROGRESS, Service};

const INSTRUCTIONS: &str = "CodeGrep finds the files that a task is about. At the start of a \
    task call find_files with the whole task text; go on with grep, glob and read. All tools \
    only read, and only inside the workspace.";

/// One client's tools.
pub struct Server {
    service: Service,
    roots: Known,
}

impl Server {
    pub fn new(service: Service) -> Self {
        Self { service, roots: Known::default() }
    }

    /// Runs a tool. Dropped when the client cancels or goes, which stops the work.
    async fn run<T: Tool>(
        &self,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, Failure> {
        let arguments: T = serde_json::from_value(Value::Object(arguments)).map_err(|error| {
            Failure::usage(format!("bad arguments: {error}"))
                .hint(format!("see the input schema of {}", T::NAME))
        })?;
        let roots = self.roots.get(context, &self.service.folder).await;
        let request = arguments.request(&roots)?;
        let (sender, mut progress) = mpsc::channel(PROGRESS);
        let token = context.meta.get_progress_token();
        let call = self.service.call::<T::Request>(request, token.is_some().then_some(sender));
        tokio::pin!(call);
        let mut step = 0.0;
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut call => break answer?,
                Some(event) = progress.recv() => {
                    let Some(token) = token.clone() else { continue };
                    step += 1.0;
                    let told = ProgressNotificationParam::new(token, step);
                    // A client that has gone is noticed by its transport.
                    let _ = context.peer.notify_progress(told.with_message(event.message)).await;
                }
            }
        };
        structured::<T>(&answer)
    }
}

fn structured<T: Tool>(
    answer: &<T::Request as Method>::Response,
) -> Result<CallToolResult, Failure> {
    let value = serde_json::to_value(answer)
        .map_err(|error| Failure::internal(format!("an answer cannot be written: {error}")))?;
    let mut result = CallToolResult::structured(value);
    // The whole JSON again would only cost the agent's context.
    result.content = vec![ContentBlock::text(T::text(answer))];
    Ok(result)
}

/// A failure that the agent reads and can act upon.
fn failed(failure: Failure) -> CallToolResult {
    let Failure { message, hint, .. } = failure;
    let hint = if hint.is_empty() { hint } else { format!("\nhint: {hint}") };
    CallToolResult::error(vec![ContentBlock::text(format!("error: {message}{hint}"))])
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut me = Implementation::new("codegrep", env!("CARGO_PKG_VERSION"));
        me.title = Some("CodeGrep".to_owned());
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        info.server_info = me;
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::LISTED.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Listed> {
        tools::LISTED.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let run = async {
            match &*request.name {
                FindFiles::NAME => Some(self.run::<FindFiles>(arguments, &context).await),
                Grep::NAME => Some(self.run::<Grep>(arguments, &context).await),
                Glob::NAME => Some(self.run::<Glob>(arguments, &context).await),
                Read::NAME => Some(self.run::<Read>(arguments, &context).await),
                _ => None,
            }
        };
        let result = tokio::select! {
            result = run => result,
            // Nobody reads the answer to a cancelled call.
            () = context.ct.cancelled() => {
                Some(Err(Failure::from(codegrep_tree::Stop::Cancelled)))
            }
        };
        match result {
            Some(result) => Ok(result.unwrap_or_else(failed).into()),
            None => {
                let message = format!("there is no tool {:?}", request.name);
                Err(ErrorData::invalid_params(message, None))
            }
        }
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.roots.forget().await;
    }
}
