use serde_json::{Map, Value};

use super::Call;

/// A call's arguments as the tool takes them.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Grep(Grep),
    Glob(Glob),
    Read(Read),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Grep {
    pub(super) pattern: String,
    pub(super) path: Option<String>,
    pub(super) glob: Option<String>,
    pub(super) ignore_case: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Glob {
    pub(super) pattern: String,
    pub(super) path: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) path: String,
    /// 1-based, inclusive.
    pub(super) start: Option<usize>,
    pub(super) end: Option<usize>,
}

/// Reads a call, forgiving what is obviously meant: `"12"` for 12, `[10, 20]` for two lines,
/// `["a.py"]` for one path, null for an argument left out. Otherwise says what there is instead.
pub(super) fn parse(call: &Call) -> Result<Asked, String> {
    let name = call.name.trim().to_ascii_lowercase();
    let (known, more): (&[&str], &[&str]) = match &name[..] {
        "grep" => (&["pattern", "path", "glob", "ignore_case"], &[]),
        "glob" => (&["pattern", "path"], &[]),
        "read" => (&["path", "start_line", "end_line"], &RANGES),
        _ => {
            return Err(format!("there is no tool {:?}; there are grep, glob and read", call.name));
        }
    };
    let takes = format!("{name} takes {}", known.join(", "));
    for (key, value) in &call.arguments {
        if !value.is_null() && !known.contains(&&key[..]) && !more.contains(&&key[..]) {
            return Err(format!("there is no argument {key:?}; {takes}"));
        }
    }
    let args = Args { tool: &name, map: &call.arguments };
    let need = |key| args.text(key)?.ok_or_else(|| format!("{key} is missing; {takes}"));
    Ok(match &name[..] {
        "grep" => Asked::Grep(Grep {
            pattern: need("pattern")?,
            path: args.text("path")?,
            glob: args.text("glob")?,
            ignore_case: args.flag("ignore_case")?,
        }),
        "glob" => Asked::Glob(Glob { pattern: need("pattern")?, path: args.text("path")? }),
        _ => {
            let path = need("path")?;
            let (start, end) = args.lines()?;
            Asked::Read(Read { path, start, end })
        }
    })
}

/// Other names that models give to a range of lines; the answer itself has `line_ranges`.
const RANGES: [&str; 4] = ["lines", "line_range", "line_ranges", "range"];

struct Args<'a> {
    tool: &'a str,
    map: &'a Map<String, Value>,
}

impl Args<'_> {
    /// A value alone in a list counts as the value; null as none.
    fn get(&self, key: &str) -> Option<&Value> {
        match self.map.get(key)? {
            Value::Array(list) if list.len() == 1 => Some(&list[0]),
            value => Some(value),
        }
        .filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Result<Option<String>, String> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(other) => Err(self.wrong(key, "a text", other)),
        }
    }

    fn flag(&self, key: &str) -> Result<bool, String> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Bool(yes)) => Ok(*yes),
            Some(Value::Number(number)) => Ok(number.as_f64() != Some(0.0)),
            Some(Value::String(text)) => match &text.trim().to_ascii_lowercase()[..] {
                "true" | "yes" | "1" => Ok(true),
                "false" | "no" | "0" | "" => Ok(false),
                _ => Err(self.wrong(key, "true or false", &self.map[key])),
            },
            Some(other) => Err(self.wrong(key, "true or false", other)),
        }
    }

    fn lines(&self) -> Result<(Option<usize>, Option<usize>), String> {
        let mut bounds = [None, None];
        for (i, key) in ["start_line", "end_line"].into_iter().enumerate() {
            let Some(value) = self.get(key) else { continue };
            match line_numbers(value).as_deref() {
                Some([line]) => bounds[i] = Some(*line),
                Some([start, end]) if i == 0 => bounds = [Some(*start), Some(*end)],
                _ => return Err(self.wrong(key, "a line number", value)),
            }
        }
        for key in RANGES {
            let Some(value) = self.get(key) else { continue };
            match line_numbers(value).as_deref() {
                Some([line]) => bounds = [Some(*line), Some(*line)],
                Some([start, end]) => bounds = [Some(*start), Some(*end)],
                _ => return Err(self.wrong(key, "two line numbers", value)),
            }
        }
        match bounds {
            [Some(start), Some(end)] if end < start => {
                Err(format!("end_line {end} is before start_line {start}"))
            }
            [start, end] => Ok((start, end)),
        }
    }

    fn wrong(&self, key: &str, want: &str, got: &Value) -> String {
        let got: String = got.to_string().chars().take(80).collect();
        format!("{key} of {} must be {want}, not {got}", self.tool)
    }
}

/// The line numbers in `12`, `12.0`, `"12"`, `"L10-20"`, `[10, 20]` or `[[10, 20]]`; lines before
/// the first count as the first. `None` where it is something else.
fn line_numbers(value: &Value) -> Option<Vec<usize>> {
    match value {
        Value::Number(number) => {
            let line = number.as_f64().filter(|line| line.fract() == 0.0)?;
            // A float turned integer saturates.
            Some(vec![(line as usize).max(1)])
        }
        Value::String(text) => {
            let digits = |part: &str| part.trim().trim_start_matches(['L', 'l']).parse().ok();
            let parts = text.trim().trim_matches(['[', ']']).split(['-', ':', ',']);
            parts.map(|part| digits(part).map(|line: usize| line.max(1))).collect()
        }
        Value::Array(list) => {
            let nested: Option<Vec<Vec<usize>>> = list.iter().map(line_numbers).collect();
            Some(nested?.concat())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(name: &str, arguments: Value) -> Result<Asked, String> {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        parse(&Call { name: name.to_owned(), arguments })
    }

    fn read(arguments: Value) -> Result<(Option<usize>, Option<usize>), String> {
        match call("read", arguments)? {
            Asked::Read(read) => Ok((read.start, read.end)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_meant_is_understood() {
        for (arguments, want) in [
            (json!({"path": "a"}), (None, None)),
            (json!({"path": "a", "start_line": "12", "end_line": 20.0}), (Some(12), Some(20))),
            (json!({"path": "a", "start_line": [10, 20]}), (Some(10), Some(20))),
            (json!({"path": "a", "start_line": "L10-L20"}), (Some(10), Some(20))),
            (json!({"path": "a", "line_ranges": [[10, 20]]}), (Some(10), Some(20))),
            (json!({"path": "a", "lines": "[3, 4]"}), (Some(3), Some(4))),
            (json!({"path": ["a"], "start_line": -5, "end_line": null}), (Some(1), None)),
            (json!({"path": "a", "start_line": 1e300}), (Some(usize::MAX), None)),
        ] {
            assert_eq!(read(arguments.clone()), Ok(want), "{arguments}");
        }
        let grep = call("Grep", json!({"pattern": 404, "ignore_case": "True", "path": null}));
        let want = Grep { pattern: "404".into(), path: None, glob: None, ignore_case: true };
        assert_eq!(grep, Ok(Asked::Grep(want)));
    }

    #[test]
    fn what_is_wrong_is_told_with_what_exists() {
        for (name, arguments, message) in [
            ("ls", json!({}), "there is no tool \"ls\"; there are grep, glob and read"),
            ("glob", json!({}), "pattern is missing; glob takes pattern, path"),
            (
                "read",
                json!({"file": "a"}),
                "there is no argument \"file\"; read takes path, start_line, end_line",
            ),
            ("read", json!({"path": {}}), "path of read must be a text, not {}"),
            (
                "read",
                json!({"path": "a", "start_line": "top"}),
                "start_line of read must be a line number, not \"top\"",
            ),
            (
                "read",
                json!({"path": "a", "start_line": 9, "end_line": 3}),
                "end_line 3 is before start_line 9",
            ),
            (
                "grep",
                json!({"pattern": "a", "ignore_case": "perhaps"}),
                "ignore_case of grep must be true or false, not \"perhaps\"",
            ),
        ] {
            assert_eq!(call(name, arguments), Err(message.to_owned()));
        }
    }
}
