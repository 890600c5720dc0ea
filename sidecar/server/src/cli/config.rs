use std::fmt::Write;
use std::process::ExitCode;

use super::print;
use crate::config::{Layer, Places, Settings};
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {}

/// Prints the settings under the names they have in the settings file.
pub fn run(_: &Args, places: Places) -> Result<ExitCode, Failure> {
    let settings = Settings::load(places, Layer::default())?;
    let file = &settings.places.config_file;
    let state = if file.exists() { "" } else { " (there is none yet)" };
    let mut text = format!("# {}{state}\n", file.display());
    for (name, value, source) in settings.rows() {
        let _ = writeln!(text, "{:<40} # {source}", format!("{name} = {value}"));
    }
    for name in settings.endpoints.keys() {
        let _ = writeln!(text, "{:<40} # {}", format!("[endpoints.{name}]"), file.display());
    }
    print(&text)
}
