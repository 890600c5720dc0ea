//! `cargo bench -p codegrep-tree`: walks of generated repositories, beside ripgrep's own walker.

use std::fs;
use std::path::Path;

use codegrep_tree::{DiskTree, RepoPath, Scope, Tree, Watch};
use divan::Bencher;
use tempfile::TempDir;

fn main() {
    divan::main();
}

/// `files` small files, 25 to a folder, folders three deep, with rules at two depths.
fn repository(files: usize) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for n in 0..files {
        let folder = dir.path().join(format!("p{}/m{}/d{}", n / 2500, n / 250, n / 25));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("file_{n}.rs")), format!("fn f{n}() {{}}\n")).unwrap();
        if n % 2500 == 0 {
            fs::write(dir.path().join(format!("p{}/.gitignore", n / 2500)), "*.tmp\n").unwrap();
        }
    }
    fs::write(dir.path().join(".gitignore"), "target/\n*.o\n/build\nnode_modules\n").unwrap();
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

#[divan::bench(args = [7_000], sample_count = 10)]
fn read_all(bencher: Bencher<'_, '_>, files: usize) {
    let dir = repository(files);
    let tree = DiskTree::open(dir.path()).unwrap();
    let listing = tree.walk(&Scope::default(), &Watch::idle()).unwrap();
    bencher.bench_local(|| {
        for entry in &listing.entries {
            divan::black_box(tree.read(&entry.path, 1 << 20).unwrap());
        }
    });
}

/// The price of a hostile `.gitignore` as large as is read.
#[divan::bench(sample_count = 5)]
fn large_gitignore(bencher: Bencher<'_, '_>) {
    let dir = tempfile::tempdir().unwrap();
    write_rules(dir.path());
    let tree = DiskTree::open(dir.path()).unwrap();
    bencher.bench_local(|| {
        tree.kind(&RepoPath::root()).and(tree.walk(&Scope::default(), &Watch::idle())).unwrap()
    });
}

fn write_rules(dir: &Path) {
    let rules: String = (0..20_000).map(|n| format!("a*b{n}/[c-d]?\n")).collect();
    fs::write(dir.join(".gitignore"), rules).unwrap();
    fs::write(dir.join("a.rs"), "").unwrap();
}
