/// Longest run of characters without a change between white space and other.
const RUN: usize = 1000;

/// Cuts a text where a run is too long for llama.cpp, which splits texts into words with a matcher
/// that recurses once a character: a few thousand letters in a row overflow the stack of a thread.
/// Ordinary text comes back whole, and is tokenized exactly.
pub(super) fn long_runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut run = 0;
        let mut space = false;
        let end = rest.char_indices().find_map(|(at, char)| {
            if char.is_whitespace() != space {
                (run, space) = (0, !space);
            }
            run += 1;
            (run > RUN).then_some(at)
        });
        let (stretch, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(stretch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_runs_are_cut() {
        let ordinary = "fn main() {\n    println!(\"é\");\n}\n".repeat(1000);
        assert_eq!(long_runs(&ordinary).collect::<Vec<_>>(), [ordinary.as_str()]);
        assert_eq!(long_runs("").count(), 0);
        for char in ["a", "é", " ", "\n"] {
            let run = char.repeat(2500);
            let text = format!("x y{run}z w");
            let stretches: Vec<&str> = long_runs(&text).collect();
            assert_eq!(stretches.concat(), text);
            assert_eq!(stretches.len(), 3, "{char:?}");
            assert!(stretches.iter().all(|stretch| stretch.chars().count() <= RUN + 4));
        }
    }
}
