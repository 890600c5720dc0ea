use std::sync::Arc;

use codegrep_tree::{DiskTree, GitTree, OverlayTree, RepoPath, Tree};
use serde_json::json;

use super::{project, transcript};

/// The same files on disk, in a commit, and as unsaved buffers over other text.
#[test]
fn every_source_gives_the_same_results() {
    let fixture = project();
    let mixed: Vec<u8> =
        "\u{FEFF}línea\r\nsave\r\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    fixture.write("app/utf16.py", &mixed);
    fixture.write("app/crlf.py", "def save():\r\n    pass\r\n");
    let commit = fixture.commit("more");
    let git = GitTree::open(fixture.path(), &commit).unwrap();
    let disk: Arc<dyn Tree> = Arc::new(DiskTree::open(fixture.path()).unwrap());

    let stale = project();
    stale.write("app/models/base.py", "def save(): stale\n");
    stale.commit("stale");
    let base: Arc<dyn Tree> = Arc::new(DiskTree::open(stale.path()).unwrap());
    let unsaved = ["app/models/base.py", "app/utf16.py", "app/crlf.py"].map(|path| {
        let path = RepoPath::parse(path).unwrap();
        let bytes = disk.read(&path, u64::MAX).unwrap().bytes;
        (path, bytes)
    });
    let overlay = OverlayTree::new(base, unsaved).unwrap();

    let calls = [
        ("grep", json!({"pattern": "save"})),
        ("grep", json!({"pattern": "pass$", "path": "app"})),
        ("grep", json!({"pattern": "save", "path": "logo.png"})),
        ("grep", json!({"pattern": "save", "glob": "build/**"})),
        ("glob", json!({"pattern": "*.py"})),
        ("glob", json!({"pattern": ".github/**"})),
        ("read", json!({"path": "app/utf16.py"})),
        ("read", json!({"path": "app/models/bose.py"})),
    ];
    let want = transcript(&*disk, &calls);
    assert!(want.contains("app/utf16.py:2: save\n") && want.contains("did you mean"), "{want}");
    assert_eq!(transcript(&git, &calls), want);
    assert_eq!(transcript(&overlay, &calls), want);
}
