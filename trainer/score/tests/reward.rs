//! Rewards against numbers worked out by hand, and what must hold of all of them.

use codegrep_score::reward::{
    Ending, Iteration, LineRange, Location, Reward, Rollout, STD_FLOOR, Scaling, Settings, Target,
    codescout, efficiency, f_beta_lines, f_beta_sets, group_advantages, matched, mean_calls,
    reward,
};
use proptest::prelude::*;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

fn at(file: &str, start: u32, end: u32) -> LineRange<'_> {
    LineRange { file, start, end }
}

#[test]
fn files_by_hand() {
    // predicted, target, F_0.5 = 1.25·P·R / (0.25·P + R)
    let table: &[(&[&str], &[&str], f64)] = &[
        (&[], &[], 1.0),
        (&[], &["a"], 0.0),
        (&["a"], &[], 0.0),
        (&["a"], &["b"], 0.0),
        (&["a"], &["a"], 1.0),
        (&["a", "a"], &["a"], 1.0),
        (&["a"], &["a", "a"], 1.0),
        (&["a", "b"], &["a"], 5.0 / 9.0), // P 1/2, R 1: 0.625/1.125
        (&["a"], &["a", "b"], 5.0 / 6.0), // P 1, R 1/2: 0.625/0.75
        (&["a", "x"], &["a", "b"], 0.5),  // P = R = 1/2
        (&["a", "x", "y"], &["a", "b"], 5.0 / 14.0), // P 1/3, R 1/2: (5/24)/(7/12)
        (&["A"], &["a"], 0.0),            // paths are told apart by case
    ];
    for (predicted, target, expected) in table {
        let got = f_beta_sets(predicted.iter().copied(), target.iter().copied(), 0.5);
        assert!(close(got, *expected), "{predicted:?} {target:?}: {got}");
    }
}

#[test]
fn lines_by_hand() {
    let gold = [at("a", 10, 19)];
    // Ten gold lines: five covered is enough, four is not.
    assert_eq!(matched([at("a", 15, 30)].iter(), &gold), (1, 1));
    assert_eq!(matched([at("a", 16, 30)].iter(), &gold), (0, 1));
    assert_eq!(matched([at("b", 10, 19)].iter(), &gold), (0, 1), "another file");
    assert_eq!(matched([at("a", 19, 10)].iter(), &gold), (0, 1), "an empty range");
    assert_eq!(matched([at("a", 1, 9)].iter(), &[at("a", 9, 1)]), (0, 1), "an empty gold");
    assert_eq!(matched([at("a", 1, u32::MAX)].iter(), &[at("a", 0, u32::MAX)]), (1, 1));
    // Three gold lines: half of them is two.
    assert_eq!(matched([at("a", 1, 1)].iter(), &[at("a", 1, 3)]), (0, 1));
    assert_eq!(matched([at("a", 1, 2)].iter(), &[at("a", 1, 3)]), (1, 1));
    // One whole file over two gold ranges takes one of them only.
    let two = [at("a", 1, 4), at("a", 10, 12)];
    assert_eq!(matched([at("a", 1, 99)].iter(), &two), (1, 1));
    assert_eq!(matched([at("a", 1, 99), at("a", 1, 99)].iter(), &two), (2, 2));
    assert_eq!(matched([at("a", 1, 99), at("a", 1, 99), at("a", 1, 99)].iter(), &two), (2, 3));
    // Greedy in the order of prediction, and not the best assignment: the wide range takes the
    // first gold, which is the only one the narrow range could have had.
    assert_eq!(matched([at("a", 1, 99), at("a", 1, 4)].iter(), &two), (1, 2));
    assert_eq!(matched([at("a", 1, 4), at("a", 1, 99)].iter(), &two), (2, 2));
    // P 1/2, R 1/2.
    assert!(close(f_beta_lines([at("a", 1, 99), at("a", 1, 4)].iter(), &two, 0.5), 0.5));
    assert_eq!(f_beta_lines([].iter(), &[], 0.5), 1.0);
    assert_eq!(f_beta_lines([].iter(), &gold, 0.5), 0.0);
    assert_eq!(f_beta_lines(gold.iter(), &[], 0.5), 0.0);
}

#[test]
fn efficiency_by_hand() {
    let table: &[(&[u32], f64, f64)] = &[
        (&[], 0.0, 0.0),
        (&[0], 0.0, 0.0),
        (&[1], 1.0, 0.5),
        (&[4], 4.0, 1.0),
        (&[8, 8, 8], 8.0, 1.0),
        (&[1, 3], 2.0, 0.5f64.sqrt()),
        (&[2, 0, 1], 1.0, 0.5),
    ];
    for (calls, mean, scale) in table {
        assert!(close(mean_calls(calls), *mean), "{calls:?}");
        assert!(close(efficiency(*mean), *scale), "{calls:?}");
    }
}

#[test]
fn iterations_by_hand() {
    // Merge: target {a, m}; predicted {a, x}: P = R = 1/2, F_file 1/2. The range in m is dropped,
    // the other one matches: F_lines 1. One call a turn: s 1/2.
    let rollout =
        Rollout { files: &["a", "x"], ranges: &[at("m", 1, 5), at("a", 10, 19)], calls: &[1, 1] };
    let target = Target {
        patch_files: &["a"],
        mined: &[("m", 0.15), ("noise", 0.1499)],
        ranges: &[at("a", 10, 19)],
    };
    let of = |iteration| reward(&rollout, &target, &Settings { iteration, ..Settings::default() });
    let expected = Reward {
        reward: 0.375,
        advantage_scale: 1.0,
        f_file: 0.5,
        f_lines: 1.0,
        mean_calls: 1.0,
        scale: 0.5,
        explored: true,
    };
    assert_eq!(of(Iteration::V1), expected);
    assert_eq!(of(Iteration::V2), Reward { reward: 0.75, advantage_scale: 0.5, ..expected });
    assert_eq!(of(Iteration::V3), Reward { reward: 0.5, advantage_scale: 0.5, ..expected });
}

#[test]
fn without_merging_mined_files_are_wrong_and_alpha_counts() {
    let rollout = Rollout { files: &["a", "m"], ranges: &[at("m", 1, 5)], calls: &[4] };
    let target =
        Target { patch_files: &["a"], mined: &[("m", 0.6), ("n", 0.2)], ranges: &[at("a", 1, 5)] };
    let settings = Settings { merge: false, ..Settings::default() };
    // P 1/2, R 1.
    assert!(close(reward(&rollout, &target, &settings).reward, 5.0 / 9.0));
    // A quarter of 0.6/0.8.
    let alpha = Settings { alpha: 0.25, ..settings };
    assert!(close(reward(&rollout, &target, &alpha).reward, 0.75 * 5.0 / 9.0 + 0.1875));
    // Nothing mined: the term says nothing.
    let bare = Target { mined: &[], ..target };
    assert!(close(reward(&rollout, &bare, &alpha).reward, 5.0 / 9.0));
    // Under merge it is inactive.
    let merged = Settings { merge: true, ..alpha };
    let plain = Settings { merge: true, ..settings };
    assert_eq!(reward(&rollout, &target, &merged), reward(&rollout, &target, &plain));
    // The only predicted range lies in a mined file: dropped under merge, wrong otherwise.
    let lines = |settings| reward(&rollout, &Target { ranges: &[], ..target }, &settings).f_lines;
    assert_eq!((lines(plain), lines(settings)), (1.0, 0.0));
}

#[test]
fn a_mined_file_that_the_patch_edits_keeps_its_ranges() {
    let rollout = Rollout { files: &["a"], ranges: &[at("a", 1, 5)], calls: &[] };
    let target = Target { patch_files: &["a"], mined: &[("a", 0.9)], ranges: &[at("a", 1, 5)] };
    let got = reward(&rollout, &target, &Settings::default());
    assert_eq!((got.f_file, got.f_lines, got.scale, got.explored), (1.0, 1.0, 0.0, false));
}

#[test]
fn codescout_by_hand() {
    let place = |file, class, function| Location { file, class, function };
    let ending = Ending { finish_calls: 1, malformed: false, turns: 4, bonus_at: None };
    let truth = [
        place("a.py", Some("A"), Some("f")),
        place("a.py", None, Some("g")),
        place("b.py", None, None),
    ];
    // Files {a} of {a, b}: 2/3. Modules {a:A} of {a:A, a:g}: 2/3. Functions {a:A.f} of two: 2/3.
    let got = codescout(&[place("a.py", Some("A"), Some("f"))], &truth, &ending);
    assert!(close(got.reward, 2.0), "{got:?}");
    // A function of that name outside the class is another one; its module is a:f.
    let got = codescout(&[place("a.py", None, Some("f"))], &truth, &ending);
    assert_eq!((got.module, got.function), (0.0, 0.0));
    assert!(close(got.file, 2.0 / 3.0));
    let all = codescout(&truth, &truth, &Ending { bonus_at: Some(4), ..ending });
    assert_eq!((all.reward, all.bonus), (4.0, 1.0));
    let late = codescout(&truth, &truth, &Ending { bonus_at: Some(4), turns: 3, ..ending });
    assert_eq!(late.reward, 3.0);
    // Only imports were edited: nothing is wanted on the other levels, and nothing given.
    let imports = [place("b.py", None, None)];
    assert_eq!(codescout(&imports, &imports, &ending).reward, 1.0);
    let zero = |truth: &[Location<'_>], ending| codescout(truth, truth, &ending).reward;
    assert_eq!(zero(&[], ending), 0.0);
    assert_eq!(zero(&truth, Ending { finish_calls: 0, ..ending }), 0.0);
    assert_eq!(zero(&truth, Ending { finish_calls: 2, bonus_at: Some(4), ..ending }), 0.0);
    assert_eq!(zero(&truth, Ending { malformed: true, ..ending }), 0.0);
    assert_eq!(codescout(&[], &truth, &ending).reward, 0.0);
}

#[test]
fn advantages_by_hand() {
    // Mean 0.5; squares 0.25 + 0.25 over n − 1 = 1: deviation √0.5.
    let got = group_advantages(&[0.0, 1.0], &[1.0, 0.5], Scaling::Group).unwrap();
    let unit = 0.5 / (0.5f64.sqrt() + STD_FLOOR);
    assert!(close(got[0], -unit) && close(got[1], unit / 2.0), "{got:?}");
    let plain = group_advantages(&[0.0, 1.0], &[1.0, 0.5], Scaling::None).unwrap();
    assert_eq!(plain, [-0.5, 0.25]);
    assert_eq!(group_advantages(&[0.3, 0.3], &[1.0, 1.0], Scaling::Group).unwrap(), [0.0, 0.0]);
    assert_eq!(group_advantages(&[0.7], &[1.0], Scaling::Group).unwrap(), [0.0]);
    assert_eq!(group_advantages(&[], &[], Scaling::Group), Some(vec![]));
    assert_eq!(group_advantages(&[1.0], &[], Scaling::Group), None);
}

fn ranges() -> impl Strategy<Value = Vec<(usize, u32, u32)>> {
    prop::collection::vec((0..3usize, 1..60u32, 0..40u32), 0..12)
}

const FILES: [&str; 3] = ["a", "b", "c"];

fn built(raw: &[(usize, u32, u32)]) -> Vec<LineRange<'static>> {
    raw.iter().map(|&(file, start, more)| at(FILES[file], start, start + more)).collect()
}

proptest! {
    #[test]
    fn rewards_stay_in_their_bounds(
        files in prop::collection::vec(0..8usize, 0..6),
        patch in prop::collection::vec(0..8usize, 0..6),
        mined in prop::collection::vec((0..8usize, 0.0..2.0f64), 0..6),
        predicted in ranges(), gold in ranges(),
        calls in prop::collection::vec(0..9u32, 0..4),
        merge: bool, alpha in 0.0..=1.0f64,
    ) {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let pick = |at: &[usize]| at.iter().map(|&at| names[at]).collect::<Vec<_>>();
        let (files, patch) = (pick(&files), pick(&patch));
        let mined = mined.iter().map(|&(at, weight)| (names[at], weight)).collect::<Vec<_>>();
        let (predicted, gold) = (built(&predicted), built(&gold));
        let rollout = Rollout { files: &files, ranges: &predicted, calls: &calls };
        let target = Target { patch_files: &patch, mined: &mined, ranges: &gold };
        for iteration in [Iteration::V1, Iteration::V2, Iteration::V3] {
            let settings = Settings { iteration, merge, alpha, ..Settings::default() };
            let got = reward(&rollout, &target, &settings);
            for value in [got.reward, got.f_file, got.f_lines, got.scale, got.advantage_scale] {
                prop_assert!((0.0..=1.0).contains(&value), "{got:?}");
            }
            // The order of the files says nothing.
            let turned = files.iter().rev().copied().collect::<Vec<_>>();
            let again = reward(&Rollout { files: &turned, ..rollout }, &target, &settings);
            prop_assert_eq!(again.f_file, got.f_file);
        }
    }

    #[test]
    fn a_range_is_matched_at_most_once(predicted in ranges(), gold in ranges()) {
        let (predicted, gold) = (built(&predicted), built(&gold));
        let (pairs, count) = matched(predicted.iter(), &gold);
        prop_assert!(pairs <= count.min(gold.len()));
        prop_assert_eq!(matched(gold.iter(), &gold).0, gold.len());
        // More predictions never unmake a pair: they come after.
        prop_assert!(matched(predicted.iter().chain(&gold), &gold).0 >= pairs);
    }

    #[test]
    fn a_right_file_more_never_lowers_the_score(n in 1..20usize, known in 0..20usize) {
        let names = (0..n).map(|at| format!("f{at}")).collect::<Vec<_>>();
        let target = || names.iter().map(String::as_str);
        let known = known.min(n - 1);
        let few = f_beta_sets(target().take(known), target(), 0.5);
        let more = f_beta_sets(target().take(known + 1), target(), 0.5);
        prop_assert!(more > few);
    }

    #[test]
    fn large_sets_count_as_small_ones(n in 30..80usize, m in 30..80usize) {
        let names = (0..80).map(|at| format!("f{at}")).collect::<Vec<_>>();
        let twice = names[..n].iter().chain(&names[..n]).map(String::as_str);
        let (p, r) = (n.min(m) as f64 / n as f64, n.min(m) as f64 / m as f64);
        let expected = 1.25 * p * r / (0.25 * p + r);
        prop_assert!(close(f_beta_sets(twice, names[..m].iter().map(String::as_str), 0.5), expected));
    }
}
