use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use codegrep_tree::Watch;
use reqwest::header::CONTENT_RANGE;
use reqwest::{Client, Response, StatusCode};
use sha2::{Digest, Sha256};

use super::hash::{BLOCK, hex};
use super::hub::{Hub, HubFault, HubFile, PATIENCE, Promise};
use super::{Progress, Step, StoreError};
use crate::http::{self, Trouble};

/// Attempts in a row that bring nothing.
const ATTEMPTS: u32 = 5;

/// Fetches what `promise` describes into the file `part`, going on where an earlier run stopped.
/// When it returns, the bytes are there and have the promised SHA-256. A file that has another one
/// is deleted; one that is only short stays, for the next run.
pub(super) async fn download(
    hub: &Hub,
    client: &Client,
    wanted: &HubFile,
    promise: &Promise,
    part: &Path,
    progress: Progress<'_>,
    watch: &Watch,
) -> Result<(), StoreError> {
    let mut grown = Part::open(part, promise.bytes, progress, watch)?;
    let mut barren = 0;
    while grown.bytes < promise.bytes {
        let before = grown.bytes;
        let error = match fetch(hub, client, wanted, promise, &mut grown, progress).await {
            Ok(()) => continue,
            Err(Broke::Off(error)) => error,
            Err(Broke::Final(error)) => return Err(error),
        };
        barren = if grown.bytes > before { 1 } else { barren + 1 };
        if barren >= ATTEMPTS {
            return Err(stopped(&error, grown.bytes, promise.bytes));
        }
        tokio::time::sleep(Duration::from_millis(125 << barren)).await;
    }
    grown.file.sync_all()?;
    let found = hex(&grown.hasher.finalize());
    if grown.bytes == promise.bytes && found == promise.sha256 {
        return Ok(());
    }
    fs_err::remove_file(part)?;
    Err(StoreError::hub(
        format!(
            "what {} sent is not the file it promised: {} bytes with SHA-256 {found} instead of \
             {} bytes with {}",
            hub.endpoint(),
            grown.bytes,
            promise.bytes,
            promise.sha256
        ),
        "it was deleted; pull again, and if that does not help, mistrust the hub or the way to it",
    ))
}

/// A file in the making, and the hash of what it holds.
struct Part {
    file: fs_err::File,
    bytes: u64,
    hasher: Sha256,
}

impl Part {
    fn open(
        path: &Path,
        limit: u64,
        progress: Progress<'_>,
        watch: &Watch,
    ) -> Result<Self, StoreError> {
        let file = fs_err::File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let mut part = Self { file, bytes: 0, hasher: Sha256::new() };
        if part.file.metadata()?.len() > limit {
            part.restart()?;
        }
        let mut buffer = vec![0; BLOCK];
        loop {
            watch.check()?;
            match part.file.read(&mut buffer)? {
                0 => return Ok(part),
                read => part.hasher.update(&buffer[..read]),
            }
            part.bytes = part.file.stream_position()?;
            progress(Step::Download, part.bytes, limit);
        }
    }

    fn restart(&mut self) -> Result<(), StoreError> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.bytes = 0;
        self.hasher = Sha256::new();
        Ok(())
    }
}

/// Why a transfer ended early.
enum Broke {
    /// It may go on.
    Off(StoreError),
    Final(StoreError),
}

impl<E: Into<StoreError>> From<E> for Broke {
    fn from(error: E) -> Self {
        Self::Final(error.into())
    }
}

/// One transfer: from where the part ends to the end of the file, if all goes well.
async fn fetch(
    hub: &Hub,
    client: &Client,
    wanted: &HubFile,
    promise: &Promise,
    part: &mut Part,
    progress: Progress<'_>,
) -> Result<(), Broke> {
    let mut response = match hub.open(client, wanted, &promise.commit, part.bytes).await {
        Ok(response) => response,
        Err(HubFault::Passing(error)) => return Err(Broke::Off(error)),
        Err(HubFault::BeyondEnd) => {
            part.restart()?;
            let message = format!("{} has less of the file than before", hub.endpoint());
            return Err(Broke::Off(StoreError::hub(message, "")));
        }
        Err(HubFault::Missing(status)) => {
            let message = format!("{} described the file, then answered {status}", hub.endpoint());
            return Err(Broke::Final(StoreError::hub(message, "pull again")));
        }
        Err(HubFault::Final(error)) => return Err(Broke::Final(error)),
    };
    let origin = http::origin(response.url());
    if !continues(&response, part.bytes) {
        part.restart()?;
    }
    loop {
        let broke = |message: String| Err(Broke::Off(StoreError::hub(message, "")));
        let chunk = match tokio::time::timeout(PATIENCE, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) if part.bytes == promise.bytes => return Ok(()),
            Ok(Ok(None)) => return broke(format!("{origin} closed the connection")),
            Ok(Err(error)) => return broke(Trouble::of(&error).text(&origin)),
            Err(_) => return broke(format!("{origin} sent nothing for {} s", PATIENCE.as_secs())),
        };
        part.file.write_all(&chunk)?;
        part.hasher.update(&chunk);
        part.bytes += chunk.len() as u64;
        if part.bytes > promise.bytes {
            // More than promised: the hash will tell.
            return Ok(());
        }
        progress(Step::Download, part.bytes, promise.bytes);
    }
}

/// Whether the response begins at byte `start`; a server that cannot resume sends all of it.
fn continues(response: &Response, start: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok());
    match response.status() {
        StatusCode::PARTIAL_CONTENT => {
            range.is_some_and(|range| range.starts_with(&format!("bytes {start}-")))
        }
        _ => start == 0,
    }
}

fn stopped(error: &StoreError, bytes: u64, all: u64) -> StoreError {
    StoreError::hub(
        format!("the download stopped at {} %: {error}", bytes.saturating_mul(100) / all.max(1)),
        "run the same command again: it goes on from there",
    )
}
