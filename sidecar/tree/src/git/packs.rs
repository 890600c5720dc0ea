use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::{Decompress, FlushDecompress};
use git2::Oid;

use crate::regular;

/// As long a chain of deltas as git writes (`pack.depth` is at most 4095).
const MAX_DEPTH: u16 = 4095;
/// The most bytes of an object, of a delta, and of what each delta of a chain makes.
pub(super) const PACKED_LIMIT: u64 = 256 << 20;
/// Their ids are held in memory, 20 bytes each; the largest public repositories have a fifth.
const MOST_OBJECTS: u32 = 50_000_000;
/// Signature, version and the counts by first byte (gitformat-pack, version 2).
const FANOUT_END: u64 = 8 + 4 * 256;
/// As many bytes hold an entry's header and the start of its delta.
const HEAD: usize = 1024;

/// What may be asked of libgit2 without harm.
///
/// It follows the deltas of a pack whatever they say: for ever where they form a cycle, and into
/// any amount of memory. So the way from an object to its base is looked at first.
pub(super) struct Packs(Vec<Pack>);

struct Pack {
    data: Mutex<Data>,
    index: File,
    /// Strictly ascending, so that every search finds the same.
    ids: Vec<[u8; 20]>,
}

struct Data {
    file: File,
    length: u64,
    /// Deltas between an entry, by its offset, and its base; `Err` where they lead to none.
    depths: HashMap<u64, Result<u16, String>>,
    inflate: Decompress,
    head: Box<[u8; HEAD]>,
}

/// What an entry is made on.
enum Base {
    None,
    At(u64),
    Object([u8; 20]),
}

impl Packs {
    /// Opens all packs of these object folders.
    pub(super) fn open(folders: &[PathBuf]) -> Result<Self, String> {
        let mut packs = Vec::new();
        for folder in folders {
            let Ok(entries) = folder.join("pack").read_dir() else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name();
                // It could name other places than the indexes do.
                if name == "multi-pack-index" {
                    return Err("objects/pack/multi-pack-index is not read; \
                                `git config core.multiPackIndex false` and deleting the file do \
                                without it"
                        .to_owned());
                }
                if !name.as_encoded_bytes().ends_with(b".idx") {
                    continue;
                }
                let name = name.to_str().ok_or("objects/pack holds a name that is not UTF-8")?;
                let pack = folder.join("pack").join(format!("{}pack", &name[..name.len() - 3]));
                // Without its pack an index counts nothing.
                if pack.is_file() {
                    let fail = |error| format!("objects/pack/{name}: {error}");
                    packs.push(Pack::open(&entry.path(), &pack).map_err(fail)?);
                }
            }
        }
        Ok(Self(packs))
    }

    /// Whether the object `id` is packed. An error when reading it would not end, or take more
    /// than [`PACKED_LIMIT`]. All packs that hold it are looked at: any of them may be read.
    pub(super) fn admit(&self, id: Oid) -> Result<bool, String> {
        let mut found = false;
        for pack in &self.0 {
            let Some(at) = pack.find(id.as_bytes()).map_err(|error| error.to_string())? else {
                continue;
            };
            found = true;
            pack.depth(at)?;
        }
        Ok(found)
    }
}

impl Pack {
    fn open(index: &Path, pack: &Path) -> io::Result<Self> {
        let (index, file) = (regular::open(index)?, regular::open(pack)?);
        let data = Data {
            length: file.metadata()?.len(),
            file,
            depths: HashMap::new(),
            inflate: Decompress::new(true),
            head: Box::new([0; HEAD]),
        };
        Ok(Self { data: Mutex::new(data), ids: ids(&index)?, index })
    }

    /// The offset of the object `id`.
    fn find(&self, id: &[u8]) -> io::Result<Option<u64>> {
        let Ok(at) = self.ids.binary_search_by(|it| it.as_slice().cmp(id)) else { return Ok(None) };
        let (at, count) = (at as u64, self.ids.len() as u64);
        let offsets = FANOUT_END + count * 24;
        let mut small = [0; 4];
        read_exact_at(&self.index, &mut small, offsets + at * 4)?;
        let small = u64::from(u32::from_be_bytes(small));
        if small >> 31 == 0 {
            return Ok(Some(small));
        }
        let mut large = [0; 8];
        read_exact_at(&self.index, &mut large, offsets + count * 4 + (small & 0x7fff_ffff) * 8)?;
        Ok(Some(u64::from_be_bytes(large)))
    }

    /// Deltas between the entry at `offset` and its base.
    fn depth(&self, offset: u64) -> Result<u16, String> {
        let mut data = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        let mut chain = Vec::new();
        let mut at = offset;
        let end = loop {
            if let Some(known) = data.depths.get(&at) {
                break known.clone();
            }
            if chain.len() > usize::from(MAX_DEPTH) {
                break Err(format!("its deltas form a cycle or are more than {MAX_DEPTH}"));
            }
            chain.push(at);
            let base = data.base(at).and_then(|base| match base {
                Base::None => Ok(None),
                Base::At(base) => Ok(Some(base)),
                Base::Object(id) => {
                    let found = self.find(&id).map_err(|error| error.to_string())?;
                    found.map(Some).ok_or_else(|| "the base of a delta is not in its pack".into())
                }
            });
            match base {
                Ok(Some(base)) => at = base,
                Ok(None) => {
                    chain.pop();
                    data.depths.insert(at, Ok(0));
                    break Ok(0);
                }
                Err(why) => break Err(why),
            }
        };
        let mut depth = end;
        for at in chain.into_iter().rev() {
            depth = match depth {
                Ok(depth) if depth < MAX_DEPTH => Ok(depth + 1),
                Ok(_) => Err(format!("its deltas form a cycle or are more than {MAX_DEPTH}")),
                Err(why) => Err(why),
            };
            data.depths.insert(at, depth.clone());
        }
        depth
    }
}

impl Data {
    /// Reads the header of the entry at `offset` (gitformat-pack, "pack-*.pack files").
    fn base(&mut self, offset: u64) -> Result<Base, String> {
        let cut = || "an entry of its pack is cut short".to_owned();
        let room = self.length.checked_sub(offset).ok_or_else(cut)?.min(HEAD as u64) as usize;
        let head = &mut self.head[..room];
        read_exact_at(&self.file, head, offset).map_err(|error| error.to_string())?;
        let mut bytes = head.iter().copied();
        let first = bytes.next().ok_or_else(cut)?;
        let mut size = u64::from(first & 15);
        let (mut shift, mut last) = (4, first);
        while last & 128 != 0 {
            last = bytes.next().ok_or_else(cut)?;
            size = size.checked_add(shifted(last & 127, shift)?).ok_or_else(too_large)?;
            shift += 7;
        }
        if size > PACKED_LIMIT {
            return Err(too_large());
        }
        let base = match first >> 4 & 7 {
            1..=4 => return Ok(Base::None),
            6 => {
                let mut last = bytes.next().ok_or_else(cut)?;
                let mut back = u64::from(last & 127);
                while last & 128 != 0 {
                    last = bytes.next().ok_or_else(cut)?;
                    back = (back + 1).checked_mul(128).ok_or_else(cut)? | u64::from(last & 127);
                }
                let base = offset.checked_sub(back).filter(|base| *base > 0 && back > 0);
                Base::At(base.ok_or("the base of a delta does not lie before it")?)
            }
            7 => {
                let mut id = [0; 20];
                for byte in &mut id {
                    *byte = bytes.next().ok_or_else(cut)?;
                }
                Base::Object(id)
            }
            kind => return Err(format!("an entry of its pack is of the unknown type {kind}")),
        };
        let packed = room - bytes.len();
        let mut delta = [0; 20];
        self.inflate.reset(true);
        self.inflate
            .decompress(&self.head[packed..room], &mut delta, FlushDecompress::Finish)
            .map_err(|error| error.to_string())?;
        let made = self.inflate.total_out() as usize;
        let mut delta = delta[..made].iter().copied();
        let mut number = || {
            let (mut number, mut shift) = (0u64, 0);
            loop {
                let byte = delta.next().ok_or("a delta of its pack is cut short")?;
                number = number.checked_add(shifted(byte & 127, shift)?).ok_or_else(too_large)?;
                shift += 7;
                if byte & 128 == 0 {
                    return Ok::<u64, String>(number);
                }
            }
        };
        if number()? > PACKED_LIMIT || number()? > PACKED_LIMIT {
            return Err(too_large());
        }
        Ok(base)
    }
}

fn shifted(bits: u8, shift: u32) -> Result<u64, String> {
    let bits = u64::from(bits);
    bits.checked_shl(shift).filter(|value| value >> shift == bits).ok_or_else(too_large)
}

fn too_large() -> String {
    format!("it or what it is made of has more than {} MiB", PACKED_LIMIT >> 20)
}

/// The ids of an index of version 2, which has to be as git writes it.
fn ids(index: &File) -> io::Result<Vec<[u8; 20]>> {
    let damaged = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
    let mut head = [0; FANOUT_END as usize];
    read_exact_at(index, &mut head, 0)?;
    if !head.starts_with(b"\xfftOc\0\0\0\x02") {
        return Err(damaged("not an index of version 2; `git repack -ad` writes one"));
    }
    let fanout: Vec<u32> =
        head[8..].as_chunks::<4>().0.iter().map(|n| u32::from_be_bytes(*n)).collect();
    let count = fanout[255];
    let length = index.metadata()?.len();
    // Ids, checksums and offsets, and two checksums of the whole.
    if count > MOST_OBJECTS || FANOUT_END + u64::from(count) * 28 + 40 > length {
        return Err(damaged("holds more objects than it has room for"));
    }
    let mut ids = vec![[0; 20]; count as usize];
    read_exact_at(index, ids.as_flattened_mut(), FANOUT_END)?;
    let sorted = ids.windows(2).all(|two| two[0] < two[1]);
    let counted = fanout.iter().enumerate().all(|(byte, upto)| {
        let upto = *upto as usize;
        upto <= ids.len()
            && upto.checked_sub(1).is_none_or(|last| usize::from(ids[last][0]) <= byte)
            && ids.get(upto).is_none_or(|next| usize::from(next[0]) > byte)
    });
    if sorted && counted { Ok(ids) } else { Err(damaged("its ids are not in order")) }
}

fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
    }
    #[cfg(windows)]
    {
        let mut read = 0;
        while read < bytes.len() {
            let at = offset + read as u64;
            match std::os::windows::fs::FileExt::seek_read(file, &mut bytes[read..], at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                some => read += some,
            }
        }
        Ok(())
    }
}
