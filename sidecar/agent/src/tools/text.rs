use codegrep_tree::{READ_LIMIT, RepoPath, Tree, TreeError};

/// Git's own test: a NUL among the first bytes.
const PROBE: usize = 8000;

/// Above this many bytes a file is first probed, so that big binaries are not loaded.
const LARGE: u64 = 1 << 20;

/// A file as lines of text see it.
pub(super) struct Text {
    /// Without a byte order mark, UTF-16 turned into UTF-8, lines ended by `\n` alone; anything
    /// else as it is.
    pub(super) bytes: Vec<u8>,
    /// Bytes of the whole file.
    pub(super) size: u64,
    /// [`READ_LIMIT`] cut it.
    pub(super) cut: bool,
    /// Then `bytes` holds no more than a probe, unless `binary` was asked for.
    pub(super) binary: bool,
}

/// Reads a file of `size` bytes, or so the listing said. `binary`: load binary files too.
pub(super) fn load(
    tree: &dyn Tree,
    path: &RepoPath,
    size: u64,
    binary: bool,
) -> Result<Text, TreeError> {
    if size > LARGE && !binary {
        let blob = tree.read(path, PROBE as u64)?;
        if is_binary(&blob.bytes) {
            return Ok(Text { bytes: blob.bytes, size: blob.size, cut: true, binary: true });
        }
    }
    let blob = tree.read(path, READ_LIMIT)?;
    let cut = (blob.bytes.len() as u64) < blob.size;
    let binary = is_binary(&blob.bytes);
    Ok(Text { bytes: decode(blob.bytes), size: blob.size, cut, binary })
}

fn is_binary(bytes: &[u8]) -> bool {
    !(bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF"))
        && memchr::memchr(0, &bytes[..bytes.len().min(PROBE)]).is_some()
}

fn decode(mut bytes: Vec<u8>) -> Vec<u8> {
    let bytes = match &bytes[..] {
        [0xEF, 0xBB, 0xBF, ..] => bytes.split_off(3),
        [0xFF, 0xFE, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
        _ => bytes,
    };
    let mut ends = memchr::memmem::find_iter(&bytes, b"\r\n").peekable();
    if ends.peek().is_none() {
        return bytes;
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for end in ends {
        plain.extend_from_slice(&bytes[from..end]);
        from = end + 1;
    }
    plain.extend_from_slice(&bytes[from..]);
    plain
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let odd = (!rest.is_empty()).then_some(char::REPLACEMENT_CHARACTER);
    let decoded = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)));
    let text: String =
        decoded.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).chain(odd).collect();
    text.into_bytes()
}

/// About `most` bytes of a line around the byte `focus`, whole characters; and whether something
/// was left out before and after.
pub(super) fn excerpt(line: &[u8], focus: usize, most: usize) -> (String, bool, bool) {
    let middle = |at: usize| line.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let mut from = 0;
    if line.len() > most {
        from = focus.saturating_sub(most / 4).min(line.len() - most);
    }
    let mut to = (from + most).min(line.len());
    // A character has at most three bytes after its first; more is no UTF-8.
    for _ in 0..3 {
        from += usize::from(from > 0 && middle(from));
        to -= usize::from(middle(to));
    }
    let to = to.max(from);
    (String::from_utf8_lossy(&line[from..to]).into_owned(), from > 0, to < line.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_order_marks_decide() {
        let utf16 = |unit: fn(u16) -> [u8; 2], text: &str| -> Vec<u8> {
            "\u{FEFF}".encode_utf16().chain(text.encode_utf16()).flat_map(unit).collect()
        };
        for bytes in [
            b"\xEF\xBB\xBFd\xC3\xA9j\xC3\xA0 \xF0\x9F\xA6\x80\n".to_vec(),
            utf16(u16::to_le_bytes, "déjà 🦀\n"),
            utf16(u16::to_be_bytes, "déjà 🦀\n"),
        ] {
            assert!(!is_binary(&bytes));
            assert_eq!(String::from_utf8(decode(bytes)).unwrap(), "déjà 🦀\n");
        }
        assert_eq!(decode(b"\r\na\r\n\r\nb\rc\r\n\r".to_vec()), b"\na\n\nb\rc\n\r");
        assert_eq!(decode(b"\xFF\xFEa\0\0\xD8b".to_vec()), "a\u{FFFD}\u{FFFD}".as_bytes());
        assert!(is_binary(b"a\0\0\0"));
    }

    #[test]
    fn an_excerpt_holds_the_focus_and_whole_characters() {
        assert_eq!(excerpt(b"short", 3, 10), ("short".into(), false, false));
        let line = "é".repeat(100);
        for focus in 0..200 {
            let (text, before, after) = excerpt(line.as_bytes(), focus, 21);
            assert!(text.chars().all(|c| c == 'é') && text.len() >= 18, "{focus} {text}");
            assert_eq!((before, after), (focus >= 6, focus < 184), "{focus}");
        }
        assert_eq!(excerpt(&[0x80; 9], 4, 4), (String::new(), true, true));
    }
}
