use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A file the model answers with, as it wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerFile {
    pub path: String,
    /// 1-based, inclusive; not yet checked against the file.
    pub line_ranges: Vec<(u32, u32)>,
}

/// The answer in `text`: `{"files": [{"path": …, "line_ranges": [[start, end], …]}, …]}`, wherever
/// it stands, bare, fenced or in a tag. `None` when there is none.
///
/// Reads also files given as plain strings, ranges given as `"3-9"` or a lone number, and the
/// complete files of an answer that was cut off.
pub fn answer(text: &str) -> Option<Vec<AnswerFile>> {
    let mut from = 0;
    while let Some(at) = text[from..].find('{').map(|at| from + at) {
        if let Some(files) = at_start(&text[at..]) {
            return Some(files);
        }
        from = at + 1;
    }
    None
}

fn at_start(text: &str) -> Option<Vec<AnswerFile>> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    match values.next()? {
        Ok(value) => files(&value),
        Err(error) if error.is_eof() => {
            let end = text.rfind('}')?;
            let closed = format!("{}]}}", &text[..=end]);
            files(&serde_json::from_str(&closed).ok()?)
        }
        Err(_) => None,
    }
}

fn files(value: &Value) -> Option<Vec<AnswerFile>> {
    Some(value.get("files")?.as_array()?.iter().filter_map(file).collect())
}

fn file(value: &Value) -> Option<AnswerFile> {
    if let Value::String(path) = value {
        return Some(AnswerFile { path: path.clone(), line_ranges: Vec::new() });
    }
    let path = value.get("path").or_else(|| value.get("file"))?.as_str()?.to_owned();
    let ranges = value.get("line_ranges").and_then(Value::as_array);
    let line_ranges = ranges.into_iter().flatten().filter_map(range).collect();
    Some(AnswerFile { path, line_ranges })
}

fn range(value: &Value) -> Option<(u32, u32)> {
    let line = |v: &Value| v.as_u64().and_then(|n| u32::try_from(n).ok());
    match value {
        Value::Array(pair) => match pair.as_slice() {
            [one] => line(one).map(|n| (n, n)),
            [start, end] => Some((line(start)?, line(end)?)),
            _ => None,
        },
        Value::String(text) => {
            let (start, end) = text.split_once('-').unwrap_or((text, text));
            Some((start.trim().parse().ok()?, end.trim().parse().ok()?))
        }
        value => line(value).map(|n| (n, n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn show(text: &str) -> String {
        match answer(text) {
            None => "none".to_owned(),
            Some(files) => files
                .iter()
                .map(|f| format!("{} {:?};", f.path, f.line_ranges))
                .collect::<Vec<_>>()
                .concat(),
        }
    }

    #[test]
    fn answers_wherever_they_stand() {
        for (text, want) in [
            (
                r#"{"files": [{"path": "a", "line_ranges": [[1, 2], [5, 5]]}]}"#,
                "a [(1, 2), (5, 5)];",
            ),
            (r#"Look {here}: <answer>{"files":[{"path":"a"}, "b"]}</answer> bye"#, "a [];b [];"),
            (
                "```json\n{\"files\": [{\"file\": \"a\", \"line_ranges\": [\"3-9\", 4, [7]]}]}\n```",
                "a [(3, 9), (4, 4), (7, 7)];",
            ),
            (r#"{"answer": {"files": ["a"]}}"#, "a [];"),
            (r#"{"files": []}"#, ""),
            (
                r#"{"files": [{"path": 3}, {"path": "a", "line_ranges": [[-1, 2], "x", [1,2,3]]}]}"#,
                "a [];",
            ),
            // Cut off: the complete files count.
            (r#"{"files": [{"path": "a", "line_ranges": [[1, 2]]}, {"path": "b/c"#, "a [(1, 2)];"),
            (r#"{"files": [{"path": "a"#, "none"),
            (r#"{"name": "grep"}"#, "none"),
            ("a.py", "none"),
            ("", "none"),
        ] {
            assert_eq!(show(text), want, "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "([{}\\[\\]\":,0-9é]|\"files\"|\"path\"){0,40}") {
            answer(&text);
        }
    }
}
