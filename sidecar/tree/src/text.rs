use std::borrow::Cow;

/// As much of a file decides whether it is binary; git looks as far.
const PROBE: usize = 8 << 10;

/// Whether the bytes are no text: a NUL among the first 8 KiB, as git and grep decide, unless a
/// byte order mark says that the text is UTF-16.
pub fn is_binary(bytes: &[u8]) -> bool {
    utf16(bytes).is_none() && bytes[..bytes.len().min(PROBE)].contains(&0)
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
