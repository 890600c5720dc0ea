//! How llama.cpp's threads wait.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Threads of OpenMP that wait by spinning starve each other as soon as anything else runs on the
/// machine: decoding falls to a token a second. The library reads its settings before `main`, so
/// the process starts itself once more with the right one. Where that fails, it is only slower.
pub fn wait_passively() {
    let known = ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT"];
    if known.iter().any(|name| env::var_os(name).is_some()) {
        return;
    }
    let Ok(program) = env::current_exe() else { return };
    let mut args = env::args_os();
    let mut again = Command::new(program);
    if let Some(name) = args.next() {
        again.arg0(name);
    }
    // Returns only when it failed.
    let _ = again.args(args).env("OMP_WAIT_POLICY", "passive").exec();
}
