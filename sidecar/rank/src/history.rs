//! What earlier commits say of the files: how often and how lately they changed, what was said
//! of those changes, and what changes together.

use codegrep_index::{DocId, GitSignals, Index};
use rustc_hash::FxHashMap;

use crate::features::Features;
use crate::query::{PARTS, Part};
use crate::rerank::Read;
use crate::signals::normalise;
use crate::terms::{K1, Weighted, idf};

/// Commits until a change counts half, for how often and how lately a file changed.
const OFTEN: f32 = 500.0;
const LATELY: f32 = 100.0;
/// As many commits like the text are looked at; the rest resemble anything.
const ALIKE: usize = 30;
/// Files of a commit beyond which they have little to do with each other.
const TOGETHER: usize = 20;

/// Fills the features that the history alone tells.
pub(crate) fn signals(all: &mut [Features], terms: &[Weighted], index: &Index) {
    let git = index.git();
    for (age, ids) in git.changes().iter().enumerate() {
        let half = |life: f32| (-(age as f32) / life).exp2();
        for id in ids {
            let file = &mut all[*id as usize];
            file.churn += half(OFTEN);
            file.recent = file.recent.max(half(LATELY));
        }
    }
    all.iter_mut().for_each(|file| file.churn = file.churn.ln_1p());
    normalise(all, |f| &mut f.churn);
    said(all, git, terms);
    let scores = alike(git, terms);
    for (part, feature) in [
        (Part::All, (|f| &mut f.past_all) as fn(&mut Features) -> &mut f32),
        (Part::Title, |f| &mut f.past_title),
    ] {
        for (commit, value) in best(&scores, part) {
            let ids = &git.changes()[commit];
            let share = value / (ids.len().max(1) as f32).sqrt();
            for id in ids {
                *feature(&mut all[*id as usize]) += share;
            }
        }
        normalise(all, feature);
    }
}

/// BM25 of every file in all that was said of its changes: what a commit says counts less for
/// each of many files.
fn said(all: &mut [Features], git: &GitSignals, terms: &[Weighted]) {
    let share = |ids: &[DocId]| 1.0 / (ids.len().max(1) as f32).sqrt();
    let mut lengths = vec![0.0f32; all.len()];
    for (commit, ids) in (0..).zip(git.changes()) {
        for id in ids {
            lengths[*id as usize] += share(ids) * git.message_length(commit) as f32;
        }
    }
    let told = lengths.iter().filter(|length| **length > 0.0).count();
    let mean = (lengths.iter().sum::<f32>() / told.max(1) as f32).max(1.0);
    // Weighted occurrences of one term; zero between terms.
    let mut occurrences = vec![0.0f32; all.len()];
    let mut touched: Vec<DocId> = Vec::new();
    for term in terms {
        let (commits, counts) = git.saying(term.term);
        for (commit, count) in commits.iter().zip(counts) {
            let ids = &git.changes()[*commit as usize];
            for id in ids {
                let place = &mut occurrences[*id as usize];
                if *place == 0.0 {
                    touched.push(*id);
                }
                *place += share(ids) * f32::from(*count);
            }
        }
        let rare = idf(told as f32, touched.len() as f32);
        for id in touched.drain(..) {
            let count = std::mem::take(&mut occurrences[id as usize]);
            let norm = K1 * (0.25 + 0.75 * lengths[id as usize] / mean);
            let tf = rare * count * (K1 + 1.0) / (count + norm);
            let file = &mut all[id as usize];
            file.said_all += term.parts[Part::All as usize] * tf;
            file.said_title += term.parts[Part::Title as usize] * tf;
        }
    }
    normalise(all, |f| &mut f.said_all);
    normalise(all, |f| &mut f.said_title);
}

/// BM25 of each commit's message, by part of the text.
fn alike(git: &GitSignals, terms: &[Weighted]) -> Vec<[f32; PARTS]> {
    let commits = git.changes().len();
    let mean = git.mean_message_length();
    let mut scores = vec![[0.0; PARTS]; commits];
    for term in terms {
        let (ids, counts) = git.saying(term.term);
        // Rare in the code and rare in the log: `fix` is only the one.
        let rare = idf(commits as f32, ids.len() as f32);
        for (commit, count) in ids.iter().zip(counts) {
            let count = f32::from(*count);
            let norm = K1 * (0.25 + 0.75 * git.message_length(*commit) as f32 / mean);
            let tf = rare * count * (K1 + 1.0) / (count + norm);
            for (score, weight) in scores[*commit as usize].iter_mut().zip(term.parts) {
                *score += weight * tf;
            }
        }
    }
    scores
}

/// The commits most like the text, each with its likeness squared, the best 1.
fn best(scores: &[[f32; PARTS]], part: Part) -> Vec<(usize, f32)> {
    let mut order: Vec<(usize, f32)> = scores
        .iter()
        .map(|parts| parts[part as usize])
        .enumerate()
        .filter(|(_, score)| *score > 0.0)
        .collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order.truncate(ALIKE);
    let highest = order.first().map_or(1.0, |first| first.1);
    order.into_iter().map(|(commit, score)| (commit, (score / highest).powi(2))).collect()
}

/// Fills `cochange`: the share of another candidate's commits that changed this file too, weighed
/// by the other's standing. `place` is where each file stands in `files`.
pub(crate) fn changed_together(
    files: &mut [Read],
    standing: &[f32],
    place: &FxHashMap<DocId, usize>,
    index: &Index,
) {
    let count = files.len();
    let mut changes = vec![0.0f32; count];
    let mut pairs = vec![0.0f32; count * count];
    for ids in index.git().changes().iter().filter(|ids| ids.len() <= TOGETHER) {
        let here: Vec<usize> = ids.iter().filter_map(|id| place.get(id).copied()).collect();
        for &a in &here {
            changes[a] += 1.0;
            for &b in here.iter().filter(|b| **b != a) {
                pairs[a * count + b] += 1.0;
            }
        }
    }
    for (b, file) in files.iter_mut().enumerate() {
        // Two changes that never were keep a lone one from meaning much.
        let share = |a: usize| standing[a] * pairs[a * count + b] / (changes[a] + 2.0);
        file.features.cochange = (0..count).map(share).sum();
    }
}
