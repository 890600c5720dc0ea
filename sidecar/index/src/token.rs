use std::hash::Hasher;
use std::sync::LazyLock;

use rustc_hash::{FxHashSet, FxHasher};

/// A normalised term: the hash of its lower-case bytes. Equal texts give equal terms within one
/// process; never store one.
pub type Term = u64;

/// Longer runs are blobs (base64, digests), not words.
const LONGEST: usize = 64;
/// Numbers outside this many digits are data, not something a task would name.
const DIGITS: std::ops::RangeInclusive<usize> = 3..=6;

/// Words too common to tell files apart, in prose and in code.
const STOP: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from",
    "has", "have", "how", "if", "in", "is", "it", "its", "not", "of", "on", "or", "so", "than",
    "that", "the", "then", "there", "this", "to", "was", "we", "when", "which", "will", "with",
    "would", "you", "your", "self", "i", "my", "me", "am", "been", "should", "could", "what",
];

static STOP_TERMS: LazyLock<FxHashSet<Term>> = LazyLock::new(|| {
    let mut terms = FxHashSet::default();
    for word in STOP {
        let mut buffer = [0; LONGEST];
        buffer[..word.len()].copy_from_slice(word.as_bytes());
        terms.insert(stemmed(&mut buffer[..word.len()]));
    }
    terms
});

/// Whether the term is one of the common words that are never indexed.
pub fn is_stop(term: Term) -> bool {
    STOP_TERMS.contains(&term)
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Class {
    Other,
    Lower,
    Upper,
    Digit,
    Underscore,
    /// A byte of a non-ASCII character.
    High,
}

static CLASS: [Class; 256] = {
    let mut table = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            b'_' => Class::Underscore,
            0x80.. => Class::High,
            _ => Class::Other,
        };
        byte += 1;
    }
    table
};

/// Whether the byte belongs to an identifier (letters, digits, `_`, any non-ASCII byte).
pub fn is_word_byte(byte: u8) -> bool {
    CLASS[byte as usize] != Class::Other
}

/// Calls `emit` for every term of `text`, in order: each word in lower case and lightly stemmed;
/// an identifier of several parts (`snake_case`, `camelCase`, `HTTPServer2`) as a whole first and
/// then part by part; Chinese, Japanese and Korean text as pairs of characters.
pub fn each_term(text: &[u8], mut emit: impl FnMut(Term)) {
    each_word(text, |word| word_terms(word, &mut emit));
}

/// Calls `emit` for every identifier-like run of bytes, as written.
pub fn each_word<'a>(text: &'a [u8], mut emit: impl FnMut(&'a [u8])) {
    let mut at = 0;
    while at < text.len() {
        if CLASS[text[at] as usize] == Class::Other {
            at += 1;
            continue;
        }
        let start = at;
        while at < text.len() && CLASS[text[at] as usize] != Class::Other {
            at += 1;
        }
        emit(&text[start..at]);
    }
}

/// The term of a whole identifier, without its parts: what `getUserName` is looked up by.
pub fn whole_term(identifier: &[u8]) -> Term {
    let mut first = 0;
    let mut seen = false;
    word_terms(identifier, &mut |term| {
        if !seen {
            first = term;
            seen = true;
        }
    });
    first
}

/// The term of an identifier that would be made of these words: `bulk`, `create` for
/// `bulk_create` and `BulkCreate`; `None` when it would be too long for one.
pub fn compound_term(words: &[&[u8]]) -> Option<Term> {
    let length: usize = words.iter().map(|word| word.len()).sum();
    (length <= LONGEST).then(|| joined(words))
}

/// The hash of a name exactly as written, for symbols.
pub fn exact_name(name: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(name);
    hasher.write_u8(0xff);
    hasher.finish()
}

fn hash(bytes: &[u8]) -> Term {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// Lower case and without underscores, so that all ways to join words meet.
fn joined(words: &[&[u8]]) -> Term {
    let mut buffer = [0; LONGEST];
    let letters = words.iter().copied().flatten().filter(|byte| **byte != b'_');
    let mut length = 0;
    for (place, byte) in buffer.iter_mut().zip(letters) {
        *place = byte.to_ascii_lowercase();
        length += 1;
    }
    hash(&buffer[..length])
}

fn word_terms(word: &[u8], emit: &mut impl FnMut(Term)) {
    let word = trim_underscores(word);
    if word.len() < 2 || word.len() > LONGEST {
        return;
    }
    let mut lower = [0u8; LONGEST];
    let lower = &mut lower[..word.len()];
    // Bit i: a part starts at byte i.
    let mut starts: u64 = 1;
    let mut classes = 0u8;
    let mut previous = Class::Other;
    for (i, &byte) in word.iter().enumerate() {
        let class = CLASS[byte as usize];
        classes |= 1 << class as u8;
        lower[i] = byte.to_ascii_lowercase();
        let next_is_lower =
            word.get(i + 1).is_some_and(|next| CLASS[*next as usize] == Class::Lower);
        let boundary = match (previous, class) {
            (Class::Lower | Class::Digit, Class::Upper) => true,
            (Class::Upper, Class::Upper) => next_is_lower,
            (Class::Underscore, _) => true,
            _ => false,
        };
        if boundary {
            starts |= 1 << i;
        }
        previous = class;
    }
    if classes & (1 << Class::High as u8) != 0 {
        return unicode_terms(word, emit);
    }
    if classes == 1 << Class::Digit as u8 {
        if DIGITS.contains(&word.len()) {
            emit(hash(word));
        }
        return;
    }
    if starts == 1 {
        return emit(stemmed(lower));
    }
    emit(joined(&[lower]));
    let mut start = 0;
    for end in 1..=word.len() {
        if end < word.len() && starts >> end & 1 == 0 {
            continue;
        }
        let length = lower[start..end].iter().take_while(|byte| **byte != b'_').count();
        let part = &mut lower[start..start + length];
        if part.len() >= 2 && !part.iter().all(u8::is_ascii_digit) {
            emit(stemmed(part));
        }
        start = end;
    }
}

fn trim_underscores(mut word: &[u8]) -> &[u8] {
    while let [b'_', rest @ ..] | [rest @ .., b'_'] = word {
        word = rest;
    }
    word
}

/// Plural `s`, `ing`, `ed` and a final `e` go, so that a report's `parses` meets the code's
/// `parse` and `parsing`. Lighter than Porter's: code has few derived forms.
fn stemmed(word: &mut [u8]) -> Term {
    let mut end = word.len();
    if end < 4 || !word.iter().all(u8::is_ascii_lowercase) {
        return hash(word);
    }
    if word.ends_with(b"ies") && end > 4 {
        word[end - 3] = b'y';
        end -= 2;
    } else if word.ends_with(b"s")
        && !(word.ends_with(b"ss") || word.ends_with(b"us") || word.ends_with(b"is"))
    {
        end -= 1;
    }
    let has_vowel = |part: &[u8]| part.iter().any(|b| b"aeiouy".contains(b));
    for suffix in [&b"ing"[..], b"ed"] {
        let stem = end.saturating_sub(suffix.len());
        if stem >= 3 && word[..end].ends_with(suffix) && has_vowel(&word[..stem]) {
            end = stem;
            let double = word[end - 1] == word[end - 2] && !b"lsz".contains(&word[end - 1]);
            end -= usize::from(double && end > 3);
            break;
        }
    }
    if end > 3 && word[end - 1] == b'e' {
        end -= 1;
    }
    hash(&word[..end])
}

fn unicode_terms(word: &[u8], emit: &mut impl FnMut(Term)) {
    let text = String::from_utf8_lossy(word).to_lowercase();
    let mut run = String::new();
    let mut pair: Option<char> = None;
    for c in text.chars() {
        if is_cjk(c) {
            flush(&mut run, emit);
            if let Some(before) = pair {
                let mut bytes = [0; 8];
                let first = before.encode_utf8(&mut bytes).len();
                let length = first + c.encode_utf8(&mut bytes[first..]).len();
                emit(hash(&bytes[..length]));
            }
            pair = Some(c);
        } else {
            pair = None;
            if c.is_alphanumeric() {
                run.push(c);
            } else {
                flush(&mut run, emit);
            }
        }
    }
    flush(&mut run, emit);
}

fn flush(run: &mut String, emit: &mut impl FnMut(Term)) {
    if run.chars().nth(1).is_some() && !run.bytes().all(|b| b.is_ascii_digit()) {
        let mut bytes = std::mem::take(run).into_bytes();
        emit(stemmed(&mut bytes));
    }
    run.clear();
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn terms(text: &str) -> Vec<Term> {
        let mut all = Vec::new();
        each_term(text.as_bytes(), |term| all.push(term));
        all
    }

    /// The same terms from words that need no splitting.
    fn same(text: &str, words: &[&str]) {
        let want: Vec<Term> = words.iter().map(|w| hash(w.as_bytes())).collect();
        assert_eq!(terms(text), want, "{text}");
    }

    #[test]
    fn identifiers_are_kept_whole_and_in_parts() {
        same("getUserName", &["getusername", "get", "user", "nam"]);
        same("HTTPServer2", &["httpserver2", "http", "server2"]);
        same("__init_subclass__", &["initsubclass", "init", "subclass"]);
        same("a.b.Foo_bar", &["foobar", "foo", "bar"]);
        same("utf8", &["utf8"]);
    }

    #[test]
    fn words_side_by_side_meet_the_identifier_made_of_them() {
        let compound = compound_term(&[b"Bulk", b"create"]);
        assert_eq!(compound, Some(whole_term(b"bulk_create")));
        assert_eq!(compound, Some(whole_term(b"BulkCreate")));
        assert_eq!(compound_term(&[&[b'a'; 40], &[b'b'; 40]]), None);
    }

    #[test]
    fn inflections_meet() {
        for (a, b) in [
            ("parses", "parsing"),
            ("parse", "parsed"),
            ("queries", "query"),
            ("classes", "class"),
            ("mapping", "maps"),
            ("cache", "caches"),
        ] {
            assert_eq!(terms(a), terms(b), "{a} {b}");
        }
        for (a, b) in [("string", "str"), ("status", "statu"), ("process", "proces")] {
            assert_ne!(terms(a), terms(b), "{a} {b}");
        }
    }

    #[test]
    fn numbers_of_three_to_six_digits_are_terms() {
        same("7 42 404 65536 1234567", &["404", "65536"]);
    }

    #[test]
    fn blobs_are_dropped_and_other_scripts_are_not() {
        assert_eq!(terms(&"x".repeat(65)), Vec::<Term>::new());
        same("Größe", &["größe"]);
        same("数据库", &["数据", "据库"]);
        same("読むtoken", &["読む", "token"]);
    }

    proptest! {
        #[test]
        fn any_bytes_give_the_same_terms_twice(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let run = || { let mut all = Vec::new(); each_term(&bytes, |t| all.push(t)); all };
            prop_assert_eq!(run(), run());
        }
    }
}
