//! Real things that the tests fetch: a small model and a large project.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::checkout;

/// The GGUF file that `CODEGREP_TEST_MODEL` names, or else SmolLM2-135M-Instruct, fetched when it
/// is not in the cache yet.
pub fn test_model() -> &'static Path {
    static MODEL: OnceLock<PathBuf> = OnceLock::new();
    MODEL.get_or_init(|| match std::env::var_os("CODEGREP_TEST_MODEL") {
        Some(path) => path.into(),
        None => script("fetch-model.sh", &["smollm2"]),
    })
}

/// The folder of a real project of more than 5,000 files, fetched when it is not in the cache yet.
pub fn test_project() -> PathBuf {
    script("fetch-project.sh", &[])
}

/// The path that a script prints.
fn script(name: &str, args: &[&str]) -> PathBuf {
    let output = Command::new(checkout().join("tests/scripts").join(name))
        .args(args)
        .stderr(Stdio::inherit())
        .output()
        .expect("the script runs");
    assert!(output.status.success(), "{name} failed");
    String::from_utf8(output.stdout).expect("a path").trim_end().into()
}
