//! Packs that git never writes.

use std::fs;
use std::io::Write as _;

use codegrep_tree::GitTree;
use codegrep_tree::fixture::Fixture;
use expect_test::expect;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::git::git;
use crate::soon;

const COMMIT: u8 = 1;
const OFS_DELTA: u8 = 6;
const REF_DELTA: u8 = 7;

/// The id of the object at `place`; nothing but an index gives it.
fn id(place: usize) -> [u8; 20] {
    let mut id = [0; 20];
    id[..4].copy_from_slice(&(place as u32 + 1).to_be_bytes());
    id
}

/// An entry: its header with the `size` it claims, the `base` as its type has it, and its content.
fn entry(kind: u8, size: u64, base: &[u8], content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind << 4 | (size & 15) as u8];
    let mut rest = size >> 4;
    while rest > 0 {
        *bytes.last_mut().unwrap() |= 128;
        bytes.push((rest & 127) as u8);
        rest >>= 7;
    }
    bytes.extend_from_slice(base);
    let mut zlib = ZlibEncoder::new(bytes, Compression::fast());
    zlib.write_all(content).unwrap();
    zlib.finish().unwrap()
}

/// How far back a base lies, as an `OFS_DELTA` says it.
fn back(mut distance: u64) -> Vec<u8> {
    let mut bytes = vec![(distance & 127) as u8];
    while distance > 127 {
        distance = (distance >> 7) - 1;
        bytes.insert(0, 128 | (distance & 127) as u8);
    }
    bytes
}

/// Base and result of ten bytes, and the ten bytes.
const DELTA: [u8; 13] = *b"\x0a\x0a\x0a0123456789";

/// Lays a pack and its index into a new repository; the objects are called [`id`] of their place.
fn repository(entries: &[Vec<u8>]) -> Fixture {
    let repo = Fixture::new("//- /a\n");
    git(repo.path(), &["init", "-q"]);
    let count = entries.len() as u32;
    let mut pack = [&b"PACK\0\0\0\x02"[..], &count.to_be_bytes()].concat();
    let mut index = b"\xfftOc\0\0\0\x02".to_vec();
    // All ids begin with a zero byte.
    index.extend(count.to_be_bytes().repeat(256));
    index.extend((0..entries.len()).flat_map(id));
    index.resize(index.len() + 4 * entries.len(), 0);
    for entry in entries {
        index.extend((pack.len() as u32).to_be_bytes());
        pack.extend(entry);
    }
    index.extend([0; 40]);
    pack.extend([0; 20]);
    repo.write(".git/objects/pack/pack-x.pack", pack);
    repo.write(".git/objects/pack/pack-x.idx", index);
    repo
}

/// What opening the commit at `place` says.
fn said(entries: &[Vec<u8>], place: usize) -> String {
    let repo = repository(entries);
    soon(move || {
        let commit: String = id(place).iter().map(|byte| format!("{byte:02x}")).collect();
        let error = GitTree::open(repo.path(), &commit).map(|_| ()).unwrap_err().to_string();
        error.replace(repo.path().to_str().unwrap(), "…").replace(&commit, "<id>") + "\n"
    })
}

#[test]
fn a_pack_that_leads_nowhere_or_claims_too_much_is_refused_at_once() {
    let commit = entry(COMMIT, 10, &[], b"0123456789");
    let deep = || {
        let mut entries = vec![commit.clone()];
        entries.push(entry(OFS_DELTA, 13, &back(commit.len() as u64), &DELTA));
        let distance = back(entries[1].len() as u64);
        entries.resize(100_001, entry(OFS_DELTA, 13, &distance, &DELTA));
        entries
    };
    let huge = |delta: &[u8]| {
        let first = entry(COMMIT, 10, &[], b"0123456789");
        let distance = back(first.len() as u64);
        vec![first, entry(OFS_DELTA, delta.len() as u64, &distance, delta)]
    };
    let says = [
        said(&[entry(REF_DELTA, 13, &id(0), &DELTA)], 0),
        said(&[entry(REF_DELTA, 13, &id(1), &DELTA), entry(REF_DELTA, 13, &id(0), &DELTA)], 1),
        said(&[entry(OFS_DELTA, 13, &back(0), &DELTA)], 0),
        said(&[entry(OFS_DELTA, 13, &back(100_000), &DELTA)], 0),
        said(&[entry(REF_DELTA, 13, &id(9), &DELTA)], 0),
        said(&deep(), 100_000),
        said(&[entry(COMMIT, 1 << 40, &[], b"x")], 0),
        // A base, then a result, of 2^42 bytes.
        said(&huge(b"\x80\x80\x80\x80\x80\x80\x01\x0a\x90\x0a"), 1),
        said(&huge(b"\x0a\x80\x80\x80\x80\x80\x80\x01\x90\x0a"), 1),
        said(&[entry(5, 10, &[], b"0123456789")], 0),
        said(&[vec![0xff; 12]], 0),
    ];
    expect![[r#"
        …: git object <id> is damaged: its deltas form a cycle or are more than 4095
        …: git object <id> is damaged: its deltas form a cycle or are more than 4095
        …: git object <id> is damaged: the base of a delta does not lie before it
        …: git object <id> is damaged: the base of a delta does not lie before it
        …: git object <id> is damaged: the base of a delta is not in its pack
        …: git object <id> is damaged: its deltas form a cycle or are more than 4095
        …: git object <id> is damaged: it or what it is made of has more than 256 MiB
        …: git object <id> is damaged: it or what it is made of has more than 256 MiB
        …: git object <id> is damaged: it or what it is made of has more than 256 MiB
        …: git object <id> is damaged: an entry of its pack is of the unknown type 5
        …: git object <id> is damaged: it or what it is made of has more than 256 MiB
    "#]]
    .assert_eq(&says.concat());
}

type Damage = fn(&mut Vec<u8>);

/// Where the ids of an index begin.
const IDS: usize = 8 + 1024;

#[test]
fn an_index_that_two_searches_read_differently_is_refused() {
    let commit = entry(COMMIT, 10, &[], b"0123456789");
    let repo = repository(&[commit.clone(), commit.clone(), commit]);
    let file = repo.path().join(".git/objects/pack/pack-x.idx");
    let right = fs::read(&file).unwrap();
    let hex = format!("00000002{}", "0".repeat(32));
    let opened = || GitTree::open(repo.path(), &hex).map(|_| ()).unwrap_err().to_string();
    assert!(opened().contains("hash mismatch"), "{}", opened());
    // What libgit2 takes for no index holds nothing.
    let cases: [(&str, Damage); 4] = [
        ("no commit", |index| index.truncate(index.len() - 41)),
        ("its ids are not in order", |index| index.swap(IDS + 3, IDS + 43)),
        ("its ids are not in order", |index| index[IDS + 43] = 2),
        ("no commit", |index| index[7] = 3),
    ];
    for (why, damage) in cases {
        let mut index = right.clone();
        damage(&mut index);
        fs::write(&file, index).unwrap();
        assert!(opened().contains(why), "{why}: {}", opened());
    }
}

#[test]
fn an_alternate_is_one_folder_whoever_reads_it() {
    let repo = Fixture::new("//- /a\n");
    let commit = repo.commit("one");
    for (text, is_read) in [
        ("/nowhere\n# a comment\n\n", true),
        ("../nowhere", true),
        ("objects", false),
        ("/nowhere\0\n", false),
        ("/nowhere\robjects\n", false),
    ] {
        repo.write(".git/objects/info/alternates", text);
        let opened = GitTree::open(repo.path(), &commit).map(|_| ());
        assert_eq!(opened.is_ok(), is_read, "{text:?}: {opened:?}");
    }
}
