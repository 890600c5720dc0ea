//! GBNF grammars (llama.cpp) that match exactly what the prompts' examples show: no free
//! whitespace, so that a small model cannot lose itself in it.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;

use crate::chat::ToolSpec;

/// Characters of one string: long enough for any sensible path or pattern, short enough that a
/// model that repeats itself comes to an end.
const STRING: usize = 160;
/// Line ranges of one file.
const RANGES: usize = 3;

/// How deep the tree of paths may branch; hostile names that are prefixes of each other go no
/// deeper.
const DEPTH: usize = 64;

/// What an answer may be.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// At most so many files.
    pub files: usize,
    /// Only these; any string when empty.
    pub paths: &'a BTreeSet<String>,
}

/// Between one and `max` calls of `tools`, or an answer instead.
///
/// Arguments come in the order of the tool's schema, required ones always; types `string`,
/// `integer` and `boolean` are known.
pub fn calls(tools: &[ToolSpec], max: usize, or_answer: Option<Answer<'_>>) -> String {
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
    if let Some(answer) = or_answer {
        out.push_str(&answer_rules(answer));
    }
    out.push_str(&strings());
    out
}

/// An answer of at least one file.
pub fn answer(answer: Answer<'_>) -> String {
    format!("root ::= answer\n{}{}", answer_rules(answer), strings())
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

fn answer_rules(answer: Answer<'_>) -> String {
    let (more, ranges) = (answer.files.saturating_sub(1), RANGES - 1);
    let path = match answer.paths.is_empty() {
        true => "str".to_owned(),
        false => {
            let quoted = answer.paths.iter().map(|path| serde_json::json!(path).to_string());
            let texts: BTreeSet<String> = quoted.collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            one_of(&texts, 0)
        }
    };
    format!(
        r#"answer ::= "{{\"files\": [" file (", " file){{0,{more}}} "]}}"
file ::= "{{\"path\": " path ", \"line_ranges\": [" (range (", " range){{0,{ranges}}})? "]}}"
path ::= {path}
range ::= "[" int ", " int "]"
"#
    )
}

/// An expression for exactly `texts`, which are sorted and distinct. What they begin with alike is
/// written once: llama.cpp pays for each alternative at each token.
fn one_of(texts: &[&str], depth: usize) -> String {
    let (Some(first), Some(last)) = (texts.first(), texts.last()) else { return String::new() };
    let same = first.chars().zip(last.chars()).take_while(|(a, b)| a == b);
    let shared: usize = same.map(|(c, _)| c.len_utf8()).sum();
    let prefix = literal(&first[..shared]);
    let rest: Vec<&str> = texts.iter().map(|text| &text[shared..]).collect();
    if rest.len() == 1 {
        return prefix;
    }
    let branches: Vec<String> = if depth == DEPTH {
        rest.iter().map(|text| literal(text)).collect()
    } else {
        rest.chunk_by(|a, b| a.chars().next() == b.chars().next())
            .map(|branch| one_of(branch, depth + 1))
            .collect()
    };
    format!("{prefix} ({})", branches.join(" | "))
}

fn literal(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push('"');
    out
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
            file ::= "{\"path\": " path ", \"line_ranges\": [" (range (", " range){0,2})? "]}"
            path ::= str
            range ::= "[" int ", " int "]"
            str ::= "\"" char{1,160} "\""
            char ::= [^"\\\x00-\x1f\x7f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
            int ::= [1-9] [0-9]{0,6}
            bool ::= "true" | "false"
        "#]].assert_eq(&calls(&tools, 8, Some(Answer { files: 3, paths: &BTreeSet::new() })));
    }

    #[test]
    fn an_answer_of_known_paths() {
        let paths = ["src/a.py", "src/ab.py", "src/é/\"q\".py", "README"].map(str::to_owned);
        let paths = BTreeSet::from(paths);
        expect![[r#"
            root ::= answer
            answer ::= "{\"files\": [" file (", " file){0,2} "]}"
            file ::= "{\"path\": " path ", \"line_ranges\": [" (range (", " range){0,2})? "]}"
            path ::= "\"" ("README\"" | "src/" ("a" (".py\"" | "b.py\"") | "é/\\\"q\\\".py\""))
            range ::= "[" int ", " int "]"
            str ::= "\"" char{1,160} "\""
            char ::= [^"\\\x00-\x1f\x7f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
            int ::= [1-9] [0-9]{0,6}
            bool ::= "true" | "false"
        "#]]
        .assert_eq(&answer(Answer { files: 3, paths: &paths }));
    }

    #[test]
    fn names_that_begin_each_other_end_somewhere() {
        let paths: BTreeSet<String> = (1..500).map(|n| "a".repeat(n)).collect();
        let depth = |text: &str| {
            let mut open = 0i32;
            let steps = text.chars().map(|c| {
                open += i32::from(c == '(') - i32::from(c == ')');
                open
            });
            steps.max()
        };
        assert_eq!(depth(&answer(Answer { files: 1, paths: &paths })), Some(DEPTH as i32 + 1));
    }
}
