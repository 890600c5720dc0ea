use codegrep_agent::record::Found;
use codegrep_agent::{Rules, StopReason};
use codegrep_tree::Watch;

use crate::given::{GREP, calls, repository, run, run_under};

fn answered(answer: &str) -> (Vec<Found>, u32) {
    let grep = calls(&[GREP]);
    let episode = run(&format!("--- turn\n{grep}\n--- turn\nunconstrained\n\n{answer}\n"));
    assert_eq!(episode.stop, StopReason::Answered);
    (episode.files, episode.unknown_paths)
}

fn found(path: &str, line_ranges: &[(u32, u32)]) -> Found {
    Found { path: path.to_owned(), line_ranges: line_ranges.to_vec() }
}

#[test]
fn unknown_paths_are_dropped_and_counted() {
    assert_eq!(
        answered(r#"{"files": ["backup/none.py", "backup", "../x", "/etc/passwd", "README.md"]}"#),
        (vec![found("README.md", &[])], 4)
    );
    assert_eq!(answered(r#"{"files": []}"#), (vec![], 0));
}

#[test]
fn paths_are_normalised_and_named_once() {
    assert_eq!(
        answered(
            r#"{"files": [{"path": "./backup//copy.py", "line_ranges": [[1, 1]]}, "/README.md",
                {"path": "backup\\copy.py:3-6", "line_ranges": [[2, 2]]}]}"#
        ),
        (vec![found("backup/copy.py", &[(1, 2)]), found("README.md", &[])], 0)
    );
}

#[test]
fn line_ranges_are_clamped_to_the_file() {
    assert_eq!(
        answered(
            r#"{"files": [{"path": "backup/copy.py", "line_ranges": [[5, 900], [0, 1], [40, 50]]}]}"#
        ),
        (vec![found("backup/copy.py", &[(1, 1), (5, 6)])], 0)
    );
}

#[test]
fn an_empty_file_has_no_lines() {
    let fixture = repository();
    fixture.write("empty.py", "");
    let script = r#"--- turn
unconstrained

{"files": [{"path": "empty.py", "line_ranges": [[1, 1]]}]}
"#;
    let episode = run_under(&fixture, script, &Rules::default(), &Watch::idle());
    assert_eq!(episode.files, [found("empty.py", &[])]);
}

#[cfg(unix)]
#[test]
fn a_link_names_the_file_it_leads_to() {
    let fixture = repository();
    std::os::unix::fs::symlink("backup", fixture.path().join("alias")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", fixture.path().join("out")).unwrap();
    let script = "--- turn\nunconstrained\n\n{\"files\": [\"alias/copy.py\", \"out\"]}\n";
    let episode = run_under(&fixture, script, &Rules::default(), &Watch::idle());
    assert_eq!(episode.files, [found("backup/copy.py", &[])]);
    assert_eq!(episode.unknown_paths, 1);
}
