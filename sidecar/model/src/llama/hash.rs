use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use codegrep_tree::regular;
use sha2::{Digest, Sha256};

/// SHA-256 of a file in hexadecimal, set once a thread has read it through; never set when it cannot
/// be read. Remembered in `cache` by path, size and time of change.
pub(super) fn in_background(path: &Path, cache: Option<&Path>) -> Arc<OnceLock<String>> {
    let hash = Arc::new(OnceLock::new());
    let memo = cache.and_then(|cache| Some(cache.join(memo_name(path)?)));
    if let Some(known) = memo.as_ref().and_then(|memo| regular::read_text(memo, 64).ok())
        && known.len() == 64
    {
        drop(hash.set(known));
        return hash;
    }
    let (path, result) = (path.to_owned(), Arc::clone(&hash));
    let spawned = std::thread::Builder::new().name("hash".into()).spawn(move || {
        let digest = match sha256(&path) {
            Ok(digest) => digest,
            Err(error) => return tracing::warn!(path = %path.display(), %error, "cannot hash"),
        };
        if let Some(memo) = memo
            && let Err(error) = remember(&memo, &digest)
        {
            tracing::debug!(%error, "the hash is not remembered");
        }
        drop(result.set(digest));
    });
    if let Err(error) = spawned {
        tracing::warn!(%error, "no thread to hash the weights");
    }
    hash
}

fn memo_name(path: &Path) -> Option<String> {
    let meta = path.metadata().ok()?;
    let changed = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let path = path.canonicalize().ok()?;
    let key = format!("{}\n{}\n{changed}", path.display(), meta.len());
    Some(format!("{}.sha256", hex(&Sha256::digest(key))))
}

fn sha256(path: &Path) -> std::io::Result<String> {
    let mut file = regular::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hasher.finalize())),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// Written aside and renamed, so that nobody reads half of it.
fn remember(memo: &Path, digest: &str) -> std::io::Result<()> {
    if let Some(folder) = memo.parent() {
        fs_err::create_dir_all(folder)?;
    }
    let aside = memo.with_extension(format!("{}.tmp", std::process::id()));
    fs_err::write(&aside, digest)?;
    fs_err::rename(&aside, memo)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
