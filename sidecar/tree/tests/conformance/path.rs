use codegrep_tree::RepoPath;
use proptest::prelude::*;

/// Texts from the pieces that paths go wrong with.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        5 => prop::sample::select(vec![
            "a", "b.rs", "é", " ", "..", ".", "...", "/", "//", "\\", "\\\\", "c:", "C:\\", ":",
            "~", "-", "./", "../", "..\\", ".git", "?", "*", "con", "\\\\?\\", "\u{feff}",
        ]).prop_map(str::to_owned),
        1 => "\\PC{1,3}",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(crate::cases(2_000))]

    #[test]
    fn a_path_never_climbs_whoever_reads_it(text in texts()) {
        let Ok(path) = RepoPath::parse(&text) else { return Ok(()) };
        let shown = path.as_str();
        prop_assert!(!shown.starts_with(['/', '\\']), "{shown:?}");
        prop_assert!(!shown.chars().any(char::is_control), "{shown:?}");
        let has_drive = matches!(shown.as_bytes(), [b'a'..=b'z' | b'A'..=b'Z', b':', ..]);
        prop_assert!(!has_drive, "{shown:?}");
        prop_assert!(shown.split(['/', '\\']).all(|part| part != ".."), "{shown:?}");
        prop_assert!(path.segments().all(|part| !matches!(part, "" | "." | "..")), "{shown:?}");
    }

    #[test]
    fn a_path_that_was_printed_reads_back_as_itself(text in texts()) {
        let Ok(path) = RepoPath::parse(&text) else { return Ok(()) };
        prop_assert_eq!(RepoPath::parse(path.as_str()), Ok(path));
    }

    #[test]
    fn a_path_is_its_parent_and_its_name(text in texts()) {
        let Ok(path) = RepoPath::parse(&text) else { return Ok(()) };
        prop_assert_eq!(path.parent().is_none(), path.is_root());
        let Some(parent) = path.parent() else { return Ok(()) };
        prop_assert_eq!(&parent.child(path.file_name()).unwrap(), &path);
        prop_assert!(path.is_under(&parent) && !parent.is_under(&path));
        let below = path.below(&parent).unwrap();
        prop_assert_eq!(parent.join(&below).unwrap(), path);
    }

    #[test]
    fn names_are_kept_or_refused_never_changed(dir in texts(), name in texts()) {
        let Ok(dir) = RepoPath::parse(&dir) else { return Ok(()) };
        let Ok(path) = dir.child(&name) else { return Ok(()) };
        prop_assert_eq!(path.file_name(), &name);
        prop_assert_eq!(path.parent(), Some(dir));
        prop_assert_eq!(RepoPath::parse(path.as_str()), Ok(path));
    }
}

#[test]
fn lengths_are_bounded() {
    let long = "a/".repeat(2047) + "bb";
    assert_eq!(RepoPath::parse(&long).unwrap().as_str(), long);
    assert!(RepoPath::parse(&(long.clone() + "c")).is_err());
    let longest = RepoPath::parse(&long).unwrap();
    assert!(longest.child("c").is_err());
    assert!(RepoPath::root().child(&"a".repeat(4097)).is_err());
    // The `./` that has to be written counts.
    assert!(RepoPath::root().child(&("c:".to_owned() + &"a".repeat(4094))).is_err());
}
