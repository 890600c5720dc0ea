use crate::{Candidate, Verdict};

/// Keeps the files whose probability is at or above `bar`; abstains when none is.
pub fn gate(files: &[Candidate], bar: f64) -> (Vec<Candidate>, Verdict) {
    let kept: Vec<Candidate> = files.iter().filter(|f| f.probability >= bar).cloned().collect();
    if files.is_empty() {
        let reason = "no file matches the text".to_owned();
        return (kept, Verdict::Abstain { reason });
    }
    let noun = if files.len() == 1 { "file" } else { "files" };
    let reason = format!("{} of {} {noun} at or above {bar:.2}", kept.len(), files.len());
    let verdict =
        if kept.is_empty() { Verdict::Abstain { reason } } else { Verdict::Inject { reason } };
    (kept, verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use codegrep_tree::RepoPath;

    fn file(path: &str, probability: f64) -> Candidate {
        Candidate {
            path: RepoPath::parse(path).unwrap(),
            probability,
            score: probability,
            source: Source::Lexical,
            line_ranges: vec![],
            evidence: vec![],
        }
    }

    #[test]
    fn the_bar_itself_passes_and_the_reason_counts() {
        let files = [file("a", 0.7), file("b", 0.61), file("c", 0.6)];
        let (kept, verdict) = gate(&files, 0.61);
        assert_eq!(kept, files[..2]);
        assert_eq!(verdict, Verdict::Inject { reason: "2 of 3 files at or above 0.61".to_owned() });
    }

    #[test]
    fn nothing_above_the_bar_abstains() {
        assert_eq!(
            gate(&[file("a", 0.2)], 0.5),
            (vec![], Verdict::Abstain { reason: "0 of 1 file at or above 0.50".to_owned() })
        );
        assert_eq!(
            gate(&[], 0.5),
            (vec![], Verdict::Abstain { reason: "no file matches the text".to_owned() })
        );
    }
}
