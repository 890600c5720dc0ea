/// As many `lines` as fit in `limit` characters together with what closes the page, maybe none,
/// and how many those are. `close` is given that number: it says what was left out and how to see it.
pub(super) fn page(
    lines: &[String],
    limit: usize,
    close: impl Fn(usize) -> String,
) -> (String, usize) {
    let mut sizes = vec![0];
    for line in lines {
        let size = sizes[sizes.len() - 1] + line.chars().count() + 1;
        // The last line ends without a line break.
        if size > limit + 1 {
            break;
        }
        sizes.push(size);
    }
    for shown in (0..sizes.len()).rev() {
        let closing = close(shown);
        let size = sizes[shown] + closing.chars().count();
        if size <= limit + usize::from(closing.is_empty()) || shown == 0 {
            let mut text = lines[..shown].join("\n");
            if shown > 0 && !closing.is_empty() {
                text.push('\n');
            }
            text.push_str(&closing);
            return (text, shown);
        }
    }
    (String::new(), 0)
}

/// The first `limit` characters of a text, fit for a prompt: control characters, which could pass
/// for something else there or in a terminal, are replaced.
pub(super) fn clean(text: &str, limit: usize) -> String {
    let odd = |c: char| c.is_control() && c != '\t' && c != '\n';
    text.chars().take(limit).map(|c| if odd(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// `12345` as `12,345`.
pub(super) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(sizes: &[usize]) -> Vec<String> {
        sizes.iter().map(|n| "é".repeat(*n)).collect()
    }

    fn cut_note(total: usize) -> impl Fn(usize) -> String {
        move |shown| if shown < total { format!("({shown} shown)") } else { String::new() }
    }

    #[test]
    fn what_fits_exactly_is_whole_and_one_character_more_is_cut() {
        let (text, shown) = page(&lines(&[10, 20]), 31, cut_note(2));
        assert_eq!((text.chars().count(), shown), (31, 2));
        let (text, shown) = page(&lines(&[10, 20]), 30, cut_note(2));
        assert_eq!((text, shown), (format!("{}\n(1 shown)", "é".repeat(10)), 1));
    }

    #[test]
    fn the_limit_holds_whatever_the_sizes() {
        for limit in 0..60 {
            for sizes in [&[][..], &[0], &[50], &[3, 3, 3, 3, 3, 3, 3, 3, 3], &[30, 1, 30]] {
                let (text, shown) = page(&lines(sizes), limit, cut_note(sizes.len()));
                let fits = text.chars().count() <= limit;
                assert!(fits || shown == 0, "{limit} {sizes:?} {text}");
                assert!(shown <= sizes.len());
            }
        }
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 1234567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }
}
