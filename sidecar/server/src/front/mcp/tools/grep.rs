use std::fmt::Write;

use codegrep_plugin_sdk::{FilesGrep, GrepParams, GrepResponse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Roots, Tool, several, shown};
use crate::failure::Failure;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Grep {
    /// A regular expression in Rust's syntax, matched a line at a time, such as `fn\s+parse_`.
    pattern: String,
    /// Search only this file or folder: relative to the root, or absolute.
    #[serde(default)]
    #[schemars(with = "String")]
    path: Option<String>,
    /// Search only files whose path matches, such as `src/**/*.rs`.
    #[serde(default)]
    #[schemars(with = "String")]
    glob: Option<String>,
    /// Whether letters match in either case; false when absent.
    #[serde(default)]
    #[schemars(with = "bool")]
    ignore_case: Option<bool>,
    /// The most matches wanted; 50 when absent.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = 10_000))]
    max_matches: Option<u32>,
    /// Search this workspace root only: its absolute path.
    #[serde(default)]
    #[schemars(with = "String")]
    root: Option<String>,
}

impl Tool for Grep {
    type Request = FilesGrep;
    const NAME: &'static str = "grep";
    const TITLE: &'static str = "Search lines";
    const DESCRIPTION: &'static str = "Search the repository for lines that match a regular \
        expression. Skips ignored, hidden and binary files, as ripgrep does. Returns \
        `path:line: text`, 50 matches unless maxMatches says otherwise. Narrow it with path or \
        glob. To find the files of a task that you have only a description of, use find_files.";

    fn request(self, roots: &Roots) -> Result<GrepParams, Failure> {
        let (roots, path) = match &self.path {
            Some(path) => {
                let (roots, path) = roots.place(self.root.as_deref(), path)?;
                (roots, Some(path))
            }
            None => (roots.all(self.root.as_deref())?, None),
        };
        Ok(GrepParams {
            roots,
            pattern: self.pattern,
            path: path.filter(|path| !path.is_empty()),
            glob: self.glob,
            ignore_case: self.ignore_case.unwrap_or_default(),
            max_matches: self.max_matches,
            ..GrepParams::default()
        })
    }

    fn text(answer: &GrepResponse) -> String {
        if answer.matches.is_empty() {
            return match answer.truncated {
                true => "No line matches so far: the time ended; narrow path or glob.\n".to_owned(),
                false => "No line matches.\n".to_owned(),
            };
        }
        let several = several(answer.matches.iter().map(|found| found.root.as_str()));
        let mut text = String::new();
        for found in &answer.matches {
            let file = shown(&found.root, &found.path, several);
            let _ = writeln!(text, "{file}:{}: {}", found.line, found.text);
        }
        if answer.truncated {
            text.push_str(
                "There are more: narrow the pattern, path or glob, or raise maxMatches.\n",
            );
        }
        text
    }
}
