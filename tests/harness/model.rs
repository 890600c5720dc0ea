//! The small real model that the tests run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::checkout;

/// A GGUF file: SmolLM2-135M-Instruct, or the one that `CODEGREP_TEST_MODEL` names to
/// `tests/scripts/fetch-model.sh`. Fetched when it is not in the cache yet.
pub fn test_model() -> &'static Path {
    static MODEL: OnceLock<PathBuf> = OnceLock::new();
    MODEL.get_or_init(|| {
        let name = std::env::var("CODEGREP_TEST_MODEL").unwrap_or_else(|_| "smollm2".into());
        let output = Command::new(checkout().join("tests/scripts/fetch-model.sh"))
            .arg(&name)
            .stderr(Stdio::inherit())
            .output()
            .expect("the script runs");
        assert!(output.status.success(), "{name} cannot be fetched");
        String::from_utf8(output.stdout).expect("a path").trim_end().into()
    })
}
