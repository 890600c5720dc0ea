//! GBNF grammars (llama.cpp) that match exactly what the prompts' examples show: no free
//! whitespace, so that a small model cannot lose itself in it.

use std::fmt::Write;

use serde_json::Value;

use crate::chat::ToolSpec;

/// Characters of one string: long enough for any sensible path or pattern, short enough that a
/// model that repeats itself comes to an end.
const STRING: usize = 160;
/// Line ranges of one file.
const RANGES: usize = 3;

/// Between one and `max` calls of `tools`, or an answer of up to `files` files instead.
///
/// Arguments come in the order of the tool's schema, required ones always; types `string`,
/// `integer` and `boolean` are known.
pub fn calls(tools: &[ToolSpec], max: usize, or_answer: Option<usize>) -> String {
    let mut out = String::from("root ::= ");
    if or_answer.is_some() {
        out.push_str("answer | ");
    }
    let more = max.saturating_sub(1);
    let _ = writeln!(out, "call (\"\\n\" call){{0,{more}}}");
    let names: Vec<String> = (0..tools.len()).map(|i| format!("tool{i}")).collect();
    let _ = writeln!(
        out,
        r#"call ::= "<tool_call>\n{{\"name\": \"" ({}) "}}}}\n</tool_call>""#,
        names.join(" | ")
    );
    for (i, tool) in tools.iter().enumerate() {
        let _ = writeln!(out, "tool{i} ::= {}", arguments(tool));
    }
    if let Some(files) = or_answer {
        out.push_str(&answer_rules(files));
    }
    out.push_str(&strings());
    out
}

/// An answer of one to `files` files.
pub fn answer(files: usize) -> String {
    format!("root ::= answer\n{}{}", answer_rules(files), strings())
}

/// The JSON Schema of the same answer, for endpoints that take one.
pub fn answer_schema(files: usize) -> Value {
    serde_json::json!({
        "type": "object",
        "properties": {"files": {
            "type": "array", "minItems": 1, "maxItems": files,
            "items": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "line_ranges": {
                        "type": "array", "maxItems": RANGES,
                        "items": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
                    },
                },
                "required": ["path", "line_ranges"], "additionalProperties": false,
            },
        }},
        "required": ["files"], "additionalProperties": false,
    })
}

/// `grep\", \"arguments\": {` and the arguments, each literal as few as can be.
fn arguments(tool: &ToolSpec) -> String {
    let mut out = format!("\"{}\\\", \\\"arguments\\\": {{", tool.name);
    let required: Vec<&str> = tool.parameters["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut first = true;
    for (name, schema) in tool.parameters["properties"].as_object().into_iter().flatten() {
        let rule = match schema["type"].as_str() {
            Some("integer") => "int",
            Some("boolean") => "bool",
            _ => "str",
        };
        // Optional arguments follow required ones, so each can begin with the comma.
        let comma = if first { "" } else { ", " };
        if required.contains(&name.as_str()) {
            let _ = write!(out, "{comma}\\\"{name}\\\": \" {rule} \"");
        } else {
            let _ = write!(out, "\" (\"{comma}\\\"{name}\\\": \" {rule})? \"");
        }
        first = false;
    }
    out.push('"');
    out.replace(" \"\"", "")
}

fn answer_rules(files: usize) -> String {
    let (more, ranges) = (files.saturating_sub(1), RANGES - 1);
    format!(
        r#"answer ::= "{{\"files\": [" file (", " file){{0,{more}}} "]}}"
file ::= "{{\"path\": " str ", \"line_ranges\": [" (range (", " range){{0,{ranges}}})? "]}}"
range ::= "[" int ", " int "]"
"#
    )
}

fn strings() -> String {
    format!(
        r#"str ::= "\"" char{{1,{STRING}}} "\""
char ::= [^"\\\x00-\x1f\x7f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{{4}})
int ::= [1-9] [0-9]{{0,6}}
bool ::= "true" | "false"
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn calls_or_answer() {
        let tool = |name: &str, properties: Value, required: Value| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            parameters: json!({"type": "object", "properties": properties, "required": required}),
        };
        let tools = [
            tool(
                "grep",
                json!({"pattern": {"type": "string"}, "path": {"type": "string"}, "ignore_case": {"type": "boolean"}}),
                json!(["pattern"]),
            ),
            tool(
                "read",
                json!({"path": {"type": "string"}, "start": {"type": "integer"}}),
                json!(["path"]),
            ),
        ];
        expect![[r#"
            root ::= answer | call ("\n" call){0,7}
            call ::= "<tool_call>\n{\"name\": \"" (tool0 | tool1) "}}\n</tool_call>"
            tool0 ::= "grep\", \"arguments\": {\"pattern\": " str (", \"path\": " str)? (", \"ignore_case\": " bool)?
            tool1 ::= "read\", \"arguments\": {\"path\": " str (", \"start\": " int)?
            answer ::= "{\"files\": [" file (", " file){0,2} "]}"
            file ::= "{\"path\": " str ", \"line_ranges\": [" (range (", " range){0,2})? "]}"
            range ::= "[" int ", " int "]"
            str ::= "\"" char{1,160} "\""
            char ::= [^"\\\x00-\x1f\x7f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
            int ::= [1-9] [0-9]{0,6}
            bool ::= "true" | "false"
        "#]].assert_eq(&calls(&tools, 8, Some(3)));
    }

    #[test]
    fn answer_alone() {
        expect![[r#"
            root ::= answer
            answer ::= "{\"files\": [" file (", " file){0,2} "]}"
            file ::= "{\"path\": " str ", \"line_ranges\": [" (range (", " range){0,2})? "]}"
            range ::= "[" int ", " int "]"
            str ::= "\"" char{1,160} "\""
            char ::= [^"\\\x00-\x1f\x7f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
            int ::= [1-9] [0-9]{0,6}
            bool ::= "true" | "false"
        "#]]
        .assert_eq(&answer(3));
    }
}
