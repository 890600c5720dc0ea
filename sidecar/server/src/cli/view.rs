//! Answers for a person at a terminal. Repository text is shown, never obeyed: control characters
//! do not reach the terminal.

use std::fmt::Write as _;
use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use codegrep_plugin_sdk::{
    EngineKind, EvidenceKind, RetrieveResponse, RetrievedFile, Stop, VerdictKind,
};
use codegrep_tree::is_unseen;

use crate::failure::Failure;

const PATH: Style = Style::new().bold();
const SURE: Style = AnsiColor::Green.on_default();
const UNSURE: Style = AnsiColor::Yellow.on_default();
const DIM: Style = Style::new().dimmed();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Characters shown of a line of evidence.
const WIDEST: usize = 100;
/// Lines of evidence shown of a file.
const LINES: usize = 5;

/// The files, the verdict in words, and how it was found.
pub fn answer(answer: &RetrieveResponse) -> String {
    let mut text = String::new();
    let inject = answer.verdict.kind == VerdictKind::Inject;
    let reason = plain(&answer.verdict.reason);
    if answer.files.is_empty() {
        let _ = writeln!(text, "{UNSURE}No file to name:{UNSURE:#} {reason}.\n");
    } else if !inject {
        let _ = writeln!(text, "{UNSURE}Not sure enough to name files:{UNSURE:#} {reason}.");
        let _ = writeln!(text, "Without the gate these would have been named:\n");
    }
    for found in &answer.files {
        file(&mut text, found, if inject { SURE } else { UNSURE });
    }
    if !answer.files.is_empty() {
        text.push('\n');
    }
    let verdict = if inject { format!("{reason}; ") } else { String::new() };
    let _ = writeln!(text, "{DIM}{verdict}{}{DIM:#}", footer(answer));
    text
}

fn file(text: &mut String, found: &RetrievedFile, probability: Style) {
    let ranges: Vec<String> =
        found.line_ranges.iter().map(|(first, last)| format!("{first}-{last}")).collect();
    let ranges = if ranges.is_empty() { String::new() } else { format!(":{}", ranges.join(",")) };
    let percent = format!("{:.0} %", found.probability * 100.0);
    let path = plain(&found.path);
    let _ = writeln!(
        text,
        "{PATH}{path}{PATH:#}{DIM}{ranges}{DIM:#}  {probability}{percent}{probability:#}"
    );
    for evidence in found.evidence.iter().take(LINES) {
        let shown = plain(evidence.text.trim());
        let cut: String = shown.chars().take(WIDEST).collect();
        let more = if cut.len() < shown.len() { "…" } else { "" };
        let kind = kind(evidence.kind);
        let _ = writeln!(text, "{DIM}{:>7}{DIM:#}  {cut}{more}  {DIM}{kind}{DIM:#}", evidence.line);
    }
}

fn kind(kind: EvidenceKind) -> &'static str {
    match kind {
        EvidenceKind::Definition => "definition",
        EvidenceKind::Path => "named path",
        EvidenceKind::Trace => "stack trace",
        EvidenceKind::Match => "match",
        EvidenceKind::String => "quoted string",
        EvidenceKind::Import => "import",
        EvidenceKind::Test => "test",
        EvidenceKind::History => "history",
        EvidenceKind::Read => "read by the model",
    }
}

fn footer(answer: &RetrieveResponse) -> String {
    let engine = match (answer.engine.kind, &answer.engine.model) {
        (EngineKind::Agent, Some(model)) => {
            let (turns, calls) = (answer.turns, answer.tool_calls);
            format!("{}, {turns} turns, {calls} tool calls", plain(model))
        }
        _ => "word search, no model".to_owned(),
    };
    let stop = match answer.stop {
        Stop::Deadline => "; the time ran out",
        _ => "",
    };
    let seconds = answer.ms.total as f64 / 1000.0;
    format!("{engine}; {} files; {seconds:.2} s{stop}", answer.index.files)
}

/// Warnings, on stderr.
pub fn warnings(warnings: &[String]) {
    let mut stderr = anstream::stderr().lock();
    for warning in warnings {
        // Where stderr is closed there is nobody to warn.
        let _ = writeln!(stderr, "{WARNING}warning:{WARNING:#} {}", plain(warning));
    }
}

/// What went wrong and what to do next, on stderr.
pub fn failure(failure: &Failure) {
    let mut stderr = anstream::stderr().lock();
    // Where stderr is closed there is nobody to tell.
    let _ = writeln!(stderr, "{ERROR}error:{ERROR:#} {}", plain(&failure.message));
    if !failure.hint.is_empty() {
        let _ = writeln!(stderr, "{HINT}hint:{HINT:#} {}", plain(&failure.hint));
    }
}

/// Without what a terminal would obey or a person overlook.
pub fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        '\t' => ' ',
        c if is_unseen(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use codegrep_plugin_sdk::{Evidence, Source, Verdict};
    use expect_test::expect;

    fn example() -> RetrieveResponse {
        let found = |path: &str, probability, text: &str| RetrievedFile {
            root: "/r".into(),
            path: path.into(),
            line_ranges: vec![(10, 42)],
            probability,
            source: Source::Lexical,
            evidence: vec![Evidence {
                line: 12,
                text: text.into(),
                kind: EvidenceKind::Definition,
            }],
        };
        RetrieveResponse {
            files: vec![
                found("src/a.rs", 0.834, "    fn read_tool(\u{1b}[2Jx: u8) {"),
                found("src/b.rs", 0.2, &"long ".repeat(30)),
            ],
            verdict: Verdict {
                kind: VerdictKind::Inject,
                reason: "1 of 2 files at or above 0.61".into(),
            },
            ..crate::wire::late("codegrep")
        }
    }

    fn shown(answer: &RetrieveResponse) -> String {
        anstream::adapter::strip_str(&super::answer(answer)).to_string()
    }

    #[test]
    fn an_answer_and_an_abstention() {
        let inject = example();
        expect![[r#"
            src/a.rs:10-42  83 %
                 12  fn read_tool(�[2Jx: u8) {  definition
            src/b.rs:10-42  20 %
                 12  long long long long long long long long long long long long long long long long long long long long …  definition

            1 of 2 files at or above 0.61; word search, no model; 0 files; 0.00 s; the time ran out
        "#]].assert_eq(&shown(&inject));
        let abstain = RetrieveResponse {
            verdict: Verdict {
                kind: VerdictKind::Abstain,
                reason: "0 of 2 files at or above 0.90".into(),
            },
            ..inject
        };
        expect![[r#"
            Not sure enough to name files: 0 of 2 files at or above 0.90.
            Without the gate these would have been named:

            src/a.rs:10-42  83 %
                 12  fn read_tool(�[2Jx: u8) {  definition
            src/b.rs:10-42  20 %
                 12  long long long long long long long long long long long long long long long long long long long long …  definition

            word search, no model; 0 files; 0.00 s; the time ran out
        "#]].assert_eq(&shown(&abstain));
        let nothing = RetrieveResponse { files: vec![], ..abstain };
        expect![[r#"
            No file to name: 0 of 2 files at or above 0.90.

            word search, no model; 0 files; 0.00 s; the time ran out
        "#]]
        .assert_eq(&shown(&nothing));
    }

    #[test]
    fn a_terminal_obeys_no_repository() {
        assert!(!answer(&example()).contains("\u{1b}[2J"));
        let hidden = "\r\n\u{9b}\u{202e}\u{61c}\u{200f}\u{200d}\u{feff}\u{2028}\u{e0041}";
        let shown = "\u{fffd}".repeat(hidden.chars().count());
        assert_eq!(plain(&format!("a\tb{hidden}")), format!("a b{shown}"));
    }
}
