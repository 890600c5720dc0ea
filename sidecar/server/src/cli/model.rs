use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::Subcommand;
use codegrep_model::store::{
    Add, Hub, HubFile, Kind, Manifest, Source, Step, Store, StoreError, Stored, Verdict,
};
use codegrep_tree::Watch;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::print;
use super::view::plain;
use crate::config::Places;
use crate::failure::Failure;

/// Models that run in this process, and LoRA adapters: GGUF files under names of their own.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what is on this machine
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Hash weights again and compare them with what was added
    Verify {
        /// All of them, if none is named
        names: Vec<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a GGUF file; it stays where it is
    Add {
        path: PathBuf,
        /// The name to give it [default: made of the file's name]
        #[arg(long)]
        name: Option<String>,
        /// Copy it, so that it may be moved or deleted afterwards
        #[arg(long)]
        copy: bool,
    },
    /// Download a GGUF file from Hugging Face, or the hub at HF_ENDPOINT
    ///
    /// What broke off goes on where it stopped when the command is run again. The file is checked
    /// against the SHA-256 that the hub promises. One that the hub's own tools have on this machine
    /// is used where it is. HF_TOKEN opens what is not public.
    Pull {
        #[arg(value_name = "OWNER/NAME/FILE.gguf")]
        file: String,
        /// The name to give it [default: made of the file's name]
        #[arg(long)]
        name: Option<String>,
    },
    /// Forget a model, and delete its weights if they were pulled or copied
    Remove { name: String },
}

const NAME: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();

pub fn run(args: &Args, places: &Places) -> Result<ExitCode, Failure> {
    let store = Store::at(&places.models);
    // Ctrl-C ends the process: a download keeps what it has, and nothing else is half done.
    let watch = Watch::idle();
    match &args.command {
        Command::List { json: true } => print(&pretty(&list_json(&store.list()?))),
        Command::List { json: false } => print(&list_text(&store.list()?)),
        Command::Verify { names, json } => verify(&store, names, *json, &watch),
        Command::Add { path, name, copy } => {
            let how = Add { name: name.clone(), copy: *copy };
            let bar = Bar::new();
            let stored =
                store.add(path, &how, &mut |step, done, all| bar.at(step, done, all), &watch);
            drop(bar);
            print(&added(&stored?.manifest))
        }
        Command::Pull { file, name } => {
            let wanted: HubFile = file.parse().map_err(|error: StoreError| {
                Failure::usage(error.to_string()).hint(error.hint())
            })?;
            let hub = Hub::of_this_user()?;
            let bar = Bar::new();
            let mut progress = |step, done, all| bar.at(step, done, all);
            let stored = store.pull(&hub, &wanted, name.as_deref(), &mut progress, &watch);
            drop(bar);
            print(&added(&stored?.manifest))
        }
        Command::Remove { name } => {
            let removed = store.remove(name, &watch)?;
            let kept = match removed.manifest.file.is_absolute() && removed.path.exists() {
                true => format!("; {} is left", plain(&removed.path.to_string_lossy())),
                false => String::new(),
            };
            print(&format!("removed {NAME}{name}{NAME:#}{kept}\n"))
        }
    }
}

fn verify(store: &Store, names: &[String], json: bool, watch: &Watch) -> Result<ExitCode, Failure> {
    let chosen = match names {
        [] => store.list()?,
        names => names.iter().map(|name| store.find(name)).collect::<Result<_, _>>()?,
    };
    let mut seen: Vec<(String, Option<String>)> = Vec::new();
    for stored in &chosen {
        let bar = Bar::new();
        let mut progress = |step, done, all| bar.at(step, done, all);
        let reason = match store.verify(stored, &mut progress, watch)? {
            Verdict::Intact => None,
            Verdict::Broken(reason) => Some(reason),
        };
        seen.push((stored.manifest.name.clone(), reason));
    }
    let text = match json {
        true => {
            let models = seen.iter().map(|(name, reason)| {
                json!({"name": name, "intact": reason.is_none(), "reason": reason})
            });
            pretty(&json!({"models": models.collect::<Vec<_>>()}))
        }
        false if seen.is_empty() => EMPTY.to_owned(),
        false => seen.iter().map(verdict_line).collect(),
    };
    print(&text)?;
    Ok(ExitCode::from(u8::from(seen.iter().any(|(_, reason)| reason.is_some()))))
}

fn verdict_line((name, reason): &(String, Option<String>)) -> String {
    match reason {
        None => format!("{GOOD}✓{GOOD:#} {name}\n"),
        Some(reason) => format!("{BAD}✗ {name}{BAD:#}: {}\n", plain(reason)),
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn list_json(list: &[Stored]) -> Value {
    let models = list.iter().map(|stored| {
        let mut entry = json!(stored.manifest);
        entry["path"] = json!(stored.path);
        entry["broken"] = json!(stored.broken);
        if let Some(entry) = entry.as_object_mut() {
            // How the manifest says it; `path` is where it lies.
            entry.shift_remove("file");
        }
        entry
    });
    json!({"models": models.collect::<Vec<_>>()})
}

const EMPTY: &str = "\
No models yet: answers come from word search alone.
  codegrep model add FILE.gguf
  codegrep model pull Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf
";

fn list_text(list: &[Stored]) -> String {
    if list.is_empty() {
        return EMPTY.to_owned();
    }
    let name = list.iter().map(|stored| stored.manifest.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Stored { manifest, path, broken } in list {
        let path = plain(&path.to_string_lossy());
        let _ = match broken {
            Some(reason) => writeln!(
                text,
                "{BAD}✗ {:name$}{BAD:#}  {}; {DIM}{path}{DIM:#}",
                manifest.name,
                plain(reason)
            ),
            None => writeln!(
                text,
                "{GOOD}✓{GOOD:#} {NAME}{:name$}{NAME:#}  {:>8}  {:>9}  {}  {DIM}{path}{DIM:#}",
                manifest.name,
                count(manifest.parameters),
                size(manifest.bytes),
                what(manifest),
            ),
        };
    }
    if list.iter().any(|stored| stored.broken.is_some()) {
        text.push_str("Add what is broken again, or `codegrep model remove NAME`.\n");
    }
    text
}

fn what(manifest: &Manifest) -> String {
    match manifest.kind {
        Kind::Model => plain(&manifest.architecture),
        Kind::Adapter => format!("adapter for {}", plain(&manifest.architecture)),
    }
}

fn added(manifest: &Manifest) -> String {
    let Manifest { name, parameters, bytes, sha256, .. } = manifest;
    let mut text = format!(
        "{GOOD}✓{GOOD:#} {NAME}{name}{NAME:#}: {}, {} parameters, {}, SHA-256 {sha256}\n",
        what(manifest),
        count(*parameters),
        size(*bytes),
    );
    if let Source::Path { path } = &manifest.source
        && manifest.file.is_absolute()
    {
        let path = plain(&path.to_string_lossy());
        let _ = writeln!(text, "It stays at {path}; --copy makes a copy instead.");
    }
    let _ = match (manifest.kind, cfg!(feature = "llama")) {
        (_, false) => writeln!(
            text,
            "This codegrep cannot run it: `make install` in the checkout makes one that can."
        ),
        (Kind::Model, true) => writeln!(
            text,
            "Ask it with `codegrep find --model {name} TEXT`. Where no model is chosen, one that is\n\
             here is used; `--model none`, or `model = \"none\"` in the settings, asks the ranking\n\
             alone."
        ),
        (Kind::Adapter, true) => Ok(()),
    };
    text
}

/// `494 M`.
fn count(number: u64) -> String {
    match number {
        0..1_000_000 => format!("{} k", number.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{} M", (number + 500_000) / 1_000_000),
        _ => format!("{:.1} G", number as f64 / 1e9),
    }
}

/// `491.4 MB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Bytes done, on stderr while it is a terminal; gone when dropped.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::no_length();
        let template = "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} \
                        {decimal_bytes_per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(bar)
    }

    fn at(&self, step: Step, done: u64, all: u64) {
        let label = match step {
            Step::Hash => "hashing",
            Step::Copy => "copying",
            Step::Download => "downloading",
        };
        if self.0.message() != label {
            self.0.set_message(label);
        }
        self.0.set_length(all);
        self.0.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let hint = error.hint().to_owned();
        match error {
            StoreError::Stopped(stop) => stop.into(),
            error => Failure::environment(error.to_string()).hint(hint),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let counts = [0, 134_515_008, 494_032_768, 7_615_616_512].map(count);
        assert_eq!(counts, ["0 k", "135 M", "494 M", "7.6 G"]);
        let sizes = [512, 98_362_432, 999_999_999, 4_683_073_632].map(size);
        assert_eq!(sizes, ["0.5 kB", "98.4 MB", "1000.0 MB", "4.7 GB"]);
    }
}
