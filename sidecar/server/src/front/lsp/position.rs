use tower_lsp::ls_types::{Position, PositionEncodingKind, Range};

/// How columns are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    /// What every client knows.
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// The first of the client's that is known here, in its own order.
    pub fn choose(offered: Option<&[PositionEncodingKind]>) -> Self {
        let known = |kind: &PositionEncodingKind| match kind.as_str() {
            "utf-8" => Some(Self::Utf8),
            "utf-16" => Some(Self::Utf16),
            "utf-32" => Some(Self::Utf32),
            _ => None,
        };
        offered.unwrap_or_default().iter().find_map(known).unwrap_or_default()
    }

    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
            Self::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    /// The units of a text.
    pub fn len(self, text: &str) -> u32 {
        let units = match self {
            Self::Utf8 => text.len(),
            Self::Utf16 => text.encode_utf16().count(),
            Self::Utf32 => text.chars().count(),
        };
        u32::try_from(units).unwrap_or(u32::MAX)
    }

    /// The byte at a column of a line: its end when the column lies beyond.
    fn byte(self, line: &str, column: u32) -> usize {
        let mut units = 0;
        for (at, character) in line.char_indices() {
            if units >= column {
                return at;
            }
            units += match self {
                Self::Utf8 => character.len_utf8() as u32,
                Self::Utf16 => character.len_utf16() as u32,
                Self::Utf32 => 1,
            };
        }
        line.len()
    }

    /// The text of a range; what lies beyond the end of the text or of a line is left out.
    pub fn slice(self, text: &str, range: Range) -> &str {
        let (start, end) = (self.offset(text, range.start), self.offset(text, range.end));
        text.get(start..end).unwrap_or_default()
    }

    fn offset(self, text: &str, position: Position) -> usize {
        let mut begin = 0;
        for (number, line) in (0..).zip(text.split_inclusive('\n')) {
            if number == position.line {
                return begin + self.byte(line.trim_end_matches(['\n', '\r']), position.character);
            }
            begin += line.len();
        }
        text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: (u32, u32), to: (u32, u32)) -> Range {
        Range::new(Position::new(from.0, from.1), Position::new(to.0, to.1))
    }

    #[test]
    fn columns_are_counted_as_agreed() {
        let text = "a\u{1f600}b\r\nsecond\n";
        for (encoding, column) in [(Encoding::Utf8, 5), (Encoding::Utf16, 3), (Encoding::Utf32, 2)]
        {
            assert_eq!(encoding.slice(text, range((0, column), (0, column + 1))), "b");
            assert_eq!(encoding.len("a\u{1f600}"), column);
        }
        let utf16 = Encoding::Utf16;
        assert_eq!(utf16.slice(text, range((0, 3), (1, 3))), "b\r\nsec");
        assert_eq!(utf16.slice(text, range((0, 90), (1, 0))), "\r\n");
        assert_eq!(utf16.slice(text, range((1, 0), (9, 9))), "second\n");
        assert_eq!(utf16.slice(text, range((1, 3), (0, 0))), "");
    }

    #[test]
    fn the_clients_first_choice_is_taken() {
        let offered = [PositionEncodingKind::from("utf-7".to_owned()), PositionEncodingKind::UTF8];
        assert_eq!(Encoding::choose(Some(&offered)), Encoding::Utf8);
        assert_eq!(Encoding::choose(None), Encoding::Utf16);
    }
}
