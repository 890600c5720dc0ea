use std::io::{BufRead, Read};

use codegrep_plugin_sdk::MAX_MESSAGE_BYTES;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use tokio::sync::mpsc::Sender;

use super::message::Id;

/// A line of input, without its ending.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// What may be a message.
    Whole(Vec<u8>),
    /// A line over the limit; its id, `Null` where that could not be made out.
    TooLong(Id),
}

/// Of a line over the limit this much is kept, to find its id.
const HEAD: usize = 64 << 10;

/// Reads lines until the input ends or nobody wants more. An unreadable input has ended.
pub fn read_lines(input: impl Read, lines: &Sender<Line>) {
    let mut input = std::io::BufReader::with_capacity(64 << 10, input);
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => &[],
        };
        let ended = chunk.is_empty();
        let end = memchr::memchr(b'\n', chunk);
        let taken = &chunk[..end.unwrap_or(chunk.len())];
        if line.len() + taken.len() > MAX_MESSAGE_BYTES {
            too_long = true;
            line.truncate(HEAD);
            line.shrink_to(HEAD);
        } else if !too_long {
            line.extend_from_slice(taken);
        }
        let consumed = taken.len() + usize::from(end.is_some());
        input.consume(consumed);
        if end.is_none() && !ended {
            continue;
        }
        let whole = std::mem::take(&mut line);
        let line = match std::mem::take(&mut too_long) {
            true => Line::TooLong(id_of(&whole)),
            false => Line::Whole(whole),
        };
        let blank = matches!(&line, Line::Whole(text) if text.trim_ascii().is_empty());
        if (!blank && lines.blocking_send(line).is_err()) || ended {
            return;
        }
    }
}

/// The id in the beginning of a message that was cut off.
fn id_of(head: &[u8]) -> Id {
    struct Fields<'a>(&'a mut Id);

    impl<'de> Visitor<'de> for Fields<'_> {
        type Value = ();

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a message")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                if key == "id" {
                    *self.0 = Id::of(map.next_value::<&RawValue>()?).unwrap_or(Id::Null);
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(())
        }
    }

    let mut id = Id::Null;
    // Fails at the cut, after the id if that stands before it.
    let _ = serde_json::Deserializer::from_slice(head).deserialize_map(Fields(&mut id));
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8]) -> Vec<Line> {
        let (sender, mut receiver) = tokio::sync::mpsc::channel(100);
        read_lines(input, &sender);
        drop(sender);
        std::iter::from_fn(|| receiver.blocking_recv()).collect()
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.into())
    }

    #[test]
    fn lines_of_every_ending() {
        assert_eq!(lines(b""), []);
        assert_eq!(lines(b"a\n\n \r\nb\r\nc"), [whole("a"), whole("b\r"), whole("c")]);
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_and_the_next_is_read() {
        let long = format!("{{\"id\":7,\"x\":\"{}\"}}", "x".repeat(MAX_MESSAGE_BYTES));
        let late = format!("{{\"x\":\"{}\",\"id\":7}}", "x".repeat(MAX_MESSAGE_BYTES));
        let exact = "x".repeat(MAX_MESSAGE_BYTES);
        let input = format!("{long}\n{late}\n{exact}\nb\n");
        assert_eq!(
            lines(input.as_bytes()),
            [
                Line::TooLong(Id::Number(RawValue::from_string("7".into()).unwrap())),
                Line::TooLong(Id::Null),
                whole(&exact),
                whole("b")
            ]
        );
    }
}
