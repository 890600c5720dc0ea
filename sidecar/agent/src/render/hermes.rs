//! The tools block in the Hermes form that Qwen's template renders.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use crate::chat::ToolSpec;

/// The system text, followed by the tools and how to call them when there are any.
pub fn system(text: &str, tools: &[ToolSpec]) -> String {
    if tools.is_empty() {
        return text.to_owned();
    }
    let mut out = format!(
        "{text}\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\n\
         You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
    );
    for tool in tools {
        out.push('\n');
        out.push_str(&json(&serde_json::json!({ "type": "function", "function": tool })));
    }
    out.push_str(
        "\n</tools>\n\nFor each function call, return a json object with function name and \
         arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n\
         {\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>",
    );
    out
}

/// JSON spaced as Python's `json.dumps` spaces it, which is what the templates of these models
/// were rendered with in training.
pub fn json(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    // Writing a value into memory fails only for maps whose keys are not strings.
    match value.serialize(&mut Serializer::with_formatter(&mut bytes, Spaced)) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::from("null"),
    }
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
    ) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}
