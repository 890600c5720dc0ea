use std::fmt::Write;

use codegrep_plugin_sdk::{FilesRead, ReadParams, ReadResponse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Roots, Tool};
use crate::failure::Failure;

/// Lines of one answer that names no last line.
const LINES: u32 = 500;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Read {
    /// The file: relative to the root, or absolute.
    path: String,
    /// The first line wanted, counted from 1; the file's first when absent.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1))]
    first_line: Option<u32>,
    /// The last line wanted, inclusive; 500 lines are read when absent.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1))]
    last_line: Option<u32>,
    /// The workspace root that the path is relative to, where there are several.
    #[serde(default)]
    #[schemars(with = "String")]
    root: Option<String>,
}

impl Tool for Read {
    type Request = FilesRead;
    const NAME: &'static str = "read";
    const TITLE: &'static str = "Read lines of a file";
    const DESCRIPTION: &'static str = "Read a file of the repository, or some of its lines, with \
        line numbers: 500 lines unless lastLine says otherwise. Give the lines that find_files or \
        grep named, with some around them.";

    fn request(self, roots: &Roots) -> Result<ReadParams, Failure> {
        let (root, path) = roots.only(self.root.as_deref(), &self.path)?;
        let first = self.first_line.unwrap_or(1);
        let last = self.last_line.unwrap_or(first.saturating_add(LINES - 1));
        Ok(ReadParams { root, path, line_range: Some((first, last)), ..ReadParams::default() })
    }

    fn text(answer: &ReadResponse) -> String {
        let Some((first, last)) = answer.line_range else {
            return format!("No line in this range: the file has {} lines.\n", answer.total_lines);
        };
        let mut text = String::new();
        for (number, line) in (first..).zip(answer.text.lines()) {
            let _ = writeln!(text, "{number}\t{line}");
        }
        if last < answer.total_lines {
            let (next, total) = (last + 1, answer.total_lines);
            let _ = writeln!(text, "There is more: the file has {total} lines; firstLine={next}.");
        } else if answer.truncated {
            text.push_str("The file is longer than what can be read.\n");
        }
        text
    }
}
