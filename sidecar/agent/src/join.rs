//! What the lexical engine and the agent found, as one ranking.

use codegrep_rank::{Candidate, Evidence, EvidenceKind, Source, quoted};
use codegrep_tree::{READ_LIMIT, RepoPath, Tree, Watch};

use crate::record::{Episode, Found};
use crate::tools::decode;

/// Probability of an agent's file at each place of its answer, on the agent's word alone; later
/// places as the last. The first lies below the gate's default bar: a model whose precision has
/// not been measured does not inject on its own word.
const AGENT: [f64; 3] = [0.45, 0.30, 0.20];
/// What is left of a lexical probability when the agent looked and chose other files.
const NOT_CHOSEN: f64 = 0.7;

/// The joint probability of a file with lexical probability `lexical`, at place `place` (from 0)
/// of the agent's answer; each `None` where that engine did not name it.
///
/// Two independent witnesses (noisy-or): a file both found stands above one either found with the
/// same confidence. The constants are set by hand, between the precision the paper reports for
/// BM25 (0.375) and for its trained model (0.677); a calibrator fitted per model replaces them.
pub fn probability(lexical: Option<f64>, place: Option<usize>) -> f64 {
    let agent = place.map(|place| AGENT[place.min(AGENT.len() - 1)]);
    match (lexical, agent) {
        (Some(lexical), Some(agent)) => 1.0 - (1.0 - lexical) * (1.0 - agent),
        (Some(lexical), None) => NOT_CHOSEN * lexical,
        (None, Some(agent)) => agent,
        (None, None) => 0.0,
    }
}

/// The candidates of both, best first. Without an answer of the agent the lexical ranking stands
/// as it is. When `watch` has stopped, what the agent saw is left out.
pub fn join(
    lexical: &[Candidate],
    episode: &Episode,
    tree: &dyn Tree,
    watch: &Watch,
) -> Vec<Candidate> {
    if episode.files.is_empty() {
        return lexical.to_vec();
    }
    let mut out: Vec<Candidate> = Vec::with_capacity(lexical.len() + episode.files.len());
    for (place, found) in episode.files.iter().enumerate() {
        let Ok(path) = RepoPath::parse(&found.path) else { continue };
        let known = lexical.iter().find(|candidate| candidate.path == path);
        let mut evidence = known.map(|c| c.evidence.clone()).unwrap_or_default();
        if watch.check().is_ok() {
            let ours = seen(&path, found, episode, tree);
            evidence.extend(ours.into_iter().filter(|new| {
                known.is_none_or(|c| c.evidence.iter().all(|old| old.line != new.line))
            }));
        }
        out.push(Candidate {
            path,
            probability: probability(known.map(|c| c.probability), Some(place)),
            score: known.map_or(0.0, |c| c.score),
            source: if known.is_some() { Source::Hybrid } else { Source::Agent },
            line_ranges: found.line_ranges.clone(),
            evidence,
        });
    }
    let chosen = out.len();
    for candidate in lexical {
        if out[..chosen].iter().all(|c| c.path != candidate.path) {
            out.push(Candidate {
                probability: probability(Some(candidate.probability), None),
                ..candidate.clone()
            });
        }
    }
    out.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    out
}

/// Lines of evidence of one file.
const LINES: usize = 3;

/// The lines of `found` that the agent saw: matches of its greps, then the first line of each
/// range it read; those inside its line ranges first.
fn seen(path: &RepoPath, found: &Found, episode: &Episode, tree: &dyn Tree) -> Vec<Evidence> {
    let inside = |line: u32| found.line_ranges.iter().any(|(a, b)| (*a..=*b).contains(&line));
    let mut lines: Vec<(u32, EvidenceKind)> = Vec::new();
    for call in episode.turns().flat_map(|turn| &turn.calls) {
        let read = call.name == "read";
        for shown in call.shown.iter().filter(|shown| shown.path == found.path) {
            if !read {
                lines.extend((shown.start..=shown.end).map(|line| (line, EvidenceKind::Match)));
                continue;
            }
            let starts = found.line_ranges.iter().map(|(start, _)| *start);
            lines.extend(
                starts
                    .filter(|line| (shown.start..=shown.end).contains(line))
                    .map(|line| (line, EvidenceKind::Read)),
            );
        }
    }
    lines.sort_by_key(|(line, kind)| (!inside(*line), *kind == EvidenceKind::Read, *line));
    let mut evidence: Vec<Evidence> = Vec::new();
    let Ok(blob) = tree.read(path, READ_LIMIT) else { return evidence };
    // Numbered as the tools did.
    let bytes = decode(blob.bytes);
    let text: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    for (line, kind) in lines {
        if evidence.len() == LINES {
            break;
        }
        let text = quoted(text.get((line as usize).wrapping_sub(1)).copied().unwrap_or_default());
        if !text.is_empty() && evidence.iter().all(|e| e.line != line) {
            evidence.push(Evidence { line, text, kind });
        }
    }
    evidence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_witnesses_are_worth_more_than_one() {
        let both = probability(Some(0.4), Some(0));
        assert!((both - 0.67).abs() < 1e-9);
        assert!(both > probability(None, Some(0)) && both > 0.4);
        assert!((probability(Some(0.4), None) - 0.28).abs() < 1e-9);
        assert_eq!(probability(None, Some(9)), probability(None, Some(2)));
        assert_eq!(probability(None, None), 0.0);
    }
}
