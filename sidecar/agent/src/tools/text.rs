use codegrep_tree::{READ_LIMIT, RepoPath, Tree, TreeError, Watch, is_binary};

/// As much of a file decides whether it is binary.
const PROBE: u64 = 8 << 10;

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
    watch: &Watch,
) -> Result<Text, TreeError> {
    watch.check()?;
    if size > LARGE && !binary {
        let blob = tree.read(path, PROBE)?;
        if is_binary(&blob.bytes) {
            return Ok(Text { bytes: blob.bytes, size: blob.size, cut: true, binary: true });
        }
    }
    let blob = tree.read(path, READ_LIMIT)?;
    // One read cannot be broken off, but nothing is made of what came too late.
    watch.check()?;
    let cut = (blob.bytes.len() as u64) < blob.size;
    let binary = is_binary(&blob.bytes);
    Ok(Text { bytes: decode(blob.bytes), size: blob.size, cut, binary })
}

/// The bytes of a file as lines of text: whoever numbers or quotes lines goes by these.
pub(crate) fn decode(mut bytes: Vec<u8>) -> Vec<u8> {
    let bytes = match &bytes[..] {
        [0xEF, 0xBB, 0xBF, ..] => bytes.split_off(3),
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] if !is_binary(&bytes) => {
            codegrep_tree::decode(&bytes).into_owned().into_bytes()
        }
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
