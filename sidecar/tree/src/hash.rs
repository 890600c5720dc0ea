use std::fmt::Write as _;

use sha1::{Digest, Sha1};

use crate::BlobId;

impl BlobId {
    /// The id git gives a blob of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut sha1 = Sha1::new();
        sha1.update(format!("blob {}\0", bytes.len()));
        sha1.update(bytes);
        let mut hex = String::with_capacity(40);
        for byte in sha1.finalize() {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
        }
        Self(hex)
    }

    /// 40 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A stamp from whatever a source knows about a file; see [`crate::Entry::stamp`].
pub(crate) fn stamp(parts: impl std::hash::Hash) -> u64 {
    use std::hash::{DefaultHasher, Hasher as _};
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_gits() {
        assert_eq!(BlobId::of(b"").as_str(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(BlobId::of(b"hello\n").as_str(), "ce013625030ba8dba906f756967f9e9ca394464a");
    }
}
