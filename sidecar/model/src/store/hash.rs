use std::io::{Read, Write};
use std::path::Path;

use codegrep_tree::{Watch, regular};
use sha2::{Digest, Sha256};

use super::{Progress, Step, StoreError};

/// Bytes between two looks at the watch: a few milliseconds of hashing.
pub(super) const BLOCK: usize = 1 << 20;

/// SHA-256 of a file, hexadecimal.
pub(super) fn sha256(
    path: &Path,
    progress: Progress<'_>,
    watch: &Watch,
) -> Result<String, StoreError> {
    pass(path, &mut std::io::sink(), Step::Hash, progress, watch)
}

/// Copies a file and gives the SHA-256 of what was copied.
pub(super) fn copy(
    from: &Path,
    to: &Path,
    progress: Progress<'_>,
    watch: &Watch,
) -> Result<String, StoreError> {
    let mut out = fs_err::File::create(to)?;
    let hash = pass(from, &mut out, Step::Copy, progress, watch)?;
    out.sync_all()?;
    Ok(hash)
}

fn pass(
    path: &Path,
    out: &mut impl Write,
    step: Step,
    progress: Progress<'_>,
    watch: &Watch,
) -> Result<String, StoreError> {
    let mut file = regular::open(path)?;
    let total = file.metadata()?.len();
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BLOCK];
    let mut done = 0;
    loop {
        watch.check()?;
        let read = match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hasher.finalize())),
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        hasher.update(&buffer[..read]);
        out.write_all(&buffer[..read])?;
        done += read as u64;
        progress(step, done, total);
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether this can be a SHA-256 in hexadecimal.
pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}
