use std::path::Path;
use std::time::{Duration, Instant};

use codegrep_tree::{DiskTree, GitTree, Scope, Tree, Watch};

use super::Check;
use crate::cli::find::enclosing_project;
use crate::config::{Places, Settings};
use crate::core::Root;
use crate::failure::Failure;

/// After which listing a repository is given up.
const LISTING: Duration = Duration::from_secs(10);

/// Whether the user's folders can be written.
pub fn folders(places: &Places) -> Vec<Check> {
    [("models", &places.models), ("cache", &places.cache), ("state", &places.state)]
        .map(|(what, folder)| {
            let shown = folder.display();
            match writable(folder) {
                Ok(()) => Check::ok("folder", format!("{what} in {shown}")),
                Err(error) => Check::warning(
                    "folder",
                    format!("{what} cannot be kept in {shown}: {error}"),
                    "make it yours to write, or set CODEGREP_HOME to a folder that is",
                ),
            }
        })
        .into()
}

/// Does what the program would do, and takes it back.
fn writable(folder: &Path) -> std::io::Result<()> {
    let made = folder.ancestors().take_while(|above| !above.exists()).last().map(Path::to_owned);
    std::fs::create_dir_all(folder)?;
    let probe = folder.join(format!(".doctor-{}", std::process::id()));
    let written = std::fs::write(&probe, b"");
    let removed = std::fs::remove_file(&probe);
    if let Some(made) = made {
        // Empty folders only: what another process has put there meanwhile stays.
        let below: Vec<&Path> =
            folder.ancestors().take_while(|above| above.starts_with(&made)).collect();
        for folder in below {
            if std::fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
    written.and(removed)
}

pub fn settings(settings: &Settings) -> Check {
    let file = &settings.places.config_file;
    let read = match file.exists() {
        true => format!("{} is valid", file.display()),
        false => format!("all by default; they would stand in {}", file.display()),
    };
    Check::ok("settings", read)
}

/// The repository that `codegrep find` would search here.
pub fn project(settings: &Settings) -> Check {
    let root = enclosing_project().and_then(|folder| Root::at(folder, settings));
    let root = match root {
        Ok(root) => root,
        // Nothing is wrong with the machine: the user is elsewhere.
        Err(failure) => return Check::warning("project", failure.message, failure.hint),
    };
    match listed(&root) {
        Ok(message) => Check::ok("project", message),
        Err(failure) => Check::failure("project", failure),
    }
}

fn listed(root: &Root) -> Result<String, Failure> {
    let started = Instant::now();
    let watch = Watch::new(Some(started + LISTING), None);
    let name = root.name();
    let files = match DiskTree::open(&root.path)?.walk(&Scope::default(), &watch) {
        Ok(listing) => {
            let seconds = started.elapsed().as_secs_f64();
            format!("{} files, listed in {seconds:.2} s", listing.entries.len())
        }
        Err(_) if watch.check().is_err() => {
            format!("not listed within {} s: answers will be slow", LISTING.as_secs())
        }
        Err(error) => return Err(error.into()),
    };
    let git = match root.path.join(".git").exists() {
        false => "no git repository, so no history to learn from".to_owned(),
        true => match GitTree::open(&root.path, "HEAD") {
            Ok(tree) => format!("at commit {}", &tree.commit_id()[..10]),
            Err(error) => format!("its git history cannot be read ({error})"),
        },
    };
    Ok(format!("{name}: {files}; {git}"))
}
