//! The lexical candidates as the model first sees them.

use std::fmt::Write;

use codegrep_rank::Candidate;

/// Characters of an evidence line.
const LINE: usize = 120;

/// The candidates, best first, each with its best line as grep would show it; empty when there
/// are none.
pub fn text(candidates: &[Candidate]) -> String {
    let mut out = String::new();
    for candidate in candidates {
        let path = candidate.path.as_str();
        // Writing to a string cannot fail.
        let _ = match candidate.evidence.first() {
            Some(evidence) => {
                let line: String = evidence.text.trim().chars().take(LINE).collect();
                writeln!(out, "{path}:{}: {line}", evidence.line)
            }
            None => writeln!(out, "{path}"),
        };
    }
    out
}
