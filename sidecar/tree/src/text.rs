use std::borrow::Cow;

/// As much of a file decides whether it is binary; git looks as far.
const PROBE: usize = 8 << 10;

/// Whether the bytes are no text: a NUL among the first 8 KiB, as git and grep decide, unless a
/// byte order mark says that the text is UTF-16.
pub fn is_binary(bytes: &[u8]) -> bool {
    utf16(bytes).is_none() && bytes[..bytes.len().min(PROBE)].contains(&0)
}

/// Whether a byte order mark says that the text is UTF-16.
pub fn is_utf16(bytes: &[u8]) -> bool {
    utf16(bytes).is_some()
}

/// The text of a file: UTF-8 or, with a byte order mark, UTF-16. The mark is dropped, what is
/// invalid becomes U+FFFD. Lines and columns are those an editor shows.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let Some((rest, unit)) = utf16(bytes) else {
        return String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    };
    let (pairs, odd) = rest.as_chunks::<2>();
    let units = pairs.iter().map(|&pair| unit(pair));
    let mut text: String =
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    if !odd.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    Cow::Owned(text)
}

/// Whether a character changes how others are shown, or is not shown itself: controls, line and
/// paragraph separators, and what Unicode has readers ignore (`Default_Ignorable_Code_Point`: marks
/// of direction, joiners, tags, fillers). A text that keeps them can be read as another one. The
/// sixteen variation selectors that emoji are written with count as shown.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// How two bytes make a UTF-16 unit.
type Unit = fn([u8; 2]) -> u16;

/// What follows a UTF-16 byte order mark, and how to read it.
fn utf16(bytes: &[u8]) -> Option<(&[u8], Unit)> {
    // The little-endian mark followed by a NUL unit is UTF-32's.
    if bytes.starts_with(b"\xff\xfe\0\0") {
        return None;
    }
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        return Some((rest, u16::from_le_bytes));
    }
    bytes.strip_prefix(b"\xfe\xff").map(|rest| (rest, u16::from_be_bytes as Unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees() {
        let unseen = "\0\u{1b}\u{7f}\u{85}\u{61c}\u{200b}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\
                      \u{202e}\u{2066}\u{2069}\u{feff}\u{e0000}\u{e0041}\u{e007f}";
        assert_eq!(unseen.chars().find(|&c| !is_unseen(c)), None);
        // The last is U+2764 U+FE0F.
        assert_eq!("aß \u{301}日本語עברית…—❤️".chars().find(|&c| is_unseen(c)), None);
    }

    #[test]
    fn marks_decide_and_are_dropped() {
        for (bytes, text, binary) in [
            (&b"plain"[..], "plain", false),
            (b"\xef\xbb\xbfmarked", "marked", false),
            (b"caf\xe9", "caf\u{fffd}", false),
            (b"\xff\xfeh\0i\0", "hi", false),
            (b"\xfe\xff\0h\0i", "hi", false),
            (b"\xff\xfeh\0i", "h\u{fffd}", false),
            (b"\xff\xfe\x3d\xd8\x00\xde", "\u{1f600}", false),
            (b"\xff\xfe\x3d\xd8h\0", "\u{fffd}h", false),
            (b"a\0b", "a\0b", true),
            (b"", "", false),
        ] {
            assert_eq!((&*decode(bytes), is_binary(bytes)), (text, binary), "{bytes:?}");
        }
        assert!(is_binary(b"\xff\xfe\0\0h\0\0\0"));
        let late = [vec![b'a'; 8 << 10], vec![0]].concat();
        assert!(!is_binary(&late));
    }
}
