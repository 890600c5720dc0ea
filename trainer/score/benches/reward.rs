//! Rewards a second on one core: `cargo bench -p codegrep-score`.

use codegrep_score::reward::{Iteration, LineRange, Rollout, Settings, Target, reward};
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

#[divan::bench(args = ["v1", "v3"])]
fn rollouts(bencher: divan::Bencher<'_, '_>, iteration: &str) {
    let iteration = if iteration == "v1" { Iteration::V1 } else { Iteration::V3 };
    let settings = Settings { iteration, ..Settings::default() };
    let range = |file, start| LineRange { file, start, end: start + 20 };
    let ranges = [range("src/cart/total.py", 10), range("src/cart/tax.py", 5)];
    let rollout = Rollout {
        files: &["src/cart/total.py", "src/cart/tax.py", "src/shop.py"],
        ranges: &ranges,
        calls: &[8, 5, 2],
    };
    let gold = [range("src/cart/total.py", 12), range("src/cart/total.py", 80)];
    let target = Target {
        patch_files: &["src/cart/total.py"],
        mined: &[("src/cart/tax.py", 0.8), ("src/cart/rate.py", 0.4)],
        ranges: &gold,
    };
    bencher
        .counter(ItemsCount::new(1usize))
        .bench(|| reward(divan::black_box(&rollout), divan::black_box(&target), &settings));
}
