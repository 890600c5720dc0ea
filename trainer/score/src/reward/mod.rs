//! Rewards of a rollout (spec 2, "Rewards"; papers/codegrep §3.5 and Appendix B; spec 5). The
//! paper's numbered equations are lost; the forms here are this project's reading of it.
//!
//! Pure functions over borrowed text: nothing is allocated but the sets that are compared.

mod codescout;
mod files;
mod group;
mod lines;

pub use codescout::{CodeScout, Ending, Location, codescout};
pub use files::f_beta_sets;
pub use group::{STD_FLOOR, Scaling, group_advantages};
pub use lines::{LineRange, f_beta_lines, matched};

/// Mined files below this weight are noise (§3.4).
pub const MIN_WEIGHT: f64 = 0.15;

/// The F-measure's leaning to precision (§3.5).
pub const BETA: f64 = 0.5;

/// Calls a turn that earn the full scale.
const FULL_CALLS: f64 = 4.0;

/// Which of the three iterations of §3.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Iteration {
    /// (w_f·F_file + w_l·F_lines)·s, the advantage as it is.
    V1,
    /// w_f·F_file + w_l·F_lines, the advantage times s.
    V2,
    /// F_file, the advantage times s.
    V3,
}

/// How a rollout is rewarded. [`Settings::default`] is the paper's final one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    pub iteration: Iteration,
    /// Above 0; below 1 precision counts more.
    pub beta: f64,
    pub file_weight: f64,
    pub line_weight: f64,
    /// Mined files join the target set, and predicted ranges in them are not held against the
    /// model. Otherwise the target is the patch alone.
    pub merge: bool,
    /// Share of the soft recall of mined files in the reward, 0 to 1; without effect under
    /// `merge`, where they are in the target already (Appendix B).
    pub alpha: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            iteration: Iteration::V3,
            beta: BETA,
            file_weight: 0.5,
            line_weight: 0.5,
            merge: true,
            alpha: 0.0,
        }
    }
}

/// What a rollout answered and did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rollout<'a> {
    /// Repo-relative paths; duplicates count once.
    pub files: &'a [&'a str],
    /// In the order of the answer; duplicates count each.
    pub ranges: &'a [LineRange<'a>],
    /// Tool calls of each exploration turn.
    pub calls: &'a [u32],
}

/// What it should have answered.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Target<'a> {
    pub patch_files: &'a [&'a str],
    /// With their weights; those under [`MIN_WEIGHT`] are left out.
    pub mined: &'a [(&'a str, f64)],
    /// Of the patch, at the base commit.
    pub ranges: &'a [LineRange<'a>],
}

/// A reward and what it is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reward {
    pub reward: f64,
    /// What the advantage is multiplied by after the group was normalised; 1 under `v1`.
    pub advantage_scale: f64,
    pub f_file: f64,
    /// 0 under `v3` unless ranges were given: it is a figure to watch there.
    pub f_lines: f64,
    /// Mean tool calls an exploration turn, c̄.
    pub mean_calls: f64,
    /// s(c̄).
    pub scale: f64,
    /// Whether there was an exploration turn at all.
    pub explored: bool,
}

/// The reward of one rollout.
pub fn reward(rollout: &Rollout<'_>, target: &Target<'_>, settings: &Settings) -> Reward {
    let mined = || target.mined.iter().filter(|(_, weight)| *weight >= MIN_WEIGHT);
    let patch = target.patch_files.iter().copied();
    let f_file = if settings.merge {
        let wanted = patch.chain(mined().map(|(file, _)| *file));
        f_beta_sets(rollout.files.iter().copied(), wanted, settings.beta)
    } else {
        f_beta_sets(rollout.files.iter().copied(), patch, settings.beta)
    };
    let mined_only = |file: &str| {
        settings.merge
            && !target.patch_files.contains(&file)
            && mined().any(|(mined, _)| *mined == file)
    };
    let predicted = rollout.ranges.iter().filter(|range| !mined_only(range.file));
    let f_lines = f_beta_lines(predicted, target.ranges, settings.beta);
    let mean_calls = mean_calls(rollout.calls);
    let scale = efficiency(mean_calls);

    let both = settings.file_weight * f_file + settings.line_weight * f_lines;
    let task = if settings.iteration == Iteration::V3 { f_file } else { both };
    let task = match soft_recall(rollout.files, mined()) {
        Some(recall) if !settings.merge && settings.alpha > 0.0 => {
            (1.0 - settings.alpha) * task + settings.alpha * recall
        }
        _ => task,
    };
    let (reward, advantage_scale) = match settings.iteration {
        Iteration::V1 => (task * scale, 1.0),
        Iteration::V2 | Iteration::V3 => (task, scale),
    };
    let explored = !rollout.calls.is_empty();
    Reward { reward, advantage_scale, f_file, f_lines, mean_calls, scale, explored }
}

/// c̄: mean tool calls an exploration turn; 0 without one.
pub fn mean_calls(calls: &[u32]) -> f64 {
    let sum = calls.iter().map(|&calls| f64::from(calls)).sum::<f64>();
    if calls.is_empty() { 0.0 } else { sum / calls.len() as f64 }
}

/// s(c̄) = √min(c̄/4, 1).
pub fn efficiency(mean_calls: f64) -> f64 {
    (mean_calls / FULL_CALLS).clamp(0.0, 1.0).sqrt()
}

/// Share of the mined weight that was answered; `None` when nothing was mined.
fn soft_recall<'a>(files: &[&str], mined: impl Iterator<Item = &'a (&'a str, f64)>) -> Option<f64> {
    let (found, all) = mined.fold((0.0, 0.0), |(found, all), (file, weight)| {
        (found + if files.contains(file) { *weight } else { 0.0 }, all + weight)
    });
    (all > 0.0).then(|| found / all)
}
