//! Random repositories, most of them hostile, and folders that change while they are read.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use codegrep_tree::fixture::Fixture;
use codegrep_tree::{DiskTree, Scope, Tree, Watch};
use ignore::WalkBuilder;
use proptest::prelude::*;

use crate::{disk, listed, path, portrait, sources};

const SECRET: &str = "the secret that lies outside";

#[derive(Debug, Clone)]
enum Thing {
    File(String),
    Rules(&'static str, Vec<&'static str>),
    Link(&'static str),
    Repository,
}

type Things = Vec<(String, Thing)>;

fn places() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "c", ".h", "x.log", "y.rs", "target", r"d\e"]);
    prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

fn things() -> impl Strategy<Value = Things> {
    let rule = prop::sample::select(vec![
        "*.log",
        "!*.log",
        "a",
        "/a",
        "a/",
        "/a/b",
        "a/b",
        "**/c",
        "c/**",
        "target/",
        "!target/",
        "!.h",
        ".h/",
        "*",
        "!*/",
        "!*.rs",
        "# a",
        "",
        "x.lo[g",
        "\\!a",
        "b/*.rs",
        "a/**/y.rs",
        "/*",
        "!/a",
        " ",
        "y.rs ",
        "*/",
        "[",
        "**",
        "./a",
        "../a",
        "a//b",
        "/",
    ]);
    let target = prop::sample::select(vec![
        "a",
        "b/c",
        "..",
        "../..",
        "../a",
        "../secret",
        "../../secret",
        "../../../secret",
        ".",
        "./a/../b",
        "a/",
        "../root/a",
        "/etc/hostname",
        "missing",
        "x.log",
        ".git/HEAD",
        "../.h",
        "a/../../secret",
        "/",
        "../root/../secret",
    ]);
    let thing = prop_oneof![
        4 => "[a-z]{0,12}".prop_map(Thing::File),
        2 => (prop::sample::select(vec![".gitignore", ".ignore"]), prop::collection::vec(rule, 1..5))
            .prop_map(|(name, rules)| Thing::Rules(name, rules)),
        3 => target.prop_map(Thing::Link),
    ];
    prop::collection::vec((places(), thing), 0..24)
}

/// Makes what can be made: a place may be taken, or lie below a file.
fn make(root: &Path, things: &Things) {
    fs::write(root.parent().unwrap().join("secret"), SECRET).unwrap();
    let is_link = |thing: &Thing| matches!(thing, Thing::Link(_));
    // Links last, or files would be written through them.
    for (place, thing) in things.iter().filter(|(_, thing)| !is_link(thing)) {
        let place = root.join(place);
        let _ = match thing {
            Thing::File(text) => {
                let _ = fs::create_dir_all(place.parent().unwrap());
                if place.exists() { Ok(()) } else { fs::write(&place, text) }
            }
            Thing::Rules(name, rules) => {
                let _ = fs::create_dir_all(&place);
                fs::write(place.join(name), rules.join("\n"))
            }
            _ => fs::create_dir_all(place.join(".git")),
        };
    }
    for (place, thing) in things {
        if let Thing::Link(target) = thing {
            let _ = std::os::unix::fs::symlink(target, root.join(place));
        }
    }
}

fn scopes() -> Vec<Scope> {
    let scope =
        |under: Option<&str>, hidden, ignored| Scope { under: under.map(path), hidden, ignored };
    vec![
        scope(None, false, false),
        scope(None, true, false),
        scope(None, false, true),
        scope(None, true, true),
        scope(Some("a"), false, false),
        scope(Some("b/.h"), false, false),
        scope(Some("target"), false, false),
    ]
}

proptest! {
    #![proptest_config(crate::cases(48))]

    #[test]
    fn sources_agree_and_nothing_outside_is_read(
        things in things(),
        probes in prop::collection::vec(places(), 12),
    ) {
        let base = Fixture::new("");
        let repo = Fixture::new_in(&base.path().join("root"));
        make(repo.path(), &things);
        let mut probes = probes;
        probes.extend(things.iter().map(|(place, _)| place.clone()));
        probes.extend(things.iter().map(|(place, _)| format!("{place}/secret")));
        let sources = sources(&repo);
        let expected = portrait(&*sources[0].1, &scopes(), &probes);
        prop_assert!(!expected.contains(&SECRET[..8]), "{expected}");
        for (name, tree) in &sources[1..] {
            prop_assert_eq!(&portrait(&**tree, &scopes(), &probes), &expected, "{}", name);
        }
    }
}

proptest! {
    #![proptest_config(crate::cases(256))]

    #[test]
    fn a_walk_lists_what_ripgrep_lists(
        things in things(),
        repositories in prop::collection::vec(places(), 0..2),
    ) {
        let base = Fixture::new("");
        let root = base.path().join("root");
        fs::create_dir_all(root.join(".git")).unwrap();
        let repositories = repositories.into_iter().map(|place| (place, Thing::Repository));
        make(&root, &things.into_iter().chain(repositories).collect());
        let tree = disk(&root);
        for scope in scopes() {
            let under = match &scope.under {
                Some(under) => root.join(under.as_str()),
                None => root.clone(),
            };
            // Ripgrep follows a link that it is given, and lists under the link's name.
            if !under.exists() || under.canonicalize().unwrap() != under {
                continue;
            }
            let mut builder = WalkBuilder::new(&under);
            builder.hidden(!scope.hidden).git_global(false).git_exclude(false);
            builder.ignore(!scope.ignored).git_ignore(!scope.ignored);
            let mut expected: Vec<String> = builder
                .build()
                .flatten()
                .filter(|entry| entry.file_type().is_some_and(|it| it.is_file()))
                .map(|entry| entry.path().strip_prefix(&root).unwrap().to_str().unwrap().to_owned())
                .filter(|path| !path.split('/').any(|name| name == ".git"))
                .map(|plain| if plain.contains('\\') && !plain.contains('/') { format!("./{plain}") } else { plain })
                .collect();
            expected.sort();
            let mut found = listed(&*tree, &scope);
            if scope.ignored && !scope.hidden {
                // A `!` rule that names a hidden entry still holds where rules that exclude do not.
                found.retain(|path| expected.contains(path));
            }
            prop_assert_eq!(found, expected, "{:?}", scope);
        }
    }
}

/// Swaps a folder with a link to the outside, again and again, while `act` runs.
#[cfg(target_os = "linux")]
fn swapping<T>(root: &Path, act: impl FnOnce() -> T) -> T {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let (dir, link) = (root.join("dir"), root.join("link"));
                renameat_with(CWD, dir, CWD, link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let result = act();
        done.store(true, Ordering::Relaxed);
        result
    })
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_swapped_for_a_link_while_it_is_read_leaks_nothing() {
    let base = Fixture::new(
        "
        //- /inside/dir/sub/file.rs
        public
        //- /inside/other.rs
        //- /outside/sub/file.rs
        the secret that lies outside
        //- /outside/sub/secret_name.rs
        ",
    );
    base.link("inside/link", "../outside");
    let root = base.path().join("inside");
    let tree = DiskTree::open(&root).unwrap();
    let name = path("dir/sub/file.rs");
    let (mut own, mut refused, mut naive) = (0, 0, 0);
    swapping(&root, || {
        for round in 0.. {
            if round >= 5_000 && own > 100 && refused > 100 && naive > 100 || round == 1_000_000 {
                break;
            }
            match tree.read(&name, 1 << 20) {
                Ok(blob) => {
                    assert_eq!(blob.bytes, b"public\n");
                    own += 1;
                }
                Err(_) => refused += 1,
            }
            if let Ok(kind) = tree.kind(&name) {
                assert_eq!(kind, codegrep_tree::Kind::File { size: 7 });
            }
            if round % 16 == 0 {
                let listing = tree.walk(&Scope::default(), &Watch::idle()).unwrap();
                let names: Vec<&str> = listing.entries.iter().map(|e| e.path.as_str()).collect();
                let safe = ["dir/sub/file.rs", "link/sub/file.rs", "other.rs"];
                assert!(names.iter().all(|name| safe.contains(name)), "{names:?}");
                assert!(listing.entries.iter().all(|entry| entry.size <= 7));
            }
            let by_path = fs::read_to_string(root.join("dir/sub/file.rs")).unwrap_or_default();
            naive += usize::from(by_path.starts_with(SECRET));
        }
    });
    // The attack works on whoever opens by path, and does not keep us from reading.
    assert!(naive > 100 && own > 100 && refused > 100, "{naive} {own} {refused}");
}
