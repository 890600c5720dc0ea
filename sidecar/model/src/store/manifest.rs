use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use codegrep_tree::regular;
use serde::{Deserialize, Serialize};

use super::StoreError;

/// More than this is no manifest.
const MOST_BYTES: u64 = 1 << 20;

/// What the store knows of one model or adapter: `NAME.json` in its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The name it is asked for by.
    pub name: String,
    /// Whether it can be run by itself.
    pub kind: Kind,
    /// The weights: a name in the store's folder, or the absolute path of a file that stays where
    /// its owner has it.
    pub file: PathBuf,
    /// Size of the file.
    pub bytes: u64,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// Such as `qwen2`.
    pub architecture: String,
    /// Numbers in the weights.
    pub parameters: u64,
    /// Where it came from.
    pub source: Source,
    /// When it was added: RFC 3339, UTC.
    pub added: String,
}

/// Kinds of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Can be run.
    Model,
    /// A LoRA adapter: a change to a model.
    Adapter,
}

/// Where a file came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "from")]
pub enum Source {
    /// A file that the user named.
    Path {
        /// As an absolute path.
        path: PathBuf,
    },
    /// A model hub.
    Hub {
        /// Its address.
        endpoint: String,
        /// `OWNER/NAME`.
        repo: String,
        /// The file within it.
        file: String,
        /// The commit it was taken from.
        commit: String,
    },
}

impl Manifest {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = regular::read_text(path, MOST_BYTES).map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| format!("its manifest is broken: {error}"))
    }

    /// Written aside and renamed: nobody reads half of it.
    pub(super) fn write(&self, folder: &Path) -> Result<(), StoreError> {
        let aside = folder.join(format!(".{}.json.new", self.name));
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::other)?;
        let written = fs_err::write(&aside, text + "\n")
            .and_then(|()| fs_err::rename(&aside, folder.join(format!("{}.json", self.name))));
        if written.is_err() {
            // On a full disk a half would stay.
            let _ = std::fs::remove_file(&aside);
        }
        Ok(written?)
    }
}

/// `wanted` if it can be a name; what is wrong with it otherwise.
pub(super) fn check_name(wanted: &str) -> Result<&str, StoreError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    if !wanted.is_empty()
        && wanted.len() <= 100
        && wanted.chars().all(plain)
        && wanted.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !matches!(wanted, "auto" | "none")
    {
        return Ok(wanted);
    }
    Err(StoreError::request(
        format!("{wanted:?} cannot be the name of a model"),
        "use small letters, digits, `.`, `_` and `-`, beginning with a letter or digit; `auto` and \
         `none` mean something else",
    ))
}

/// A name made of a file's: `Qwen2.5-Coder Q4_0.gguf` becomes `qwen2.5-coder-q4_0`.
pub(super) fn name_of(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let name: String = stem.chars().map(|c| if plain(c) { c } else { '-' }).collect();
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    match name.chars().take(100).collect::<String>() {
        name if check_name(&name).is_ok() => name,
        _ => String::from("model"),
    }
}

/// RFC 3339 in UTC, to the second.
pub(super) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    timestamp(since)
}

/// Days to a date as in Howard Hinnant's `civil_from_days`; years are counted from March so that
/// the leap day comes last.
fn timestamp(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        for (seconds, want) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_102_444_800, "2100-01-01T00:00:00Z"),
        ] {
            assert_eq!(timestamp(seconds), want);
        }
    }

    #[test]
    fn names_are_made_of_file_names() {
        for (file, want) in [
            ("/x/Qwen2.5-Coder-0.5B Instruct.Q4_0.gguf", "qwen2.5-coder-0.5b-instruct.q4_0"),
            ("..hidden.gguf", "hidden"),
            ("модель.gguf", "model"),
            ("auto.gguf", "model"),
            ("a/\u{7}b.gguf", "b"),
        ] {
            assert_eq!(name_of(Path::new(file)), want, "{file}");
        }
    }

    #[test]
    fn names_that_leave_the_folder_or_mean_something_else_are_refused() {
        for name in
            ["", "../x", "a/b", "A", ".x", "-x", "auto", "none", "a b", "a\0", &"a".repeat(101)]
        {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }
}
