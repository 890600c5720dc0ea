//! What holds for every source of a repository's files.

use codegrep_tree::fixture::Fixture;
use codegrep_tree::{DiskTree, Kind, RepoPath, Scope, Tree, Watch};

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn paths(tree: &dyn Tree, scope: &Scope) -> Vec<String> {
    let listing = tree.walk(scope, &Watch::idle()).unwrap();
    listing.entries.iter().map(|entry| entry.path.as_str().to_owned()).collect()
}

#[test]
fn lists_what_a_developer_sees() {
    let repo = Fixture::new(
        "
        //- /.gitignore
        *.log
        !keep.log
        target/
        //- /.ignore
        !shown.log
        //- /.github/ci.yml
        on: push
        //- /a/.gitignore
        /only_here
        //- /a/only_here
        //- /a/b/only_here
        //- /a/x.log
        //- /a/keep.log
        //- /a/shown.log
        //- /target/out.rs
        //- /z.rs
        fn z() {}
        ",
    );
    repo.commit("one");
    let tree = DiskTree::open(repo.path()).unwrap();
    let all = |under: Option<&str>, hidden, ignored| {
        paths(&tree, &Scope { under: under.map(path), hidden, ignored })
    };
    let seen = ["a/b/only_here", "a/keep.log", "a/shown.log", "z.rs"];
    assert_eq!(all(None, false, false), seen);
    assert_eq!(all(Some("a"), false, false), &seen[..3]);
    assert_eq!(all(Some("target"), false, false), ["target/out.rs"]);
    assert_eq!(all(Some(".github"), false, false), [".github/ci.yml"]);
    assert_eq!(all(Some("a/x.log"), false, false), ["a/x.log"]);
    assert_eq!(
        all(None, true, true),
        [
            ".github/ci.yml",
            ".gitignore",
            ".ignore",
            "a/.gitignore",
            "a/b/only_here",
            "a/keep.log",
            "a/only_here",
            "a/shown.log",
            "a/x.log",
            "target/out.rs",
            "z.rs",
        ]
    );
    assert_eq!(tree.kind(&path("a/b")).unwrap(), Kind::Dir);
    assert_eq!(tree.read(&path("z.rs"), 5).unwrap().bytes, b"fn z(");
    assert_eq!(tree.read(&path("z.rs"), 5).unwrap().size, 10);
    assert!(tree.read(&path(".git/config"), 5).is_err());
}
