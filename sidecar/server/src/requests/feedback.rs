use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use codegrep_plugin_sdk::{Feedback, FeedbackParams, FeedbackResponse};
use codegrep_tree::{Watch, regular};

use crate::config::Settings;
use crate::core::{Engines, Serve};
use crate::failure::Failure;

impl Serve for Feedback {
    fn budget(_: &FeedbackParams, _: &Settings) -> Duration {
        super::BUDGET
    }

    /// Appends a line to `feedback.jsonl` among the user's own files.
    fn serve(
        params: FeedbackParams,
        engines: &Engines,
        _: &Watch,
    ) -> Result<FeedbackResponse, Failure> {
        if !engines.settings.feedback.value {
            return Ok(FeedbackResponse { stored: false });
        }
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let line = serde_json::json!({ "at": at, "feedback": params });
        let folder = &engines.settings.places.state;
        let failed = |error: std::io::Error| {
            Failure::environment(format!("the feedback was not kept: {error}"))
                .hint("make the folder writable, or set `feedback = false`")
        };
        fs_err::create_dir_all(folder).map_err(failed)?;
        // One write of a whole line: several processes may append.
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        let mut log =
            regular::open_with(&folder.join("feedback.jsonl"), &mut options).map_err(failed)?;
        log.write_all(format!("{line}\n").as_bytes()).map_err(failed)?;
        Ok(FeedbackResponse { stored: true })
    }
}
