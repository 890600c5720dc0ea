//! What works on this machine, and what to do about what doesn't.

mod machine;
mod models;
mod places;

use std::fmt::Write as _;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::json;

use super::print;
use super::view::plain;
use crate::config::{Layer, Places, Settings};
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also load every model, and have every model and endpoint say something
    #[arg(long)]
    deep: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// One thing looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    /// What it is about, in a word.
    name: &'static str,
    state: State,
    message: String,
    /// What to do about it; empty when nothing is to be done.
    hint: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    /// Something is slower, missing or broken, and word search answers all the same.
    Warning,
    /// Word search cannot answer either.
    Failure,
}

impl Check {
    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, state: State::Ok, message: message.into(), hint: String::new() }
    }

    fn warning(name: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { name, state: State::Warning, message: message.into(), hint: hint.into() }
    }

    fn failure(name: &'static str, failure: Failure) -> Self {
        let Failure { message, hint, .. } = failure;
        Self { name, state: State::Failure, message, hint }
    }
}

/// Exit code 0 when word search can answer here, 1 otherwise.
pub fn run(args: &Args, places: &Places) -> Result<ExitCode, Failure> {
    let mut checks = machine::checks();
    checks.extend(places::folders(places));
    match Settings::load(places.clone(), Layer::default()) {
        Ok(settings) => {
            checks.push(places::settings(&settings));
            checks.push(places::project(&settings));
            checks.extend(models::checks(&settings, args.deep));
        }
        Err(failure) => checks.push(Check::failure("settings", failure)),
    }
    let works = checks.iter().all(|check| check.state != State::Failure);
    match args.json {
        true => print(&format!("{:#}\n", json!({"ok": works, "checks": checks})))?,
        false => print(&text(&checks, works))?,
    };
    Ok(ExitCode::from(u8::from(!works)))
}

const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const SO_SO: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();

fn text(checks: &[Check], works: bool) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Check { name, state, message, hint } in checks {
        let (style, mark) = match state {
            State::Ok => (GOOD, '✓'),
            State::Warning => (SO_SO, '!'),
            State::Failure => (BAD, '✗'),
        };
        let _ = writeln!(text, "{style}{mark}{style:#} {name:width$}  {}", plain(message));
        if !hint.is_empty() {
            let _ = writeln!(text, "  {:width$}  {DIM}→ {}{DIM:#}", "", plain(hint));
        }
    }
    let _ = match works {
        true => writeln!(text, "\n{GOOD}Word search works here.{GOOD:#}"),
        false => writeln!(text, "\n{BAD}Word search does not work here:{BAD:#} see ✗ above."),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn each_line_has_its_mark_and_its_hint() {
        let checks = [
            Check::ok("system", "Debian"),
            Check::warning("models", "none \u{1b}[2J", "add one"),
            Check::failure("settings", Failure::config("line 3").hint("correct it")),
        ];
        let shown = anstream::adapter::strip_str(&text(&checks, false)).to_string();
        expect![[r#"
            ✓ system    Debian
            ! models    none �[2J
                        → add one
            ✗ settings  line 3
                        → correct it

            Word search does not work here: see ✗ above.
        "#]]
        .assert_eq(&shown);
    }
}
