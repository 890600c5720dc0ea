//! Records on disk, one JSON object a line, written as they are made.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

#[derive(Debug, thiserror::Error)]
pub enum JsonlError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(
        "{path}:{line}: not a record of this kind ({why}); move the file away or choose another --out"
    )]
    Record { path: PathBuf, line: usize, why: String },
}

/// All records of a file, none when it is missing. A last line that a kill cut short is dropped.
pub fn read<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>, JsonlError> {
    let opened = match fs_err::File::open(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let lines = BufReader::new(opened).split(b'\n').collect::<Result<Vec<_>, _>>()?;
    let mut records = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        match serde_json::from_slice(line) {
            Ok(record) => records.push(record),
            Err(_) if at + 1 == lines.len() => {}
            Err(error) => {
                let (path, why) = (file.to_owned(), error.to_string());
                return Err(JsonlError::Record { path, line: at + 1, why });
            }
        }
    }
    Ok(records)
}

/// Puts `records` in the place of the file's, by a rename, and returns it open for more.
pub fn rewrite<T: Serialize>(file: &Path, records: &[T]) -> Result<fs_err::File, JsonlError> {
    let beside = file.with_extension("jsonl.new");
    let mut out = std::io::BufWriter::new(fs_err::File::create(&beside)?);
    for record in records {
        serde_json::to_writer(&mut out, record).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    fs_err::rename(&beside, file)?;
    Ok(fs_err::OpenOptions::new().append(true).open(file)?)
}

/// Appends one record in a single write.
pub fn append<T: Serialize>(out: &mut impl Write, record: &T) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    out.write_all(&line)
}
