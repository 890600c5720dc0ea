use std::process;
use std::thread;

use codegrep_tree::Watch;

/// The exit code of a command that Ctrl-C ended: 128 + SIGINT.
pub const CODE: u8 = 130;

/// The first Ctrl-C cancels the work, a second ends the process at once.
pub fn cancels(watch: &Watch) {
    let watch = watch.clone();
    // Detached: it ends with the process. Where there is no thread, Ctrl-C does what it always does.
    let _ = thread::Builder::new().name("interrupt".into()).spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else {
            return;
        };
        runtime.block_on(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                watch.cancel();
                let _ = tokio::signal::ctrl_c().await;
                process::exit(CODE.into());
            }
        });
    });
}
