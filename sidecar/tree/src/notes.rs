use std::collections::BTreeMap;

use crate::{PathError, RepoPath, TreeError};

/// Why a walk passed something over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    Denied,
    Failed,
    UnreadableRules,
    LongRules,
    NotUtf8,
    Control,
    TooLong,
    Unwritable,
}

/// What a walk passed over, by reason: one warning each, however much it is.
#[derive(Default)]
pub(crate) struct Notes(BTreeMap<Reason, Vec<String>>);

impl Notes {
    /// So many are named in a warning; the rest is counted.
    const NAMED: usize = 3;

    pub(crate) fn add(&mut self, reason: Reason, what: impl ToString) {
        self.0.entry(reason).or_default().push(what.to_string());
    }

    pub(crate) fn extend(&mut self, other: Notes) {
        for (reason, mut whats) in other.0 {
            self.0.entry(reason).or_default().append(&mut whats);
        }
    }

    pub(crate) fn unreadable(&mut self, dir: &RepoPath, error: &TreeError) {
        match error {
            // It went away while the walk was on its way.
            TreeError::NotFound { .. } => {}
            TreeError::Denied { .. } => self.add(Reason::Denied, dir),
            error => self.add(Reason::Failed, error),
        }
    }

    pub(crate) fn unnamed(&mut self, dir: &RepoPath, name: &str, why: &PathError) {
        let reason = match why {
            PathError::NotUtf8(_) => Reason::NotUtf8,
            PathError::Control(_) => Reason::Control,
            PathError::TooLong(_) => Reason::TooLong,
            _ => Reason::Unwritable,
        };
        let what = if dir.is_root() { name.to_owned() } else { format!("{dir}/{name}") };
        self.add(reason, what);
    }

    pub(crate) fn into_warnings(self) -> Vec<String> {
        let warning = |(reason, mut whats): (Reason, Vec<String>)| {
            whats.sort_unstable();
            let more = whats.len().saturating_sub(Self::NAMED);
            whats.truncate(Self::NAMED);
            let label = match reason {
                Reason::Denied => "not searched, folder may not be read (permission denied)",
                Reason::Failed => "not searched, folder could not be read",
                Reason::UnreadableRules => "ignore rules not applied, file could not be read",
                Reason::LongRules => "ignore rules applied in part, more than 256 KiB of them",
                Reason::NotUtf8 => "skipped, name is not UTF-8",
                Reason::Control => "skipped, name holds a control character",
                Reason::TooLong => "skipped, path is longer than 4096 bytes",
                Reason::Unwritable => "skipped, name reads as a path that climbs",
            };
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{label}: {}{more}", whats.join(", "))
        };
        self.0.into_iter().map(warning).collect()
    }
}
