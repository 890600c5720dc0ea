use std::sync::LazyLock;

use codegrep_index::{Term, compound_term, each_term, each_word, is_stop};
use regex::Regex;
use rustc_hash::FxHashMap;

use crate::mention::{Mention, mentions};
use crate::phrases::phrases;
use crate::trace::{Frame, frames};

/// Bytes of a text that are looked at: its head, where a report says what it wants, and its
/// tail, where traces end.
const HEAD: usize = 192 << 10;
const TAIL: usize = 64 << 10;
/// The most identifiers and dotted names that are looked up.
const MOST_NAMES: usize = 400;

/// The parts of a text that are weighed apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything.
    All,
    Title,
    /// In code style, backticks or a code block.
    Code,
}

/// Number of [`Part`]s.
pub(crate) const PARTS: usize = 3;

/// How often a term occurs in each [`Part`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Word {
    pub term: Term,
    pub counts: [f32; PARTS],
}

/// An identifier as the text writes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Name {
    pub text: String,
    /// How plainly it is meant as code.
    pub weight: f32,
}

/// A task text, taken apart.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Query {
    /// Distinct terms in order of appearance.
    pub words: Vec<Word>,
    pub names: Vec<Name>,
    /// `a.b.C.method`, split; at least two parts.
    pub dotted: Vec<Vec<String>>,
    pub mentions: Vec<Mention>,
    /// Innermost first.
    pub frames: Vec<Frame>,
    /// Runs of [`phrases::WORDS`](crate::phrases::WORDS) words that a program may hold verbatim.
    pub phrases: Vec<String>,
    /// Words of the title, as written.
    pub title: Vec<String>,
    /// The text asks for work on tests.
    pub about_tests: bool,
    /// Bytes that were left out of a huge text.
    pub left_out: usize,
}

static URL: LazyLock<Regex> = LazyLock::new(|| regex(r"(?:https?|ftp)://[^\s)>\]]+"));
static TICKS: LazyLock<Regex> = LazyLock::new(|| regex(r"``?([^`\n]{1,200})``?"));
static DOTTED: LazyLock<Regex> =
    LazyLock::new(|| regex(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)+"));
/// What a form leaves in its answers for the reporter.
static COMMENT: LazyLock<Regex> = LazyLock::new(|| regex(r"(?s)<!--.*?-->"));
/// A form's own lines: headings, boxes to tick.
static FORM: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)^(?:[-*] \[[ x]\].*|</?(?:details|summary)>.*|[#*_ ]*(?:describe the bug|(?:steps )?to reproduce|reproduc(?:tion|ible)[a-z ]*|expected (?:behaviou?r|results?|output)|actual (?:behaviou?r|results?|output)|current behaviou?r|environment|system info(?:rmation)?|versions?|additional (?:context|info(?:rmation)?)|screenshots?|description|context|possible solution|what happened\??|minimal example|code sample|bug report|issue summary|your environment)[:*_ ]*)$",
    )
});
/// What trackers put before a title: `[BUG]`, `Feature request:`.
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)^(?:\s*(?:\[[^\]]{0,30}\]|(?:bug|feature(?: request)?|enhancement|question|issue|proposal)(?: report)?\s*[:\-]))+\s*",
    )
});
static TESTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)\b(?:flaky|failing tests?|test suite|unit ?tests?|add tests?|tests? fails?)\b")
});

/// Patterns here are literals that the tests below compile.
pub(crate) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("{pattern}: {error}"))
}

impl Query {
    pub fn new(text: &str) -> Self {
        let (text, left_out) = bounded(text);
        let text = COMMENT.replace_all(&text, " ");
        let title = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
        let title = TAG.replace(title, "");
        let title = &*title;
        let no_urls = URL.replace_all(&text, " ");

        let mut words = Words::default();
        words.add(title, Part::Title);
        let mut names = Names::default();
        let mut in_fence = false;
        for line in no_urls.lines() {
            let trimmed = line.trim();
            if FORM.is_match(trimmed) {
                continue;
            }
            words.add(line, Part::All);
            if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
                in_fence = !in_fence;
                continue;
            }
            if in_fence || line.starts_with("    ") || trimmed.starts_with(">>> ") {
                words.add(line, Part::Code);
                each_word(line.as_bytes(), |word| names.add(word, 0.5));
                continue;
            }
            for quoted in TICKS.captures_iter(line) {
                words.add(&quoted[1], Part::Code);
                each_word(quoted[1].as_bytes(), |word| names.add(word, 1.0));
            }
            prose_names(line, |word| {
                words.add(word, Part::Code);
                names.add(word.as_bytes(), 1.0);
            });
        }
        each_word(title.as_bytes(), |word| names.add(word, 0.5));

        let mut title_words = Vec::new();
        each_word(title.as_bytes(), |word| {
            title_words.extend(std::str::from_utf8(word).map(str::to_owned));
        });
        let mut dotted: Vec<Vec<String>> = Vec::new();
        for found in DOTTED.find_iter(&no_urls).take(MOST_NAMES) {
            let parts: Vec<String> = found
                .as_str()
                .split(['.', ':', '#'])
                .filter(|p| !p.is_empty())
                .map(str::to_owned)
                .collect();
            if parts.len() >= 2 && !dotted.contains(&parts) {
                dotted.push(parts);
            }
        }
        Self {
            words: words.list,
            names: names.list,
            dotted,
            mentions: mentions(&text),
            frames: frames(&text),
            phrases: phrases(&text),
            title: title_words,
            about_tests: TESTS.is_match(title),
            left_out,
        }
    }
}

/// The head and tail of a huge text.
fn bounded(text: &str) -> (std::borrow::Cow<'_, str>, usize) {
    if text.len() <= HEAD + TAIL {
        return (text.into(), 0);
    }
    let boundary = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (head, tail) = (boundary(HEAD), boundary(text.len() - TAIL));
    (format!("{}\n{}", &text[..head], &text[tail..]).into(), tail - head)
}

/// Identifiers in prose that only code would write so: `snake_case`, `camelCase`, `call(`.
fn prose_names(line: &str, mut emit: impl FnMut(&str)) {
    each_word(line.as_bytes(), |word| {
        let Ok(word) = std::str::from_utf8(word) else { return };
        let end = word.as_ptr() as usize - line.as_ptr() as usize + word.len();
        let called = line[end..].starts_with('(');
        let inner_capital = word
            .as_bytes()
            .windows(2)
            .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
        if word.trim_matches('_').contains('_') || inner_capital || called {
            emit(word);
        }
    });
}

#[derive(Default)]
struct Words {
    list: Vec<Word>,
    at: FxHashMap<Term, usize>,
}

impl Words {
    /// Counts the terms of `text`, and pairs of neighbouring words as the identifiers they may
    /// be in code.
    fn add(&mut self, text: &str, part: Part) {
        each_term(text.as_bytes(), |term| self.count(term, part));
        if matches!(part, Part::Title | Part::All) {
            let mut before: Option<&[u8]> = None;
            each_word(text.as_bytes(), |word| {
                let pair = before.and_then(|before| compound_term(&[before, word]));
                if let Some(term) = pair {
                    self.count(term, part);
                }
                before = Some(word);
            });
        }
    }

    fn count(&mut self, term: Term, part: Part) {
        if is_stop(term) {
            return;
        }
        let at = *self.at.entry(term).or_insert_with(|| {
            self.list.push(Word { term, counts: [0.0; PARTS] });
            self.list.len() - 1
        });
        self.list[at].counts[part as usize] += 1.0;
    }
}

#[derive(Default)]
struct Names {
    list: Vec<Name>,
    at: FxHashMap<String, usize>,
}

impl Names {
    /// Keeps the highest weight that a name is written with.
    fn add(&mut self, word: &[u8], weight: f32) {
        let Ok(text) = std::str::from_utf8(word) else { return };
        if text.len() < 3 || text.len() > 80 || text.bytes().all(|b| b.is_ascii_digit()) {
            return;
        }
        if let Some(&at) = self.at.get(text) {
            self.list[at].weight = self.list[at].weight.max(weight);
        } else if self.list.len() < MOST_NAMES {
            self.at.insert(text.to_owned(), self.list.len());
            self.list.push(Name { text: text.to_owned(), weight });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(String, f32)> {
        Query::new(text).names.into_iter().map(|n| (n.text, n.weight)).collect()
    }

    #[test]
    fn identifiers_are_told_from_prose() {
        let text = "Title word\n\nPlease see `make_it` and fooBar or call(x), not others.\n```py\ninside = 1\n```\n";
        let want = [
            ("make_it", 1.0),
            ("fooBar", 1.0),
            ("call", 1.0),
            ("inside", 0.5),
            ("Title", 0.5),
            ("word", 0.5),
        ];
        assert_eq!(names(text), want.map(|(name, weight)| (name.to_owned(), weight)));
    }

    #[test]
    fn dotted_names_are_split_and_links_left_out() {
        let query = Query::new("a.b.C fails, Foo::bar too, see https://x.org/y.z");
        assert_eq!(query.dotted, [vec!["a", "b", "C"], vec!["Foo", "bar"]]);
    }

    #[test]
    fn a_huge_text_is_bounded() {
        let text = "é".repeat(1 << 20);
        let query = Query::new(&text);
        assert!(query.left_out > text.len() / 2);
    }

    #[test]
    fn an_empty_text_asks_nothing() {
        assert_eq!(Query::new(" \n\t"), Query::default());
    }
}
