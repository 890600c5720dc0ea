use codegrep_tree::fixture::Fixture;
use codegrep_tree::{OverlayTree, RepoPath, Scope, Tree, TreeError};

use crate::{disk, listed, path};

fn over(repo: &Fixture, buffers: &[(&str, &str)]) -> Result<OverlayTree, TreeError> {
    let buffers = buffers.iter().map(|(name, text)| (path(name), text.as_bytes().to_vec()));
    OverlayTree::new(disk(repo.path()), buffers)
}

fn refused(repo: &Fixture, buffer: &str) -> String {
    over(repo, &[(buffer, "x")]).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn unsaved_text_wins_and_new_files_are_listed() {
    let repo = Fixture::new("//- /a.rs\nsaved\n//- /b.rs\n");
    let tree = over(&repo, &[("a.rs", "unsaved"), ("new/deep/c.rs", "new")]).unwrap();
    assert_eq!(listed(&tree, &Scope::default()), ["a.rs", "b.rs", "new/deep/c.rs"]);
    assert_eq!(tree.read(&path("a.rs"), 3).unwrap().bytes, b"uns");
    assert_eq!(tree.read(&path("a.rs"), 3).unwrap().size, 7);
    assert!(matches!(tree.read(&path("new"), 3), Err(TreeError::IsDir { .. })));
}

#[test]
fn a_stamp_changes_with_the_text() {
    let repo = Fixture::new("//- /a.rs\nsaved\n");
    let stamp = |text: &str| {
        let tree = over(&repo, &[("a.rs", text)]).unwrap();
        tree.walk(&Scope::default(), &codegrep_tree::Watch::idle()).unwrap().entries[0].stamp
    };
    assert_eq!(stamp("one"), stamp("one"));
    assert_ne!(stamp("one"), stamp("two"));
}

#[test]
fn rules_hold_for_buffers_as_if_they_were_saved() {
    let repo = Fixture::new("//- /.gitignore\n*.log\nbuild/\n//- /a.rs\n//- /b.tmp\n");
    let tree = over(&repo, &[("x.log", ""), ("build/x.rs", ""), ("a.log", "")]).unwrap();
    assert_eq!(listed(&tree, &Scope::default()), ["a.rs", "b.tmp"]);
    let named = Scope { under: Some(path("x.log")), ..Scope::default() };
    assert_eq!(listed(&tree, &named), ["x.log"]);
    // The rules are those in the editor, too.
    let tree = over(&repo, &[(".gitignore", "*.tmp\n"), ("x.log", "")]).unwrap();
    assert_eq!(listed(&tree, &Scope::default()), ["a.rs", "x.log"]);
}

#[test]
fn a_buffer_reached_through_a_link_is_the_linked_file() {
    let repo = Fixture::new("//- /src/a.rs\nsaved\n");
    repo.link("link", "src");
    repo.link("soon", "src/new.rs");
    let tree = over(&repo, &[("link/a.rs", "unsaved"), ("soon", "new")]).unwrap();
    assert_eq!(listed(&tree, &Scope::default()), ["src/a.rs", "src/new.rs"]);
    for (name, text) in [("src/a.rs", "unsaved"), ("link/a.rs", "unsaved"), ("link/new.rs", "new")]
    {
        assert_eq!(tree.read(&path(name), 10).unwrap().bytes, text.as_bytes(), "{name}");
    }
}

#[test]
fn a_buffer_that_is_no_file_of_the_tree_is_refused() {
    let repo = Fixture::new("//- /src/a.rs\n//- /.git/config\n");
    repo.link("out", "..");
    repo.link("to_src", "src");
    let cases = [
        ("out/x.rs", "out/x.rs: leaves the repository (a link that is absolute or points outside)"),
        (".git/config", ".git/config: lies in git's own folder, which is not served"),
        (".git/new", ".git/new: lies in git's own folder, which is not served"),
        ("src", "src: is a folder, not a file"),
        ("to_src", "to_src: is a folder, not a file"),
        ("src/a.rs/x", "src/a.rs/x: no such file or folder"),
        ("", ".: is a folder, not a file"),
    ];
    for (buffer, error) in cases {
        assert_eq!(refused(&repo, buffer), error);
    }
    assert!(over(&repo, &[("new/x", ""), ("new", "")]).is_err());
    assert!(over(&repo, &[("new", ""), ("new/x", "")]).is_err());
    assert!(RepoPath::parse("../x.rs").is_err());
}

#[test]
fn a_folder_that_only_a_buffer_makes_is_a_folder() {
    let repo = Fixture::new("");
    let tree = over(&repo, &[("new/a.rs", "")]).unwrap();
    assert_eq!(tree.kind(&path("new")).unwrap(), codegrep_tree::Kind::Dir);
    assert!(matches!(tree.read(&path("new"), 1), Err(TreeError::IsDir { .. })));
    assert!(matches!(tree.blob_id(&path("new")), Err(TreeError::IsDir { .. })));
}

#[test]
fn a_link_through_a_missing_folder_names_nothing() {
    let repo = Fixture::new("//- /x\n");
    repo.link("up", "missing/../x");
    repo.link("out", "missing/../../x");
    let tree = over(&repo, &[("a.rs", "")]).unwrap();
    for name in ["up", "out"] {
        assert!(matches!(tree.read(&path(name), 1), Err(TreeError::NotFound { .. })), "{name}");
    }
}
