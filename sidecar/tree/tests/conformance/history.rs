use std::fs;
use std::path::Path;
use std::sync::Arc;

use codegrep_tree::fixture::Fixture;
use codegrep_tree::{DiskTree, ForestTree, GitTree, History, OverlayTree, Tree, Watch};
use expect_test::{Expect, expect};

use crate::git::git;
use crate::{disk, soon};

/// Each commit's message and what it changed, newest first.
fn told(history: &History, most_commits: usize, most_files: usize) -> String {
    let commits = history.commits(most_commits, &Watch::idle()).unwrap();
    let line = |commit| {
        let changed = history.changed(commit, most_files).unwrap();
        let changed = changed.map_or("too many or unknown".to_owned(), |paths| {
            paths.iter().map(|path| path.as_str()).collect::<Vec<_>>().join(" ")
        });
        format!("{}: {changed}\n", commit.message)
    };
    commits.iter().map(line).collect()
}

fn check(tree: &dyn Tree, want: Expect) {
    want.assert_eq(&told(&tree.history().unwrap(), 100, 10));
}

/// A file added, changed, moved, a folder gone, and a merge.
fn storied() -> Fixture {
    let repo = Fixture::new("//- /app/src/a.py\none\n//- /app/src/b.py\nsame\n//- /docs/x.md\nx\n");
    repo.commit("first");
    repo.write("app/src/a.py", "two\n");
    repo.commit("change a\n\nwith a body");
    git(repo.path(), &["checkout", "-q", "-b", "side"]);
    repo.write("docs/y.md", "y");
    repo.commit("on the side");
    git(repo.path(), &["checkout", "-q", "main"]);
    repo.remove("app/src/b.py");
    repo.write("app/b.py", "same\n");
    repo.commit("move b");
    git(repo.path(), &["merge", "-q", "-m", "merge", "side"]);
    fs::remove_dir_all(repo.path().join("docs")).unwrap();
    repo.commit("no docs");
    repo
}

#[test]
fn a_history_names_what_each_commit_changed_and_steps_over_merges() {
    let repo = storied();
    let want = || {
        expect![[r#"
            no docs: docs/x.md docs/y.md
            on the side: docs/y.md
            move b: app/b.py app/src/b.py
            change a

            with a body: app/src/a.py
            first: app/src/a.py app/src/b.py docs/x.md
        "#]]
    };
    check(&*disk(repo.path()), want());
    let overlaid = OverlayTree::new(disk(repo.path()), []).unwrap();
    check(&overlaid, want());
    let head = git(repo.path(), &["rev-parse", "HEAD"]);
    check(&GitTree::open(repo.path(), &head).unwrap(), want());
    // Packed objects say the same.
    git(repo.path(), &["gc", "-q"]);
    check(&*disk(repo.path()), want());
}

#[test]
fn an_older_commit_has_what_came_before_it() {
    let repo = storied();
    let old = git(repo.path(), &["rev-parse", "HEAD~2^1~0"]);
    let tree = GitTree::open(repo.path(), &old).unwrap();
    check(
        &tree,
        expect![[r#"
            change a

            with a body: app/src/a.py
            first: app/src/a.py app/src/b.py docs/x.md
        "#]],
    );
}

#[test]
fn a_folder_of_a_repository_sees_its_own_part_and_a_forest_each_tree_in_its_place() {
    let repo = storied();
    let app = DiskTree::open(&repo.path().join("app")).unwrap();
    check(
        &app,
        expect![[r#"
            no docs: 
            on the side: 
            move b: b.py src/b.py
            change a

            with a body: src/a.py
            first: src/a.py src/b.py
        "#]],
    );
    let other = Fixture::new("//- /z.rs\nz\n");
    other.commit("another");
    let forest = ForestTree::new([
        ("app".to_owned(), Arc::new(app) as Arc<dyn Tree>),
        ("other".to_owned(), disk(other.path())),
    ]);
    let all = told(&forest.history().unwrap(), 100, 10);
    assert!(all.contains("move b: app/b.py app/src/b.py\n"), "{all}");
    assert!(all.ends_with("another: other/z.rs\n"), "{all}");
}

#[test]
fn limits_are_kept() {
    let repo = storied();
    let history = disk(repo.path()).history().unwrap();
    assert_eq!(told(&history, 2, 1), "no docs: too many or unknown\non the side: docs/y.md\n");
    assert_eq!(history.tips(), [git(repo.path(), &["rev-parse", "HEAD"])]);
}

#[test]
fn a_folder_without_commits_has_no_history() {
    let plain = Fixture::new("//- /a\n");
    assert!(disk(plain.path()).history().is_none());
    git(plain.path(), &["init", "-q"]);
    assert!(disk(plain.path()).history().is_none());
}

#[test]
fn a_shallow_or_damaged_history_ends_where_it_ends() {
    let repo = storied();
    let shallow = tempfile::tempdir().unwrap();
    let from = format!("file://{}", repo.path().display());
    git(shallow.path(), &["clone", "-q", "--depth", "2", &from, "."]);
    check(
        &*disk(shallow.path()),
        expect![[r#"
            no docs: docs/x.md docs/y.md
        "#]],
    );
    // The tree of a commit is no tree.
    let damaged = storied();
    let tree = git(damaged.path(), &["rev-parse", "HEAD~1:app"]);
    let (folder, file) = tree.split_at(2);
    let object = damaged.path().join(".git/objects").join(folder).join(file);
    fs::remove_file(object).unwrap();
    let told = soon(move || told(&disk(damaged.path()).history().unwrap(), 100, 10));
    assert!(told.contains("first: app/src/a.py"), "{told}");
}

#[test]
fn a_worktree_has_the_history_of_its_own_head() {
    let repo = storied();
    let other = tempfile::tempdir().unwrap();
    let at = other.path().join("wt");
    git(repo.path(), &["worktree", "add", "-q", at.to_str().unwrap(), "side"]);
    let told = told(&disk(Path::new(&at)).history().unwrap(), 1, 10);
    assert_eq!(told, "on the side: docs/y.md\n");
}
