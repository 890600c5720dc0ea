use crate::chat::ToolResult;
use crate::prompt::head;

/// Tokens of the markers around one result.
const MARKERS: u32 = 12;
pub(super) const CUT: &str = "\n(cut: the context is full)";
pub(super) const DROPPED: &str = "(not shown: the context is full)";

/// `results` cut so that they take at most about `tokens`, and whether any was: short ones stay
/// whole, long ones are cut to one length.
pub(super) fn fit(
    mut results: Vec<ToolResult>,
    tokens: u32,
    count: impl Fn(&str) -> u32,
) -> (Vec<ToolResult>, bool) {
    let sizes: Vec<u32> = results.iter().map(|r| count(&r.text).saturating_add(MARKERS)).collect();
    if sizes.iter().fold(0u32, |sum, size| sum.saturating_add(*size)) <= tokens {
        return (results, false);
    }
    let most = level(&sizes, tokens);
    for (result, size) in results.iter_mut().zip(sizes) {
        if size > most {
            let start = head(&result.text, most.saturating_sub(MARKERS + count(CUT)), &count);
            result.text =
                if start.is_empty() { DROPPED.to_owned() } else { format!("{start}{CUT}") };
        }
    }
    (results, true)
}

/// The size to cut to so that all together take at most `tokens`.
fn level(sizes: &[u32], tokens: u32) -> u32 {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = tokens;
    for (i, size) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - i) as u32;
        if *size > share {
            return share;
        }
        left -= size;
    }
    u32::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(sizes: &[usize]) -> Vec<ToolResult> {
        sizes
            .iter()
            .map(|n| ToolResult { tool: "read".into(), text: "line\n".repeat(*n) })
            .collect()
    }

    /// A token a line.
    fn count(text: &str) -> u32 {
        text.lines().count() as u32
    }

    #[test]
    fn what_fits_stays() {
        assert_eq!(fit(results(&[3, 4]), 7 + 2 * MARKERS, count), (results(&[3, 4]), false));
    }

    #[test]
    fn short_results_stay_whole_and_long_ones_share_the_rest() {
        let (cut, any) = fit(results(&[3, 100, 50]), 43 + 3 * MARKERS, count);
        assert!(any);
        assert_eq!(cut[0].text, "line\n".repeat(3));
        assert_eq!(cut[1], cut[2]);
        assert!(cut[1].text.ends_with("line\n(cut: the context is full)"), "{:?}", cut[1].text);
        let total: u32 = cut.iter().map(|r| count(&r.text) + MARKERS).sum();
        assert!((70..=79).contains(&total), "{total}");
    }

    #[test]
    fn without_room_every_result_says_so() {
        let (cut, _) = fit(results(&[3, 4]), 0, count);
        assert!(cut.iter().all(|r| r.text == DROPPED));
    }
}
