use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::hir::{Hir, HirKind};

/// What a grep looks for.
pub(super) struct Pattern {
    pub(super) matcher: RegexMatcher,
    /// Why it was taken as plain text although a regular expression was asked for.
    pub(super) not_regex: Option<String>,
}

/// Bounds that keep the compilation of a pattern and the search of one window ([`super::scan`])
/// within 100 ms, even where every byte of the text keeps every repetition alive.
const MAX_BYTES: usize = 1000;
const MAX_REPEATED: usize = 500;
const MAX_PROGRAM: usize = 4 << 20;
/// Cache of a pattern's lazy DFA, for each thread.
const MAX_DFA: usize = 4 << 20;

/// Compiles a regular expression; what is none is searched as the text it is, since a model that
/// writes `def save(` means just that.
pub(super) fn compile(pattern: &str, ignore_case: bool) -> Result<Pattern, String> {
    if pattern.is_empty() {
        return Err("the pattern is empty".to_owned());
    }
    if pattern.contains(['\n', '\r']) {
        return Err("a pattern is matched line by line; give one line of it".to_owned());
    }
    if pattern.len() > MAX_BYTES {
        return Err(format!("the pattern is longer than {MAX_BYTES} bytes"));
    }
    let too_large = || "the pattern is too large; use fewer or smaller repetitions".to_owned();
    let parsed = regex_syntax::ParserBuilder::new().utf8(false).build().parse(pattern);
    let (expression, not_regex) = match parsed {
        Ok(hir) if repeated(&hir, false) > MAX_REPEATED => return Err(too_large()),
        Ok(_) => (pattern.to_owned(), None),
        Err(err) => (regex_syntax::escape(pattern), Some(explain(&err))),
    };
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_PROGRAM)
        .dfa_size_limit(MAX_DFA)
        .build(&expression)
        .map_err(|err| match err.kind() {
            grep_regex::ErrorKind::NotAllowed(_) => {
                "a pattern is matched line by line and may hold no \\n".to_owned()
            }
            _ => too_large(),
        })?;
    Ok(Pattern { matcher, not_regex })
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
        compile(pattern, false).err().unwrap_or_else(|| panic!("{pattern} compiles"))
    }

    #[test]
    fn what_is_no_regex_is_text() {
        let pattern = compile("def save(", false).unwrap();
        assert_eq!(pattern.not_regex.as_deref(), Some("unclosed group at character 9"));
        assert!(pattern.matcher.is_match(b"    def save(self):").unwrap());
        assert!(compile(r"foo(?=bar)", false).unwrap().not_regex.unwrap().contains("look-around"));
        assert!(compile(r"a{2}\b.{0,400}b", false).unwrap().not_regex.is_none());
        let names: Vec<String> = (0..80).map(|i| format!("some_name{i}")).collect();
        assert!(compile(&names.join("|"), false).is_ok());
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
        assert!(compile(&"(".repeat(999), false).unwrap().not_regex.is_some());
    }

    #[test]
    fn case_is_ignored_when_asked() {
        assert!(compile("ÉTÉ", true).unwrap().matcher.is_match("été".as_bytes()).unwrap());
        assert!(!compile("ÉTÉ", false).unwrap().matcher.is_match("été".as_bytes()).unwrap());
    }
}
