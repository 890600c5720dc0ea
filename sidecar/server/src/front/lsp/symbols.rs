use std::path::Path;

use tower_lsp::ls_types::{
    Location, OneOf, Position, Range, SymbolKind, Uri, WorkspaceSymbol, WorkspaceSymbolResponse,
};

use super::position::Encoding;
use crate::requests::FoundSymbol;

/// The answer to `workspace/symbol`.
pub fn response(symbols: Vec<FoundSymbol>, encoding: Encoding) -> WorkspaceSymbolResponse {
    let symbols = symbols.into_iter().filter_map(|symbol| one(symbol, encoding));
    WorkspaceSymbolResponse::Nested(symbols.collect())
}

fn one(symbol: FoundSymbol, encoding: Encoding) -> Option<WorkspaceSymbol> {
    let uri = Uri::from_file_path(Path::new(&symbol.root).join(&symbol.path))?;
    let line = symbol.line.saturating_sub(1);
    let start = encoding.len(&symbol.before);
    let end = start + encoding.len(&symbol.name);
    let range = Range::new(Position::new(line, start), Position::new(line, end));
    Some(WorkspaceSymbol {
        kind: kind(&symbol.before),
        name: symbol.name,
        tags: None,
        container_name: Some(symbol.path),
        location: OneOf::Left(Location::new(uri, range)),
        data: None,
    })
}

/// By the keyword before the name, where there is one that every language means the same by.
fn kind(before: &str) -> SymbolKind {
    let word = before.split_whitespace().next_back().unwrap_or_default();
    match word {
        "class" => SymbolKind::CLASS,
        "struct" => SymbolKind::STRUCT,
        "enum" => SymbolKind::ENUM,
        "interface" | "trait" | "protocol" => SymbolKind::INTERFACE,
        "module" | "mod" | "namespace" | "package" => SymbolKind::MODULE,
        "const" => SymbolKind::CONSTANT,
        "let" | "var" | "static" => SymbolKind::VARIABLE,
        "type" => SymbolKind::CLASS,
        _ => SymbolKind::FUNCTION,
    }
}
