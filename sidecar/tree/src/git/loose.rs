use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::bufread::ZlibDecoder;
use git2::{ObjectType, Oid};

use crate::regular;

/// The longest that `<type> <size>\0` may be.
const HEADER_LIMIT: usize = 32;

/// An object in a file of its own.
///
/// Not read through libgit2, which waits for a pipe that lies in its place, turns for ever over a
/// file that ends early, and inflates the whole where the start would do.
pub(super) struct Loose {
    pub kind: ObjectType,
    /// Bytes, as the header says.
    pub size: u64,
    body: ZlibDecoder<BufReader<File>>,
}

impl Loose {
    /// Opens the object `id` in a folder `objects`; `None` when it has no file there.
    pub(super) fn open(objects: &Path, id: Oid) -> io::Result<Option<Self>> {
        let hex = id.to_string();
        let (folder, file) = hex.split_at(2);
        let file = match regular::open(&objects.join(folder).join(file)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut body = ZlibDecoder::new(BufReader::new(file));
        let mut header = Vec::new();
        loop {
            let mut byte = [0];
            body.read_exact(&mut byte)?;
            if byte == [0] {
                break;
            }
            header.push(byte[0]);
            if header.len() == HEADER_LIMIT {
                return Err(damaged());
            }
        }
        let header = String::from_utf8(header).map_err(|_| damaged())?;
        let (kind, size) = header.split_once(' ').ok_or_else(damaged)?;
        let kind = ObjectType::from_str(kind).ok_or_else(damaged)?;
        Ok(Some(Self { kind, size: size.parse().map_err(|_| damaged())?, body }))
    }

    /// The first `limit` bytes; whole objects are as long as they say.
    pub(super) fn read(self, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let wanted = limit.min(self.size);
        // One byte more shows an object that is longer than it says.
        let room = if wanted == self.size { wanted.saturating_add(1) } else { wanted };
        self.body.take(room).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == wanted { Ok(bytes) } else { Err(damaged()) }
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not as git writes it")
}
