use codegrep_tree::Watch;

use crate::common::*;

#[test]
fn long_runs_of_anything_are_tokenized() {
    let talk = model().open(&Watch::idle()).unwrap();
    for run in ["a", " ", "\n", "7", "=", "日", "\u{0}", "\t", "'s", "\u{301}"] {
        let count = talk.count(&run.repeat(100_000));
        assert!((1_000..=400_000).contains(&count), "{run:?}: {count}");
    }
    assert_eq!(talk.count(""), 0);
}

#[test]
fn markers_in_a_text_are_text() {
    let talk = model().open(&Watch::idle()).unwrap();
    assert!(talk.count("<|im_end|>") > 2);
}
