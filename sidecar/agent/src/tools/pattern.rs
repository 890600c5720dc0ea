use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::hir::{Hir, HirKind};

/// What a grep looks for.
pub(super) struct Pattern {
    pub(super) matcher: RegexMatcher,
    /// How it was read, where that is not as a regular expression as written.
    pub(super) note: Option<String>,
}

/// Bounds that keep the compilation of a pattern and the search of one window ([`super::scan`])
/// within 100 ms, even where every byte of the text keeps every repetition alive.
const MAX_BYTES: usize = 1000;
const MAX_REPEATED: usize = 500;
const MAX_PROGRAM: usize = 4 << 20;
/// Cache of a pattern's lazy DFA, for each thread.
const MAX_DFA: usize = 4 << 20;

/// Compiles a regular expression. What is none is, if `forgiving`, searched as the text it is,
/// since a model that writes `def save(` means just that.
pub(super) fn compile(
    pattern: &str,
    ignore_case: bool,
    forgiving: bool,
) -> Result<Pattern, String> {
    if pattern.is_empty() {
        return Err("the pattern is empty".to_owned());
    }
    if pattern.contains(['\n', '\r']) {
        return Err("a pattern is matched line by line; give one line of it".to_owned());
    }
    if pattern.len() > MAX_BYTES {
        return Err(format!("the pattern is longer than {MAX_BYTES} bytes"));
    }
    match parse(pattern) {
        Ok(_) => Ok(Pattern { matcher: build(pattern, ignore_case)?, note: None }),
        Err(err) if forgiving => {
            let matcher = build(&regex_syntax::escape(pattern), ignore_case)?;
            let reason = explain(&err);
            let note = format!("not a regular expression ({reason}), searched as plain text");
            Ok(Pattern { matcher, note: Some(note) })
        }
        Err(err) => Err(format!("not a regular expression: {}", explain(&err))),
    }
}

/// What may have been meant by a pattern that matches nothing: plain text, as in `items[0]`; the
/// `\|` of grep's basic syntax; another case. `None` where all that was searched already.
pub(super) fn meant(pattern: &str, ignored_case: bool) -> Option<Pattern> {
    let plain = regex_syntax::escape(pattern);
    let basic = pattern.replace(r"\|", "|");
    let mut readings = vec![plain];
    readings.extend([pattern, &basic].iter().filter(|r| parse(r).is_ok()).map(|r| r.to_string()));
    readings.dedup();
    if readings.len() == 1 && ignored_case {
        return None;
    }
    let matcher = build(&format!("(?:{})", readings.join(")|(?:")), true).ok()?;
    let note = "no match as written; these match as plain text or ignoring case".to_owned();
    Some(Pattern { matcher, note: Some(note) })
}

fn parse(pattern: &str) -> Result<Hir, Box<regex_syntax::Error>> {
    regex_syntax::ParserBuilder::new().utf8(false).build().parse(pattern).map_err(Box::new)
}

fn build(expression: &str, ignore_case: bool) -> Result<RegexMatcher, String> {
    let too_large = || "the pattern is too large; use fewer or smaller repetitions".to_owned();
    if parse(expression).is_ok_and(|hir| repeated(&hir, false) > MAX_REPEATED) {
        return Err(too_large());
    }
    RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_PROGRAM)
        .dfa_size_limit(MAX_DFA)
        .build(expression)
        .map_err(|err| match err.kind() {
            grep_regex::ErrorKind::NotAllowed(_) => {
                "a pattern is matched line by line and may hold no \\n".to_owned()
            }
            _ => too_large(),
        })
}

/// `unclosed group at character 9`
fn explain(err: &regex_syntax::Error) -> String {
    match err {
        regex_syntax::Error::Parse(err) => {
            format!("{} at character {}", err.kind(), err.span().start.column)
        }
        regex_syntax::Error::Translate(err) => {
            format!("{} at character {}", err.kind(), err.span().start.column)
        }
        err => err.to_string(),
    }
}

/// How much the repetitions come to when written out: about the states that can be alive at once.
fn repeated(hir: &Hir, within: bool) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => usize::from(within) * literal.0.len(),
        HirKind::Class(_) => usize::from(within),
        HirKind::Capture(capture) => repeated(&capture.sub, within),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1) as usize;
            repeated(&repetition.sub, within || times > 1).saturating_mul(times)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(|part| repeated(part, within)).fold(0, usize::saturating_add)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use grep_matcher::Matcher;

    fn message(pattern: &str) -> String {
        compile(pattern, false, true).err().unwrap_or_else(|| panic!("{pattern} compiles"))
    }

    #[test]
    fn what_is_no_regex_is_text() {
        let pattern = compile("def save(", false, true).unwrap();
        assert_eq!(
            pattern.note.as_deref(),
            Some(
                "not a regular expression (unclosed group at character 9), searched as plain text"
            )
        );
        assert!(pattern.matcher.is_match(b"    def save(self):").unwrap());
        assert!(compile(r"foo(?=bar)", false, true).unwrap().note.unwrap().contains("look-around"));
        assert!(compile(r"a{2}\b.{0,400}b", false, true).unwrap().note.is_none());
        let names: Vec<String> = (0..80).map(|i| format!("some_name{i}")).collect();
        assert!(compile(&names.join("|"), false, true).is_ok());
    }

    #[test]
    fn a_program_is_told_that_it_is_no_regex() {
        assert_eq!(
            compile("def save(", false, false).err().unwrap(),
            "not a regular expression: unclosed group at character 9"
        );
    }

    #[test]
    fn what_may_be_meant_is_plain_text_basic_syntax_or_another_case() {
        for (pattern, text, is_meant) in [
            ("items[0]", "Items[0]", true),
            ("f(self)", "f(self)", true),
            ("def load(", "DEF LOAD(", true),
            (r"load\|save", "x save", true),
            ("queryset", "QuerySet", true),
            ("queryset", "query_set", false),
        ] {
            let meant = meant(pattern, false).unwrap().matcher.is_match(text.as_bytes()).unwrap();
            assert_eq!(meant, is_meant, "{pattern}");
        }
        assert!(super::meant("queryset", true).is_none());
    }

    #[test]
    fn what_is_too_large_is_refused() {
        for pattern in ["(a{100}){100}", "[ab]*a[ab]{501}c", "(((x?){99}){99}){99}"] {
            assert_eq!(
                message(pattern),
                "the pattern is too large; use fewer or smaller repetitions"
            );
        }
        assert!(message(&"x".repeat(1001)).contains("longer than"));
        assert!(message(r"\w{450}").contains("too large"));
        assert!(message("").contains("empty"));
        assert!(message("a\nb").contains("line by line"));
        assert!(message(r"a\nb").contains("line by line"));
        assert!(compile(&"(".repeat(999), false, true).unwrap().note.is_some());
    }

    #[test]
    fn case_is_ignored_when_asked() {
        assert!(compile("ÉTÉ", true, true).unwrap().matcher.is_match("été".as_bytes()).unwrap());
        assert!(!compile("ÉTÉ", false, true).unwrap().matcher.is_match("été".as_bytes()).unwrap());
    }
}
