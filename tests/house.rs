//! The rules of the house, as tests: who may import whom, what the documents promise, what no
//! file may hold. The rules that a reader needs stand in `docs/ARCHITECTURE.md`; the tests read
//! them there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand, Package};
use codegrep_tests::checkout;
use regex::Regex;

/// Source files over 500 lines, each with the reason why it is not split.
const LONG_FILES: &[(&str, &str)] = &[];

const MAX_LINES: usize = 500;

/// The only folders at the top.
const ROOMS: &[&str] =
    &["sidecar", "plugin-sdk", "trainer", "adapters", "editors", "tests", "docs", ".ci"];

#[test]
fn crates_import_only_what_the_architecture_allows() {
    let allowed = import_table();
    let packages = packages();
    let ours: BTreeSet<&str> = packages.iter().map(|p| p.name.as_str()).collect();
    let mut faults = Vec::new();
    for package in &packages {
        let name = package.name.as_str();
        let Some(allowed) = allowed.get(name) else {
            faults.push(format!("{name} has no row in the table of docs/ARCHITECTURE.md"));
            continue;
        };
        for dependency in &package.dependencies {
            let shipped = dependency.kind != DependencyKind::Development;
            let other = dependency.name.as_str();
            if shipped && ours.contains(other) && !allowed.contains(other) {
                faults.push(format!("{name} may not import {other}"));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn every_crate_takes_version_licence_and_lints_from_the_workspace() {
    let mut faults = Vec::new();
    for package in packages() {
        let text = read(package.manifest_path.as_std_path());
        let wanted = ["version.workspace = true", "license.workspace = true", "[lints]\nworkspace"];
        faults.extend(
            wanted
                .iter()
                .filter(|wanted| !text.contains(**wanted))
                .map(|wanted| format!("{}: lacks {wanted:?}", package.manifest_path)),
        );
    }
    assert_none(&faults);
}

#[test]
fn the_architecture_names_every_crate() {
    let text = read(&checkout().join("docs/ARCHITECTURE.md"));
    let faults: Vec<String> = packages()
        .iter()
        .filter(|package| !text.contains(&format!("`{}`", package.name)))
        .map(|package| format!("docs/ARCHITECTURE.md does not name `{}`", package.name))
        .collect();
    assert_none(&faults);
}

#[test]
fn documents_name_only_paths_that_exist() {
    let code = Regex::new(r"`([^`\n]+)`").expect("a pattern");
    let link = Regex::new(r"\]\(([^)#\s]+)[^)\s]*\)").expect("a pattern");
    let mut faults = Vec::new();
    for document in documents() {
        let text = read(&document);
        let folder = document.parent().expect("a document lies in a folder");
        let named = code.captures_iter(&text).map(|found| (checkout(), found[1].to_owned()));
        let named = named.filter(|(_, name)| is_path(name));
        let linked = link.captures_iter(&text).map(|found| (folder, found[1].to_owned()));
        let linked = linked.filter(|(_, target)| !target.contains("://"));
        for (base, path) in named.chain(linked) {
            if !base.join(&path).exists() {
                faults.push(format!("{}: {path} does not exist", short(&document)));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn documents_name_only_make_targets_that_exist() {
    let makefile = read(&checkout().join("Makefile"));
    let target = Regex::new(r"(?m)^([a-z][a-z0-9-]*):").expect("a pattern");
    let targets: BTreeSet<&str> = target
        .captures_iter(&makefile)
        .map(|found| found.get(1).expect("a group").as_str())
        .collect();
    let command = Regex::new(r"(?m)(?:`|^)make ([a-z][a-z0-9-]*)").expect("a pattern");
    let mut faults = Vec::new();
    for document in documents() {
        let text = read(&document);
        for found in command.captures_iter(&text) {
            if !targets.contains(&found[1]) {
                faults.push(format!("{}: no target `make {}`", short(&document), &found[1]));
            }
        }
    }
    for promised in ["demo", "build", "install", "test", "lint", "bench-find", "test-heavy"] {
        if !targets.contains(promised) {
            faults.push(format!("Makefile: lacks {promised}"));
        }
    }
    assert_none(&faults);
}

#[test]
fn no_source_file_is_long_without_a_reason() {
    let mut faults = Vec::new();
    for file in files().iter().filter(|file| is_source(file)) {
        let lines = read(file).lines().count();
        let excused = LONG_FILES.iter().any(|(path, _)| *path == short(file));
        match (lines > MAX_LINES, excused) {
            (true, false) => faults.push(format!("{}: {lines} lines", short(file))),
            (false, true) => faults.push(format!("{}: no longer long, drop it", short(file))),
            _ => {}
        }
    }
    assert_none(&faults);
}

#[test]
fn no_test_is_switched_off() {
    // Written apart, so that this file passes too.
    let off = ["#[", "ignore"].concat();
    let faults: Vec<String> = files()
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "rs") && read(f).contains(&off))
        .map(|f| format!("{}: {off}", short(f)))
        .collect();
    assert_none(&faults);
}

#[test]
fn no_file_holds_a_machine_path_or_a_registry_host() {
    let forbidden = [
        // Folders of whoever's machine it was written on.
        [r#"(?:^|[\s"'`(=:])/(?:work|root)"#, r"/\w"].concat(),
        [r"/(?:home|Users)", r"/(?:[a-z]*user|runner|ubuntu|admin)\b"].concat(),
        // Where packages come from is each user's own setting.
        [r"\b(?:index\.|static\.)?crates\.", r"io/"].concat(),
        [r"\bfiles\.python", r"hosted\.org|\bpypi\.", r"org"].concat(),
        [r"\bregistry\.npm", r"js\.org|proxy\.golang\.", r"org"].concat(),
        ["(?i)co-authored", "-by|generated (?:with|by) (?:an? )?(?:ai|llm)\\b"].concat(),
    ];
    let forbidden = Regex::new(&format!("(?m){}", forbidden.join("|"))).expect("a pattern");
    let mut faults = Vec::new();
    for file in files() {
        // Cargo.lock and its like name the registry by their format.
        if file.extension().is_some_and(|e| e == "lock") || file.ends_with("LICENSE") {
            continue;
        }
        // A file that is not text is a fixture of bytes.
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        for (number, line) in text.lines().enumerate() {
            if let Some(found) = forbidden.find(line) {
                faults.push(format!("{}:{}: {:?}", short(&file), number + 1, found.as_str()));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn the_top_holds_only_its_rooms_and_the_licence() {
    let mut faults: Vec<String> = files()
        .iter()
        .filter_map(|file| short(file).split_once('/').map(|(room, _)| room.to_owned()))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .filter(|room| !ROOMS.contains(&room.as_str()))
        .map(|room| format!("{room}/ is no room of this house"))
        .collect();
    if !read(&checkout().join("LICENSE")).contains("Apache License\n") {
        faults.push("LICENSE is not the Apache License".into());
    }
    assert_none(&faults);
}

/// `crate -> workspace crates it may import`, from the table in `docs/ARCHITECTURE.md`.
fn import_table() -> BTreeMap<String, BTreeSet<String>> {
    let text = read(&checkout().join("docs/ARCHITECTURE.md"));
    let name = Regex::new(r"`(codegrep[a-z-]*)`").expect("a pattern");
    let names = |cell: &str| -> Vec<String> {
        name.captures_iter(cell).map(|found| found[1].to_owned()).collect()
    };
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("| crate | may import |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut table = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let [krate, imports] = cells[..] else { panic!("not a row of two cells: {row}") };
        for krate in names(krate) {
            table.insert(krate, names(imports).into_iter().collect());
        }
    }
    assert!(!table.is_empty(), "docs/ARCHITECTURE.md has no table `| crate | may import |`");
    table
}

fn packages() -> Vec<Package> {
    MetadataCommand::new()
        .manifest_path(checkout().join("Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo metadata")
        .packages
}

/// Every file of the checkout that git would track.
fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = ignore::WalkBuilder::new(checkout())
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build()
        .map(|entry| entry.expect("the checkout can be read"))
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(|entry| entry.into_path())
        .collect();
    files.sort();
    assert!(files.len() > 20, "the walk found only {files:?}");
    files
}

fn documents() -> Vec<PathBuf> {
    files().into_iter().filter(|f| f.extension().is_some_and(|e| e == "md")).collect()
}

/// Whether a word in code style names a file or folder of the checkout.
fn is_path(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
    let room = name.split_once('/').is_some_and(|(room, _)| ROOMS.contains(&room));
    let file = [".rs", ".sh", ".md", "/Cargo.toml"].iter().any(|end| name.ends_with(end));
    plain && (room || (file && name.contains('/')))
}

fn is_source(file: &Path) -> bool {
    let ends = ["rs", "py", "ts", "js", "lua", "el", "sh", "c", "cpp"];
    file.extension().is_some_and(|e| ends.iter().any(|end| e == *end)) || file.ends_with("Makefile")
}

fn short(file: &Path) -> String {
    file.strip_prefix(checkout()).unwrap_or(file).to_string_lossy().into_owned()
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n  {}\n", faults.join("\n  "));
}
