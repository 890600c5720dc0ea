use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::method::{method, null_as_default};
use crate::retrieve::OpenFile;

method!(
    FilesGrep, "files/grep", GrepParams => GrepResponse,
    "Lines that match a regular expression."
);
method!(FilesGlob, "files/glob", GlobParams => GlobResponse, "Files whose path matches a pattern.");
method!(FilesRead, "files/read", ReadParams => ReadResponse, "Lines of a file.");

/// A file: a root and a path below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileRef {
    /// The root: an absolute path.
    pub root: String,
    /// Relative to the root, forward slashes.
    pub path: String,
}

/// What to search for and where.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrepParams {
    /// Workspace roots: absolute paths or `file://` URIs, at least one.
    pub roots: Vec<String>,
    /// A regular expression in Rust's syntax, matched a line at a time; what is none is an error.
    pub pattern: String,
    /// Only at or below this path, relative to each root; roots without it are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only files whose path, relative to their root, matches this pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// Whether letters match in either case.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(with = "Option<bool>")]
    pub ignore_case: bool,
    /// The most matches wanted; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_matches: Option<u32>,
    /// Files open in the editor; their unsaved text wins over the disk.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<OpenFile>>")]
    pub open_files: Vec<OpenFile>,
    /// Milliseconds from receipt within which an answer arrives; 10,000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u64>,
}

/// The lines that match, by root as asked, path and line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrepResponse {
    /// At most `maxMatches`.
    pub matches: Vec<GrepMatch>,
    /// Whether there are more, or the time ran out before all files were searched.
    pub truncated: bool,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrepMatch {
    /// The root: an absolute path.
    pub root: String,
    /// Relative to the root, forward slashes.
    pub path: String,
    /// 1-based.
    pub line: u32,
    /// The line without surrounding blanks, shortened where long; invalid UTF-8 replaced.
    pub text: String,
}

/// Which files to list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GlobParams {
    /// Workspace roots: absolute paths or `file://` URIs, at least one.
    pub roots: Vec<String>,
    /// A path pattern such as `src/**/*.rs`, relative to each root; one without a slash matches at
    /// any depth.
    pub pattern: String,
    /// The most files wanted; 1,000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub max_files: Option<u32>,
    /// Milliseconds from receipt within which an answer arrives; 10,000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ms: Option<u64>,
}

/// The files that match, by root as asked and path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GlobResponse {
    /// At most `maxFiles`.
    pub files: Vec<FileRef>,
    /// Whether there are more, or the time ran out before all were listed.
    pub truncated: bool,
}

/// Which lines to read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadParams {
    /// The root: an absolute path or a `file://` URI.
    pub root: String,
    /// Relative to the root.
    pub path: String,
    /// First and last line, 1-based, inclusive; the whole file when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_range: Option<(u32, u32)>,
    /// Files open in the editor; their unsaved text wins over the disk.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Vec<OpenFile>>")]
    pub open_files: Vec<OpenFile>,
}

/// Lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadResponse {
    /// The lines, joined as they stand in the file; invalid UTF-8 replaced.
    pub text: String,
    /// First and last line of `text`, 1-based, inclusive; null when it is empty.
    pub line_range: Option<(u32, u32)>,
    /// Lines of the whole file, as far as it was read.
    pub total_lines: u32,
    /// Whether the answer or the file was cut at the limit on size.
    pub truncated: bool,
}
