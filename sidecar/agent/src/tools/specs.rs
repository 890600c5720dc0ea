use serde_json::{Value, json};

use super::ToolLimits;
use crate::chat::ToolSpec;

/// The tools as a model is told of them. Short: small models read this at every request.
pub fn specs(limits: &ToolLimits) -> Vec<ToolSpec> {
    let path = || text("file or folder, relative to the repository root");
    vec![
        tool(
            "grep",
            &format!(
                "Search file contents, line by line. Gives path:line: text, at most {}.",
                limits.grep_matches
            ),
            &["pattern"],
            json!({
                "pattern": text("regular expression"),
                "path": path(),
                "glob": text("only these files, e.g. *.py"),
                "ignore_case": {"type": "boolean"},
            }),
        ),
        tool(
            "glob",
            "Find files by name. Gives paths.",
            &["pattern"],
            json!({
                "pattern": text("path pattern, e.g. **/test_*.py"),
                "path": text("folder to look in"),
            }),
        ),
        tool(
            "read",
            &format!("Show lines of a file, at most {}.", limits.read_lines),
            &["path"],
            json!({
                "path": path(),
                "start_line": {"type": "integer"},
                "end_line": {"type": "integer"},
            }),
        ),
    ]
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn tool(name: &str, description: &str, required: &[&str], properties: Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({"type": "object", "properties": properties, "required": required}),
    }
}
