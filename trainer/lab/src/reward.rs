//! Rewards as a service: one JSON object in, one out. The arithmetic is `codegrep_score::reward`'s;
//! here lie the names on the wire and the way through many rows at once.

use std::borrow::Cow;
use std::io::{BufRead, Read, Write};

use codegrep_score::reward::{
    self, Ending, Iteration, LineRange, Location, Rollout, Settings, Target,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What to reward, where a row does not say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    V1,
    V2,
    #[default]
    V3,
    Codescout,
}

/// How all rows are rewarded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    pub kind: Kind,
    /// Its `iteration` is that of the row's kind.
    pub settings: Settings,
    /// The `codescout` bonus for ending at this turn.
    pub bonus_at: Option<u32>,
}

impl Rules {
    /// Why these settings have no meaning, if so.
    pub fn check(&self) -> Result<(), String> {
        let Settings { beta, file_weight, line_weight, alpha, merge, .. } = self.settings;
        if !beta.is_finite() || beta <= 0.0 {
            return Err(format!("beta {beta}: must be above 0"));
        }
        if [file_weight, line_weight].iter().any(|weight| !weight.is_finite() || *weight < 0.0) {
            return Err(format!("weights {file_weight} and {line_weight}: must be 0 or more"));
        }
        if !(0.0..=1.0).contains(&alpha) {
            return Err(format!("alpha {alpha}: must be 0 to 1"));
        }
        if merge && alpha > 0.0 {
            return Err("alpha has no effect while mined files are merged into the target\n\
                        hint: leave --alpha out, or add --no-merge"
                .to_owned());
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Row<'a> {
    #[serde(default)]
    id: Value,
    reward: Option<Kind>,
    #[serde(borrow, default)]
    files: Vec<Cow<'a, str>>,
    #[serde(borrow, default)]
    ranges: Vec<Range<'a>>,
    #[serde(default)]
    calls: Vec<u32>,
    #[serde(borrow, default)]
    patch_files: Vec<Cow<'a, str>>,
    #[serde(borrow, default)]
    mined: Vec<Mined<'a>>,
    #[serde(borrow, default)]
    patch_ranges: Vec<Range<'a>>,
    #[serde(borrow, default)]
    locations: Vec<Place<'a>>,
    #[serde(borrow, default)]
    truth: Vec<Place<'a>>,
    #[serde(default)]
    finish_calls: Option<u32>,
    #[serde(default)]
    malformed: bool,
    #[serde(default)]
    turns: u32,
}

#[derive(Deserialize)]
struct Range<'a> {
    #[serde(borrow)]
    file: Cow<'a, str>,
    start: u32,
    end: u32,
}

#[derive(Deserialize)]
struct Mined<'a> {
    #[serde(borrow)]
    file: Cow<'a, str>,
    weight: f64,
}

#[derive(Deserialize)]
struct Place<'a> {
    #[serde(borrow)]
    file: Cow<'a, str>,
    #[serde(borrow, default, alias = "class_name")]
    class: Option<Cow<'a, str>>,
    #[serde(borrow, default, alias = "function_name")]
    function: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
struct Scored<'a> {
    #[serde(skip_serializing_if = "Value::is_null")]
    id: &'a Value,
    reward: f64,
    advantage_scale: f64,
    f_file: f64,
    f_lines: f64,
    mean_calls: f64,
    scale: f64,
    explored: bool,
}

#[derive(Serialize)]
struct ScoredPlaces<'a> {
    #[serde(skip_serializing_if = "Value::is_null")]
    id: &'a Value,
    reward: f64,
    file: f64,
    module: f64,
    function: f64,
    bonus: f64,
}

/// Appends the reward of one row as JSON, without a line's end; says why it has none otherwise.
pub fn score(row: &[u8], rules: &Rules, out: &mut Vec<u8>) -> Result<(), String> {
    let row: Row<'_> = serde_json::from_slice(row).map_err(|error| error.to_string())?;
    let kind = row.reward.unwrap_or(rules.kind);
    let iteration = match kind {
        Kind::V1 => Iteration::V1,
        Kind::V2 => Iteration::V2,
        Kind::V3 => Iteration::V3,
        Kind::Codescout => return places(&row, rules, out),
    };
    let (files, patch) =
        (row.files.iter().map(|path| clean(path)), row.patch_files.iter().map(|path| clean(path)));
    let (files, patch_files) = (files.collect::<Vec<_>>(), patch.collect::<Vec<_>>());
    let mined = row.mined.iter().map(|mined| (clean(&mined.file), mined.weight));
    let mined = mined.collect::<Vec<_>>();
    let (ranges, gold) = (lines(&row.ranges), lines(&row.patch_ranges));
    if let Some(range) = gold.iter().find(|range| range.end < range.start) {
        return Err(format!("patch_ranges: {}..{} ends before it starts", range.start, range.end));
    }
    let got = reward::reward(
        &Rollout { files: &files, ranges: &ranges, calls: &row.calls },
        &Target { patch_files: &patch_files, mined: &mined, ranges: &gold },
        &Settings { iteration, ..rules.settings },
    );
    write(
        out,
        &Scored {
            id: &row.id,
            reward: got.reward,
            advantage_scale: got.advantage_scale,
            f_file: got.f_file,
            f_lines: got.f_lines,
            mean_calls: got.mean_calls,
            scale: got.scale,
            explored: got.explored,
        },
    )
}

fn places(row: &Row<'_>, rules: &Rules, out: &mut Vec<u8>) -> Result<(), String> {
    let ending = Ending {
        finish_calls: row
            .finish_calls
            .ok_or("finish_calls is missing: how often was the run ended")?,
        malformed: row.malformed,
        turns: row.turns,
        bonus_at: rules.bonus_at,
    };
    let got = reward::codescout(&borrowed(&row.locations), &borrowed(&row.truth), &ending);
    write(
        out,
        &ScoredPlaces {
            id: &row.id,
            reward: got.reward,
            file: got.file,
            module: got.module,
            function: got.function,
            bonus: got.bonus,
        },
    )
}

fn borrowed<'a>(places: &'a [Place<'a>]) -> Vec<Location<'a>> {
    places
        .iter()
        .map(|place| Location {
            file: clean(&place.file),
            class: place.class.as_deref(),
            function: place.function.as_deref(),
        })
        .collect()
}

fn write(out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), String> {
    serde_json::to_writer(out, value).map_err(|error| error.to_string())
}

fn lines<'a>(ranges: &'a [Range<'a>]) -> Vec<LineRange<'a>> {
    ranges
        .iter()
        .map(|range| LineRange { file: clean(&range.file), start: range.start, end: range.end })
        .collect()
}

/// `./src/a.py` is `src/a.py`.
fn clean(path: &str) -> &str {
    path.trim_start_matches("./")
}

/// What became of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub scored: u64,
    pub refused: u64,
}

/// Bytes of rows worked on together.
const CHUNK: usize = 4 << 20;

/// Scores every row of `input`, a line out for each line in, in order; empty lines are skipped. A
/// row that cannot be scored gives `{"line": N, "error": "…"}`.
pub fn stream(
    mut input: impl BufRead,
    mut output: impl Write,
    rules: &Rules,
) -> std::io::Result<Counts> {
    let (mut counts, mut first, mut end) = (Counts::default(), 1, false);
    let mut chunk = Vec::with_capacity(CHUNK + (1 << 16));
    while !end {
        chunk.clear();
        input.by_ref().take(CHUNK as u64).read_to_end(&mut chunk)?;
        end = chunk.len() < CHUNK;
        if !end {
            end = input.read_until(b'\n', &mut chunk)? == 0;
        }
        let lines = chunk.split(|&byte| byte == b'\n').collect::<Vec<_>>();
        let done = lines
            .par_chunks(1024)
            .enumerate()
            .map(|(at, lines)| {
                let mut out = Vec::with_capacity(lines.len() * 160);
                let mut counts = Counts::default();
                for (more, line) in lines.iter().enumerate() {
                    if line.trim_ascii().is_empty() {
                        continue;
                    }
                    let start = out.len();
                    match score(line, rules, &mut out) {
                        Ok(()) => counts.scored += 1,
                        Err(why) => {
                            out.truncate(start);
                            let line = first + at * 1024 + more;
                            let refusal = serde_json::json!({"line": line, "error": why});
                            out.extend_from_slice(refusal.to_string().as_bytes());
                            counts.refused += 1;
                        }
                    }
                    out.push(b'\n');
                }
                (out, counts)
            })
            .collect::<Vec<_>>();
        for (out, part) in done {
            output.write_all(&out)?;
            counts.scored += part.scored;
            counts.refused += part.refused;
        }
        first += chunk.iter().filter(|&&byte| byte == b'\n').count();
    }
    output.flush()?;
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules { kind: Kind::V3, settings: Settings::default(), bonus_at: None }
    }

    #[test]
    fn a_line_out_for_each_line_in_and_what_is_broken_is_told_by_line() {
        let rows = concat!(
            r#"{"id":"r1","files":["./a.py","x\u002epy"],"calls":[1,1],"patch_files":["a.py"],"mined":[{"file":"m.py","weight":0.2}]}"#,
            "\n\n",
            r#"{"files":"a.py"}"#,
            "\n",
            r#"{"id":7,"reward":"codescout","locations":[{"file":"a.py","class_name":null,"function_name":"f"}],"truth":[{"file":"a.py","function":"f"}],"finish_calls":1}"#,
            "\n",
            r#"{"patch_files":["a"],"patch_ranges":[{"file":"a","start":5,"end":1}]}"#,
        );
        let mut out = Vec::new();
        let counts = stream(rows.as_bytes(), &mut out, &rules()).unwrap();
        assert_eq!(counts, Counts { scored: 2, refused: 2 });
        let out = String::from_utf8(out).unwrap();
        let lines = out.lines().collect::<Vec<_>>();
        assert_eq!(
            lines[0],
            r#"{"id":"r1","reward":0.5,"advantage_scale":0.5,"f_file":0.5,"f_lines":1.0,"mean_calls":1.0,"scale":0.5,"explored":true}"#
        );
        assert!(lines[1].starts_with(r#"{"line":3,"error":"invalid type: string \"a.py\""#));
        assert_eq!(
            lines[2],
            r#"{"id":7,"reward":3.0,"file":1.0,"module":1.0,"function":1.0,"bonus":0.0}"#
        );
        assert_eq!(lines[3], r#"{"line":5,"error":"patch_ranges: 5..1 ends before it starts"}"#);
    }

    #[test]
    fn many_chunks_keep_their_order_and_their_line_numbers() {
        let mut rows = String::new();
        for at in 0..40_000 {
            rows += &match at % 1000 {
                999 => "{\n".to_owned(),
                _ => format!(
                    "{{\"id\":{at},\"files\":[\"{}\"],\"patch_files\":[\"a\"]}}\n",
                    "a".repeat(100 + at % 90)
                ),
            };
        }
        assert!(rows.len() > CHUNK, "two chunks at least");
        let mut out = Vec::new();
        let counts = stream(rows.as_bytes(), &mut out, &rules()).unwrap();
        assert_eq!(counts, Counts { scored: 39_960, refused: 40 });
        for (at, line) in String::from_utf8(out).unwrap().lines().enumerate() {
            let row: Value = serde_json::from_str(line).unwrap();
            match at % 1000 {
                999 => assert_eq!(row["line"], at + 1),
                _ => assert_eq!(row["id"], at),
            }
        }
    }

    #[test]
    fn settings_without_a_meaning_are_refused() {
        let with = |change: fn(&mut Settings)| {
            let mut rules = rules();
            change(&mut rules.settings);
            rules.check().unwrap_err()
        };
        assert!(with(|s| s.beta = 0.0).contains("above 0"));
        assert!(with(|s| s.alpha = 0.5).contains("--no-merge"));
        assert!(with(|s| s.alpha = f64::NAN).contains("0 to 1"));
        assert!(with(|s| s.line_weight = -1.0).contains("0 or more"));
        assert_eq!(rules().check(), Ok(()));
    }
}
