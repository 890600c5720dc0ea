use std::sync::Arc;
use std::thread;
use std::time::Duration;

use codegrep_tree::{Sink, Stage};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::view::plain;

/// Work that is through sooner shows no progress.
const SLOW: Duration = Duration::from_millis(300);
const TICK: Duration = Duration::from_millis(120);

/// A line on stderr that says what is going on; nothing where stderr is no terminal.
pub struct Line(ProgressBar);

impl Line {
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        let later = bar.clone();
        thread::spawn(move || {
            thread::sleep(SLOW);
            if !later.is_finished() {
                later.set_draw_target(ProgressDrawTarget::stderr());
                later.enable_steady_tick(TICK);
            }
        });
        Self(bar)
    }

    pub fn sink(&self) -> Sink {
        let bar = self.0.clone();
        Arc::new(move |event| {
            let stage = match event.stage {
                Stage::Index => "reading",
                Stage::Rank => "ranking",
                Stage::Model => "asking the model",
            };
            bar.set_message(format!("{stage}: {}", plain(&event.message)));
        })
    }

    pub fn clear(self) {
        self.0.finish_and_clear();
    }
}
