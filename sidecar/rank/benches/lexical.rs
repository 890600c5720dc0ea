//! Index a repository from nothing; ask it with the index at hand; ask it after one file changed.
//!
//! `CODEGREP_BENCH_REPO` names a folder to use; otherwise 7,000 files with 60 MB of made-up code
//! are written to a temporary folder.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use codegrep_index::Store;
use codegrep_rank::{Ranker, candidates};
use codegrep_tree::{DiskTree, Watch};
use divan::Bencher;

const FILES: usize = 7_000;
const BYTES: usize = 60 << 20;
const TEXT: &str = "QuerySet.bulk_create() fails on update\n\nWhen `bulk_create` is called with \
    update_conflicts=True the returned objects have no primary key. See models/query.py line 600.";

static REPO: LazyLock<Repo> = LazyLock::new(|| match std::env::var_os("CODEGREP_BENCH_REPO") {
    Some(path) => Repo { path: path.into(), _made: None },
    None => {
        let made = tempfile::tempdir().expect("a temporary folder");
        write_files(made.path());
        Repo { path: made.path().to_owned(), _made: Some(made) }
    }
});

struct Repo {
    path: PathBuf,
    _made: Option<tempfile::TempDir>,
}

fn main() {
    divan::main();
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn cold_index(bencher: Bencher<'_, '_>) {
    let tree = DiskTree::open(&REPO.path).expect("the repository opens");
    let index = Store::default().index(&tree, &Watch::idle()).expect("an index");
    eprintln!("{} files, index of {} MB", index.len(), index.memory() >> 20);
    bencher.bench(|| Store::default().index(&tree, &Watch::idle()).expect("an index").len());
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn warm_query(bencher: Bencher<'_, '_>) {
    let tree = DiskTree::open(&REPO.path).expect("the repository opens");
    let ranker = Ranker::default();
    let ask = || candidates(TEXT, &tree, &ranker, &Watch::idle()).expect("a ranking");
    let first = ask();
    assert!(!first.candidates.is_empty());
    bencher.bench(ask);
}

/// Deterministic code-like text: words by Zipf's law, one definition every dozen lines.
fn write_files(root: &Path) {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    for file in 0..FILES {
        let mut text = String::new();
        while text.len() < BYTES / FILES {
            // Rank r of 30,000 words with probability about 1/r.
            let mut word = || format!("word{:x}", (30_000f64.powf(random())) as u64);
            text += &format!("def {}_{}(self, {}):\n", word(), word(), word());
            for _ in 0..12 {
                text +=
                    &format!("    {} = {}.{}({}, {})\n", word(), word(), word(), word(), word());
            }
        }
        let folder = root.join(format!("package{}/part{}", file % 20, file % 300));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(format!("module{file}.py")), text).expect("a file");
    }
}
