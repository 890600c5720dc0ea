use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use codegrep_tree::Watch;
use rayon::ThreadPool;

use crate::doc::Scratch;

/// As long a request keeps the threads before others get their turn.
const TURN: Duration = Duration::from_millis(20);

/// Does `work` for the numbers below `count`, in order, on all threads of `pool`; what the watch
/// leaves undone is missing from the result.
///
/// Threads are shared by all requests, and a pool serves its queue only between pieces of work:
/// the repository that takes longest would keep every other waiting until it is read.
pub(crate) fn in_turns<T: Send>(
    pool: &ThreadPool,
    count: usize,
    watch: &Watch,
    work: impl Fn(usize, &mut Scratch) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let mut done = Vec::with_capacity(count);
    while next.load(Ordering::Relaxed) < count && watch.check().is_ok() {
        let turn = pool.broadcast(|_| {
            let began = Instant::now();
            let mut scratch = Scratch::default();
            let mut done = Vec::new();
            while watch.check().is_ok() {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= count {
                    break;
                }
                done.push(work(at, &mut scratch));
                if began.elapsed() > TURN {
                    break;
                }
            }
            done
        });
        done.extend(turn.into_iter().flatten());
    }
    done
}
