//! Sentences that a text quotes and a program may hold verbatim: error messages, labels.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use crate::query::regex;
use crate::rerank::Read;

/// Words of a phrase: fewer stand in any prose, more break at the values that a program fills in.
pub(crate) const WORDS: usize = 3;
/// The most phrases that are looked for.
const MOST: usize = 120;

/// What is quoted, and what programs print when they fail.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?m)"([^"\n]{8,200})"|`([^`\n]{8,200})`|'([^'\n]{8,200})'|“([^”\n]{8,200})”|^.{0,80}?\b(?:[A-Z]\w*(?:Error|Exception|Warning|Failure)|(?i:error|fatal|panic|warning|exception|panicked at))\b(?:\[\w+\])?\]?:? ([^\n]{8,200})$"#,
    )
});
static WORD: LazyLock<Regex> = LazyLock::new(|| regex(r"[A-Za-z][A-Za-z'_-]*"));

/// Every run of [`WORDS`] words with single blanks between them in what `text` quotes, in order,
/// none twice.
pub(crate) fn phrases(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for captures in QUOTED.captures_iter(text) {
        let Some(quoted) = captures.iter().skip(1).flatten().next() else { continue };
        let quoted = quoted.as_str();
        let words: Vec<_> = WORD.find_iter(quoted).collect();
        for run in words.windows(WORDS) {
            let whole = &quoted[run[0].start()..run[WORDS - 1].end()];
            let plain = run.windows(2).all(|two| two[1].start() == two[0].end() + 1)
                && whole.bytes().filter(|byte| *byte == b' ').count() == WORDS - 1;
            if plain && whole.len() >= 10 && !found.iter().any(|it| it == whole) {
                found.push(whole.to_owned());
            }
        }
        if found.len() >= MOST {
            found.truncate(MOST);
            break;
        }
    }
    found
}

/// Fills the feature `phrases`: each counts for the files that hold it, divided by how many do.
pub(crate) fn quoted(files: &mut [Read], phrases: &[String]) {
    if phrases.is_empty() {
        return;
    }
    let built = AhoCorasick::builder().ascii_case_insensitive(true).build(phrases);
    let Ok(finder) = built else { return };
    // By file: phrase and the line where it first stands.
    let held: Vec<Vec<(usize, u32)>> = files
        .iter()
        .map(|file| {
            let mut held: Vec<(usize, u32)> = Vec::new();
            let Some(source) = &file.source else { return held };
            for found in finder.find_overlapping_iter(source.text()) {
                let phrase = found.pattern().as_usize();
                if held.iter().all(|(known, _)| *known != phrase) {
                    held.push((phrase, source.line_at(found.start())));
                }
            }
            held
        })
        .collect();
    let mut holders = vec![0u32; phrases.len()];
    held.iter().flatten().for_each(|(phrase, _)| holders[*phrase] += 1);
    for (file, held) in files.iter_mut().zip(&held) {
        file.features.phrases = held.iter().map(|(at, _)| 1.0 / holders[*at] as f32).sum();
        file.phrase = held.iter().min_by_key(|(at, _)| (holders[*at], *at)).map(|held| held.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_messages_and_quotes_are_phrases_and_prose_is_not() {
        for (text, want) in [
            (
                "It fails:\nValueError: cannot convert float NaN to integer\nplease fix it soon",
                &["cannot convert float", "convert float NaN", "float NaN to", "NaN to integer"][..],
            ),
            ("shows \"No such file 12 or directory\" here", &["No such file"]),
            (
                "error[E0308]: mismatched types found here",
                &["mismatched types found", "types found here"],
            ),
            ("I see that it does not work at all", &[]),
            ("the `a` and `b` of them", &[]),
        ] {
            assert_eq!(phrases(text), want, "{text}");
        }
    }
}
