use serde_json::json;
use tower_lsp::ls_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, Command,
};

use super::documents::Documents;
use super::find::FIND;
use super::position::Encoding;

/// What an editor may offer at a diagnostic or a selection: to find the files it is about. The
/// command's argument is the text, so that it means the same whenever it is run.
pub fn offered(
    params: &CodeActionParams,
    documents: &Documents,
    encoding: Encoding,
) -> Vec<CodeActionOrCommand> {
    let wanted = |kind: &CodeActionKind| {
        let wanted = |only: &CodeActionKind| {
            let rest = kind.as_str().strip_prefix(only.as_str());
            rest.is_some_and(|rest| {
                only.as_str().is_empty() || rest.is_empty() || rest.starts_with('.')
            })
        };
        params.context.only.as_ref().is_none_or(|only| only.iter().any(wanted))
    };
    let file = &params.text_document.uri;
    let mut actions = Vec::new();
    if wanted(&CodeActionKind::QUICKFIX) {
        for diagnostic in &params.context.diagnostics {
            let text = format!(
                "{}\nat {}:{}",
                diagnostic.message,
                file.path().decode().to_string_lossy(),
                diagnostic.range.start.line + 1
            );
            actions.push(CodeAction {
                diagnostics: Some(vec![diagnostic.clone()]),
                ..action(
                    "CodeGrep: find files for this diagnostic",
                    CodeActionKind::QUICKFIX,
                    &text,
                )
            });
        }
    }
    let selected = documents.text(file).map(|text| encoding.slice(text, params.range).trim());
    if let Some(text) = selected.filter(|text| !text.is_empty())
        && wanted(&CodeActionKind::REFACTOR)
    {
        actions.push(action(
            "CodeGrep: find files for this selection",
            CodeActionKind::REFACTOR,
            text,
        ));
    }
    actions.into_iter().map(CodeActionOrCommand::CodeAction).collect()
}

fn action(title: &str, kind: CodeActionKind, text: &str) -> CodeAction {
    let options = json!({ "text": text, "show": true });
    CodeAction {
        title: title.to_owned(),
        kind: Some(kind),
        command: Some(Command {
            title: title.to_owned(),
            command: FIND.to_owned(),
            arguments: Some(vec![options]),
        }),
        ..CodeAction::default()
    }
}
