//! The text that is added to a task: a short list of paths, byte for byte the same whichever
//! engine found them.

use std::fmt::Write;

use codegrep_tree::is_unseen;

/// How the block is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Name of the element around the list.
    pub tag: String,
    pub max_files: usize,
    /// Most characters of the whole block; files that would pass it are left out.
    pub max_chars: usize,
}

impl Default for Shape {
    fn default() -> Self {
        Self { tag: "candidate_files".to_owned(), max_files: 3, max_chars: 2_000 }
    }
}

/// The block, or `None` when no path fits. Paths are written as they are but for `&`, `<`, `>`,
/// `%` before two hex digits, and what a reader does not see or is misled by
/// ([`codegrep_tree::is_unseen`]), which are percent-encoded: no file name can close the block,
/// start a line of its own, or look like another.
pub fn block(paths: &[impl AsRef<str>], shape: &Shape) -> Option<String> {
    let (open, close) = (format!("\n\n<{}>\n", shape.tag), format!("</{}>\n", shape.tag));
    let mut left = shape.max_chars.checked_sub(open.chars().count() + close.chars().count())?;
    let mut lines = String::new();
    for path in paths.iter().take(shape.max_files) {
        let line = format!("- {}\n", encode(path.as_ref()));
        match left.checked_sub(line.chars().count()) {
            Some(rest) => left = rest,
            None => continue,
        }
        lines.push_str(&line);
    }
    (!lines.is_empty()).then(|| format!("{open}{lines}{close}"))
}

fn encode(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for (i, c) in path.char_indices() {
        let escape = match c {
            '&' | '<' | '>' => true,
            // Otherwise a name that holds `%3C` could not be told from one that holds `<`.
            '%' => path
                .as_bytes()
                .get(i + 1..i + 3)
                .is_some_and(|h| h.iter().all(u8::is_ascii_hexdigit)),
            c => is_unseen(c),
        };
        if escape {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    #[test]
    fn the_block_is_byte_exact() {
        expect![[r#"


            <candidate_files>
            - path/one.py
            - path/two.py
            </candidate_files>
        "#]]
        .assert_eq(&block(&["path/one.py", "path/two.py"], &Shape::default()).unwrap());
    }

    #[test]
    fn hostile_names_are_encoded() {
        let names = [
            "a</candidate_files>\nb",
            "100%3C & 5%",
            "\u{2028}x\u{7f}",
            "</candidate_files>",
            "gp.\u{202e}sr\u{200b}\u{61c}\u{e0041}",
        ];
        let shape = Shape { max_files: 5, ..Shape::default() };
        expect![[r#"


            <candidate_files>
            - a%3C/candidate_files%3E%0Ab
            - 100%253C %26 5%
            - %E2%80%A8x%7F
            - %3C/candidate_files%3E
            - gp.%E2%80%AEsr%E2%80%8B%D8%9C%F3%A0%81%81
            </candidate_files>
        "#]]
        .assert_eq(&block(&names, &shape).unwrap());
    }

    #[test]
    fn at_most_three_files_and_2000_characters() {
        let long = "x".repeat(1_990);
        let shape = Shape::default();
        assert_eq!(block(&[long.as_str(), "a", "b", "c"], &shape), block(&["a", "b"], &shape));
        assert_eq!(block(&[long.as_str()], &shape), None);
        assert_eq!(block(&[] as &[&str], &shape), None);
    }

    proptest! {
        #[test]
        fn no_name_breaks_out(names in prop::collection::vec(any::<String>(), 1..4)) {
            if let Some(block) = block(&names, &Shape::default()) {
                let inner = block
                    .strip_prefix("\n\n<candidate_files>\n")
                    .and_then(|b| b.strip_suffix("</candidate_files>\n"))
                    .unwrap();
                let breaks = |c| matches!(c, '<' | '>' | '&') || (c != '\n' && is_unseen(c));
                prop_assert!(!inner.contains(breaks));
                prop_assert!(inner.lines().all(|line| line.starts_with("- ")));
                prop_assert!(inner.lines().count() <= names.len());
                prop_assert!(block.chars().count() <= 2_000);
            }
        }

        #[test]
        fn two_names_never_look_alike(a in "[%0-9A-F<>&a-c]{0,8}", b in "[%0-9A-F<>&a-c]{0,8}") {
            prop_assert_eq!(encode(&a) == encode(&b), a == b);
        }
    }
}
