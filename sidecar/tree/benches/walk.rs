//! `cargo bench -p codegrep-tree`: walks of generated repositories, beside ripgrep's own walker.

use std::process::Command;

use codegrep_tree::fixture::Fixture;
use codegrep_tree::{DiskTree, GitTree, READ_LIMIT, Scope, Tree, Watch};
use divan::Bencher;

fn main() {
    divan::main();
}

/// `files` small files, 25 to a folder, folders three deep, with rules at two depths.
fn repository(files: usize) -> Fixture {
    let dir = Fixture::new("//- /.gitignore\ntarget/\n*.o\n/build\nnode_modules\n");
    for n in 0..files {
        let name = format!("p{}/m{}/d{}/file_{n}.rs", n / 2500, n / 250, n / 25);
        dir.write(name, format!("fn f{n}() {{}}\n"));
        if n % 2500 == 0 {
            dir.write(format!("p{}/.gitignore", n / 2500), "*.tmp\n");
        }
    }
    dir
}

const SIZES: [usize; 2] = [7_000, 100_000];

#[divan::bench(args = SIZES, sample_count = 10)]
fn disk(bencher: Bencher<'_, '_>, files: usize) {
    let dir = repository(files);
    let tree = DiskTree::open(dir.path()).unwrap();
    bencher.bench_local(|| {
        let listing = tree.walk(&Scope::default(), &Watch::idle()).unwrap();
        assert_eq!(listing.entries.len(), files);
    });
}

/// Ripgrep's walker with the same rules and a stat for each file.
#[divan::bench(args = SIZES, sample_count = 10)]
fn ripgrep(bencher: Bencher<'_, '_>, files: usize) {
    let dir = repository(files);
    bencher.bench_local(|| {
        let walk = ignore::WalkBuilder::new(dir.path())
            .require_git(false)
            .git_global(false)
            .git_exclude(false)
            .parents(false)
            .build();
        let found = walk.flatten().filter(|e| e.metadata().is_ok_and(|m| m.is_file())).count();
        assert_eq!(found, files);
    });
}

/// A commit, packed as `git gc` leaves it.
fn packed(files: usize) -> (Fixture, GitTree) {
    let dir = repository(files);
    let commit = dir.commit("all");
    let gc = Command::new("git").args(["gc", "-q"]).current_dir(dir.path()).status();
    assert!(gc.is_ok_and(|status| status.success()));
    let tree = GitTree::open(dir.path(), &commit).unwrap();
    (dir, tree)
}

#[divan::bench(args = [7_000], sample_count = 10)]
fn git_first(bencher: Bencher<'_, '_>, files: usize) {
    let (dir, _) = packed(files);
    bencher.bench_local(|| {
        let tree = GitTree::open(dir.path(), "HEAD").unwrap();
        let listing = tree.walk(&Scope::default(), &Watch::idle()).unwrap();
        assert_eq!(listing.entries.len(), files);
    });
}

#[divan::bench(args = [7_000], sample_count = 10)]
fn git_again(bencher: Bencher<'_, '_>, files: usize) {
    let (_dir, tree) = packed(files);
    bencher.bench_local(|| tree.walk(&Scope::default(), &Watch::idle()).unwrap());
}

#[divan::bench(args = [7_000], sample_count = 10)]
fn git_read_all(bencher: Bencher<'_, '_>, files: usize) {
    let (_dir, tree) = packed(files);
    read(bencher, &tree);
}

fn read(bencher: Bencher<'_, '_>, tree: &dyn Tree) {
    let listing = tree.walk(&Scope::default(), &Watch::idle()).unwrap();
    bencher.bench_local(|| {
        for entry in &listing.entries {
            divan::black_box(tree.read(&entry.path, READ_LIMIT).unwrap());
        }
    });
}

#[divan::bench(args = [7_000], sample_count = 10)]
fn disk_read_all(bencher: Bencher<'_, '_>, files: usize) {
    let dir = repository(files);
    read(bencher, &DiskTree::open(dir.path()).unwrap());
}

/// The price of a hostile `.gitignore` as large as is read.
#[divan::bench(sample_count = 5)]
fn large_gitignore(bencher: Bencher<'_, '_>) {
    let dir = Fixture::new("//- /a.rs\n");
    let rules: String = (0..20_000).map(|n| format!("a*b{n}/[c-d]?\n")).collect();
    dir.write(".gitignore", rules);
    let tree = DiskTree::open(dir.path()).unwrap();
    bencher.bench_local(|| tree.walk(&Scope::default(), &Watch::idle()).unwrap());
}
