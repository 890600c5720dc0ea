use std::collections::HashMap;
use std::time::Duration;

use codegrep_agent::tools::{self, Call, ToolLimits};
use codegrep_index::{Language, Source, defined_name};
use codegrep_plugin_sdk::{Method, OpenFile};
use codegrep_tree::{RepoPath, Watch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{BUDGET, arguments, roots};
use crate::config::Settings;
use crate::core::{Engines, Serve, Workspace};
use crate::failure::Failure;

/// The most symbols of an answer: more is no list that anybody reads.
const MOST: usize = 128;
/// Lines that are looked at for one.
const LINES: usize = 10_000;

/// Definitions by a part of their name, for editors; no method of the JSON-RPC front.
#[derive(Debug, Clone, Copy)]
pub enum Symbols {}

impl Method for Symbols {
    const NAME: &'static str = "workspace/symbol";
    const SUMMARY: &'static str = "Definitions by a part of their name.";
    type Params = SymbolsParams;
    type Response = SymbolsResponse;
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SymbolsParams {
    pub query: String,
    pub roots: Vec<String>,
    pub open_files: Vec<OpenFile>,
}

/// Best first: the name itself, then names that begin with the query, then those that hold it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SymbolsResponse {
    pub symbols: Vec<FoundSymbol>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundSymbol {
    pub root: String,
    pub path: String,
    /// 1-based.
    pub line: u32,
    /// The line up to the name.
    pub before: String,
    pub name: String,
}

impl Serve for Symbols {
    fn budget(_: &SymbolsParams, _: &Settings) -> Duration {
        BUDGET
    }

    /// The index knows names by their hashes only: the lines come from a grep, and whether they
    /// define something from the index.
    fn serve(
        params: SymbolsParams,
        engines: &Engines,
        watch: &Watch,
    ) -> Result<SymbolsResponse, Failure> {
        let query = params.query.trim();
        let roots = roots(&params.roots, &engines.settings)?;
        // Nothing typed yet: everything is no answer.
        if query.is_empty() {
            return Ok(SymbolsResponse { symbols: Vec::new() });
        }
        let workspace = Workspace::open(roots, params.open_files, watch)?;
        let index = engines.ranker.store().index(&*workspace.tree, watch)?;
        let call = Call {
            name: "grep".to_owned(),
            arguments: arguments(
                json!({ "pattern": regex_syntax::escape(query), "ignore_case": true }),
            ),
        };
        let limits = ToolLimits {
            grep_matches: LINES,
            grep_time: super::UNBOUNDED,
            result_chars: super::TEXT,
            forgiving: false,
            ..ToolLimits::default()
        };
        let seen = tools::run(&[call], &*workspace.tree, &limits, &engines.pool, watch);
        let mut by_file: HashMap<RepoPath, Vec<u32>> = HashMap::new();
        for line in super::only(seen, watch)?.lines {
            let Some(file) = index.find(&line.path).map(|id| index.file(id)) else { continue };
            if file.symbols.iter().any(|symbol| symbol.line == line.number) {
                by_file.entry(line.path).or_default().push(line.number);
            }
        }
        let query = query.to_lowercase();
        let mut found: Vec<(u8, FoundSymbol)> = Vec::new();
        for (path, lines) in by_file {
            watch.check()?;
            // Gone since: no longer a definition.
            let Ok(source) = Source::read(&*workspace.tree, &path) else { continue };
            let (file, language) = (workspace.locate(&path), Language::of(&path));
            for number in lines {
                let Some(line) = source.line(number) else { continue };
                let Some(name) = defined_name(language, line) else { continue };
                let at = name.as_ptr() as usize - line.as_ptr() as usize;
                let before = String::from_utf8_lossy(&line[..at]).into_owned();
                let name = String::from_utf8_lossy(name).into_owned();
                let Some(rank) = rank(&name.to_lowercase(), &query) else { continue };
                let (root, path) = (file.root.clone(), file.path.clone());
                found.push((rank, FoundSymbol { root, path, line: number, before, name }));
            }
        }
        found.sort_by(|(a, x), (b, y)| {
            let key = |rank: &u8, found: &FoundSymbol| (*rank, found.name.len());
            key(a, x).cmp(&key(b, y)).then_with(|| {
                (&x.name, &x.root, &x.path, x.line).cmp(&(&y.name, &y.root, &y.path, y.line))
            })
        });
        found.truncate(MOST);
        Ok(SymbolsResponse { symbols: found.into_iter().map(|(_, symbol)| symbol).collect() })
    }
}

/// 0 for the name itself, 1 for its beginning, 2 for a part of it.
fn rank(name: &str, query: &str) -> Option<u8> {
    match name.find(query)? {
        0 if name.len() == query.len() => Some(0),
        0 => Some(1),
        _ => Some(2),
    }
}
