/// Server-sent events, as model servers use them: every `data:` line is one event, as their JSON
/// never spans lines. Comments, event names and ids carry nothing here.
#[derive(Default)]
pub(super) struct Events {
    line: Vec<u8>,
}

impl Events {
    /// The events that these bytes complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut events = Vec::new();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                events.extend(self.end());
            }
        }
        events
    }

    /// The event of a last line that was not ended.
    pub(super) fn end(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        let data = String::from_utf8_lossy(line.strip_prefix(b"data:")?).trim().to_owned();
        (!data.is_empty()).then_some(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_whole_however_the_bytes_are_cut() {
        let stream = "\u{feff}data: {\"a\":\"é\"}\r\n\r\n: ping\n\nevent: x\ndata:two\n\ndata:\n\ndata: [DONE]";
        let want = ["{\"a\":\"é\"}", "two", "[DONE]"];
        for size in 1..stream.len() {
            let mut events = Events::default();
            let mut got: Vec<String> =
                stream.as_bytes().chunks(size).flat_map(|chunk| events.push(chunk)).collect();
            got.extend(events.end());
            assert_eq!(got, want, "chunks of {size}");
        }
    }
}
