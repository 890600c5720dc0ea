use serde_json::{Map, Value};

use crate::tools::Call;

/// A call that could not be read: what is wrong with it, for the model.
pub type BadCall = String;

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
const FENCE: &str = "```";

/// The tool calls in `text`, in order, each readable or not; empty when there is none.
///
/// Besides Qwen's `<tool_call>\n{"name": …, "arguments": {…}}\n</tool_call>` it reads what models
/// make of it: a missing closing tag, several objects in one tag, a list of them, fenced JSON
/// without a tag, `parameters` for `arguments`, arguments as a string of JSON, and a regular
/// expression whose backslashes are not doubled.
pub fn calls(text: &str) -> Vec<Result<Call, BadCall>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((_, part)) = rest.split_once(OPEN) {
        let read = values(part, &mut out);
        // What was read may itself hold a tag, as a pattern to search for.
        rest = &part[read..];
    }
    if !out.is_empty() {
        return out;
    }
    for part in fenced(text) {
        // Without a tag only what plainly is a call counts: an answer is JSON too.
        let mut found = Vec::new();
        values(part, &mut found);
        if found.iter().all(Result::is_ok) {
            out.append(&mut found);
        }
    }
    out
}

/// The insides of the fenced blocks of `text`, or all of it when there are none.
fn fenced(text: &str) -> Vec<&str> {
    if !text.contains(FENCE) {
        return vec![text];
    }
    text.split(FENCE).skip(1).step_by(2).collect()
}

/// Reads the JSON values that `part` begins with, up to the first thing that is none, and gives
/// the bytes read. When not even the first can be read, that is a bad call as far as its tag
/// reaches.
fn values(part: &str, out: &mut Vec<Result<Call, BadCall>>) -> usize {
    let json = part.trim_start().trim_start_matches(FENCE);
    let json = json.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c.is_whitespace());
    let start = part.len() - json.len();
    let mut stream = serde_json::Deserializer::from_str(json).into_iter::<Value>();
    let mut read = 0;
    let mut error = None;
    while let Some(value) = stream.next() {
        match value {
            Ok(Value::Array(values)) => out.extend(values.into_iter().map(call)),
            Ok(value) => out.push(call(value)),
            Err(bad) => {
                error = Some(bad);
                break;
            }
        }
        read = stream.byte_offset();
    }
    if read > 0 {
        return start + read;
    }
    let end = [OPEN, CLOSE].iter().filter_map(|tag| part.find(tag)).min().unwrap_or(part.len());
    let inside = part.get(start..end).unwrap_or("").trim().trim_end_matches(FENCE);
    match (serde_json::from_str(&with_doubled_backslashes(inside)), error) {
        (Ok(value), _) => out.push(call(value)),
        (Err(_), Some(error)) if !inside.is_empty() => {
            out.push(Err(format!("not a tool call: invalid JSON, {error}. {EXPECTED}")));
        }
        _ => out.push(Err(format!("not a tool call: it is empty. {EXPECTED}"))),
    }
    end
}

/// `\d` and `\(` are no escapes of JSON: what was meant is a backslash.
fn with_doubled_backslashes(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(c);
        if c == '\\' {
            match chars.peek() {
                Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u') => {
                    out.extend(chars.next());
                }
                _ => out.push('\\'),
            }
        }
    }
    out
}

const EXPECTED: &str = "Write {\"name\": <tool>, \"arguments\": {…}}.";

fn call(value: Value) -> Result<Call, BadCall> {
    let Value::Object(mut object) = value else {
        return Err(format!("not a tool call: {} is no object. {EXPECTED}", brief(&value)));
    };
    let Some(Value::String(name)) = object.remove("name") else {
        return Err(format!("not a tool call: `name` is missing or no string. {EXPECTED}"));
    };
    let arguments = match object.remove("arguments").or_else(|| object.remove("parameters")) {
        Some(Value::Object(arguments)) => arguments,
        Some(Value::String(text)) => serde_json::from_str::<Map<String, Value>>(&text)
            .map_err(|e| format!("{name}: `arguments` is a string that is no object, {e}"))?,
        None | Some(Value::Null) => Map::new(),
        Some(other) => {
            return Err(format!("{name}: `arguments` must be an object, not {}", brief(&other)));
        }
    };
    Ok(Call { name, arguments })
}

/// The start of a value, short enough for a message.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(text: &str, want: Expect) {
        let lines: Vec<String> = calls(text)
            .into_iter()
            .map(|call| match call {
                Ok(call) => format!("{} {}\n", call.name, Value::Object(call.arguments)),
                Err(bad) => format!("! {bad}\n"),
            })
            .collect();
        want.assert_eq(&lines.concat());
    }

    #[test]
    fn qwen_form() {
        check(
            "I will look.\n<tool_call>\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"a\\\\b\"}}\n\
             </tool_call>\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"x\"}}\n</tool_call>",
            expect![[r#"
                grep {"pattern":"a\\b"}
                read {"path":"x"}
            "#]],
        );
    }

    #[test]
    fn what_models_make_of_it() {
        check(
            "<tool_call>{\"name\":\"a\",\"arguments\":{}}<tool_call>```json\n{\"name\":\"b\"}\n```</tool_call>\
             <tool_call>{\"name\":\"c\"}\n{\"name\":\"d\",\"parameters\":{\"x\":1}} and so on</tool_call>\
             <tool_call>[{\"name\":\"e\"},{\"name\":\"f\",\"arguments\":\"{\\\"y\\\":2}\"}]",
            expect![[r#"
                a {}
                b {}
                c {}
                d {"x":1}
                e {}
                f {"y":2}
            "#]],
        );
        check(
            "Sure:\n```json\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}\n```\nDone.",
            expect![[r#"
                grep {"pattern":"x"}
            "#]],
        );
    }

    #[test]
    fn a_pattern_may_hold_a_tag_or_single_backslashes() {
        check(
            "<tool_call>{\"name\":\"grep\",\"arguments\":{\"pattern\":\"</tool_call><tool_call>\"}}</tool_call>\
             <tool_call>\n{\"name\":\"grep\",\"arguments\":{\"pattern\":\"\\d+\\(\\\\b\\\"\"}}\n</tool_call>",
            expect![[r#"
                grep {"pattern":"</tool_call><tool_call>"}
                grep {"pattern":"\\d+\\(\\b\""}
            "#]],
        );
    }

    #[test]
    fn bad_calls_keep_their_place() {
        check(
            "<tool_call>{\"name\": \"grep\", \"arguments\": {\"pattern\": \"\\d}}</tool_call>\
             <tool_call>{\"name\":\"ok\"}</tool_call><tool_call></tool_call><tool_call>7</tool_call>\
             <tool_call>{\"arguments\":{}}</tool_call><tool_call>{\"name\":\"x\",\"arguments\":[1]}</tool_call>\
             <tool_call>{\"name\":\"x\",\"arguments\":\"no\"}</tool_call>",
            expect![[r#"
                ! not a tool call: invalid JSON, invalid escape at line 1 column 45. Write {"name": <tool>, "arguments": {…}}.
                ok {}
                ! not a tool call: it is empty. Write {"name": <tool>, "arguments": {…}}.
                ! not a tool call: 7 is no object. Write {"name": <tool>, "arguments": {…}}.
                ! not a tool call: `name` is missing or no string. Write {"name": <tool>, "arguments": {…}}.
                ! x: `arguments` must be an object, not [1]
                ! x: `arguments` is a string that is no object, expected ident at line 1 column 2
            "#]],
        );
    }

    #[test]
    fn an_answer_or_prose_is_no_call() {
        check("{\"files\": [{\"path\": \"a\"}]}", expect![[r#""#]]);
        check("The file is a.py.", expect![[r#""#]]);
        check("```\nfn main() {}\n```", expect![[r#""#]]);
        check("", expect![[r#""#]]);
    }

    proptest! {
        #[test]
        fn never_panics(text in "(<tool_call>|</tool_call>|```|[{}\\[\\]\":,a-z \\\\é]){0,30}") {
            calls(&text);
        }
    }
}
