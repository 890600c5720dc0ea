use codegrep_plugin_sdk::{FilesGlob, GlobParams, GlobResponse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Roots, Tool, several, shown};
use crate::failure::Failure;

/// An agent reads them all.
const FILES: u32 = 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Glob {
    /// A path pattern relative to the root, such as `src/**/*.rs`; one without a slash, such as
    /// `*.toml`, matches at any depth.
    pattern: String,
    /// The most files wanted; 200 when absent.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = 100_000))]
    max_files: Option<u32>,
    /// Search this workspace root only: its absolute path.
    #[serde(default)]
    #[schemars(with = "String")]
    root: Option<String>,
}

impl Tool for Glob {
    type Request = FilesGlob;
    const NAME: &'static str = "glob";
    const TITLE: &'static str = "List files";
    const DESCRIPTION: &'static str = "List the files of the repository whose path matches a \
        pattern, in order of path. Skips what .gitignore excludes and hidden files. Use it when \
        you know a part of a file's name or its folder.";

    fn request(self, roots: &Roots) -> Result<GlobParams, Failure> {
        Ok(GlobParams {
            roots: roots.all(self.root.as_deref())?,
            pattern: self.pattern,
            max_files: Some(self.max_files.unwrap_or(FILES)),
            ..GlobParams::default()
        })
    }

    fn text(answer: &GlobResponse) -> String {
        if answer.files.is_empty() {
            return "No file matches.\n".to_owned();
        }
        let several = several(answer.files.iter().map(|file| file.root.as_str()));
        let mut text = String::new();
        for file in &answer.files {
            text.push_str(&shown(&file.root, &file.path, several));
            text.push('\n');
        }
        if answer.truncated {
            text.push_str("There are more: narrow the pattern, or raise maxFiles.\n");
        }
        text
    }
}
