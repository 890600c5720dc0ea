use std::fmt::Write;

use codegrep_plugin_sdk::{Retrieve, RetrieveParams, RetrieveResponse, RetrievedFile, VerdictKind};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Roots, Tool, several, shown};
use crate::failure::Failure;

/// Lines of evidence shown of a file; the structured result has all.
const EVIDENCE: usize = 3;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindFiles {
    /// The task in full: the issue, the bug report with its stack trace, or the request in the
    /// user's own words. More text finds more than keywords do.
    text: String,
    /// The most files wanted; 3 when absent.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = 100))]
    max_files: Option<u32>,
    /// Search this workspace root only: its absolute path.
    #[serde(default)]
    #[schemars(with = "String")]
    root: Option<String>,
}

impl Tool for FindFiles {
    type Request = Retrieve;
    const NAME: &'static str = "find_files";
    const TITLE: &'static str = "Find the files of a task";
    const DESCRIPTION: &'static str = "Find out which files of this repository a task is about. \
        Call it first, with the whole task text, before searching by hand: it ranks every file by \
        names, definitions, stack traces and history, and returns the one to three files that a \
        fix most likely edits, each with a probability and the lines that speak for it. When it \
        is not sure enough it says so; then search with grep and glob. To look up a name or a \
        string that you already know, use grep.";

    fn request(self, roots: &Roots) -> Result<RetrieveParams, Failure> {
        Ok(RetrieveParams {
            text: self.text,
            roots: roots.all(self.root.as_deref())?,
            max_files: self.max_files,
            ..RetrieveParams::default()
        })
    }

    fn text(answer: &RetrieveResponse) -> String {
        let mut text = String::new();
        let several = several(answer.files.iter().map(|file| file.root.as_str()));
        match answer.verdict.kind {
            VerdictKind::Inject => text.push_str("Files this task is about, likeliest first:\n"),
            VerdictKind::Abstain if answer.files.is_empty() => {
                let _ = writeln!(text, "No file found: {}.", answer.verdict.reason);
                text.push_str("Search with grep and glob instead.\n");
            }
            VerdictKind::Abstain => {
                let _ = writeln!(text, "Not sure enough to name files: {}.", answer.verdict.reason);
                text.push_str("Search with grep and glob; these are guesses:\n");
            }
        }
        for file in &answer.files {
            show(file, several, &mut text);
        }
        for warning in &answer.warnings {
            let _ = writeln!(text, "note: {warning}");
        }
        text
    }
}

fn show(file: &RetrievedFile, several: bool, text: &mut String) {
    let _ = write!(
        text,
        "- {} ({:.0} %)",
        shown(&file.root, &file.path, several),
        file.probability * 100.0
    );
    let ranges: Vec<String> =
        file.line_ranges.iter().map(|(first, last)| format!("{first}-{last}")).collect();
    if !ranges.is_empty() {
        let _ = write!(text, " lines {}", ranges.join(", "));
    }
    text.push('\n');
    for line in file.evidence.iter().take(EVIDENCE) {
        let _ = writeln!(text, "    {}: {}", line.line, line.text.trim());
    }
}
