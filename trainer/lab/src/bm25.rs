//! The paper's BM25 baseline to the letter (papers/codegrep, Appendix E): Okapi as the Python
//! package `rank_bm25` computes it, over content, plus twice the same over paths.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use codegrep_tree::{Entry, READ_LIMIT, RepoPath, Scope, Tree, TreeError, Watch};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

const K1: f64 = 1.5;
const B: f64 = 0.75;
const EPSILON: f64 = 0.25;
const PATH_WEIGHT: f64 = 2.0;
const SKIPPED: &[&str] = &["__pycache__", "venv", ".venv", "env", "build", "dist", ".eggs"];

/// Splits on whitespace, drops characters outside `[a-zA-Z0-9_./]`, lower-cases, and keeps tokens
/// of two characters or more that don't begin with `http`.
pub fn tokens(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split_whitespace().filter_map(|word| {
        let token: String = word
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || "_./".contains(*c))
            .map(|c| c.to_ascii_lowercase())
            .collect();
        (token.len() >= 2 && !token.starts_with("http")).then_some(token)
    })
}

/// Token → id over all documents seen; shared by the commits of a repository.
#[derive(Default)]
struct Vocabulary(FxHashMap<Box<str>, u32>);

impl Vocabulary {
    fn count(&mut self, tokens: impl Iterator<Item = String>) -> Bag {
        let mut bag = Bag::default();
        let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
        for token in tokens {
            let next = self.0.len() as u32;
            let id = *self.0.entry(token.into()).or_insert(next);
            *counts.entry(id).or_default() += 1;
            bag.length += 1;
        }
        bag.counts = counts.into_iter().collect();
        bag.counts.sort_unstable();
        bag
    }
}

/// A document's token counts, sorted by id.
#[derive(Default)]
struct Bag {
    counts: Vec<(u32, u32)>,
    length: u32,
}

impl Bag {
    fn frequency(&self, id: u32) -> f64 {
        self.counts
            .binary_search_by_key(&id, |count| count.0)
            .map_or(0.0, |at| f64::from(self.counts[at].1))
    }
}

/// Okapi over a corpus of bags.
struct Okapi<'a> {
    bags: &'a [Arc<Bag>],
    idf: FxHashMap<u32, f64>,
    mean_length: f64,
}

impl<'a> Okapi<'a> {
    fn new(bags: &'a [Arc<Bag>]) -> Self {
        let mut documents: FxHashMap<u32, u32> = FxHashMap::default();
        for &(id, _) in bags.iter().flat_map(|bag| &bag.counts) {
            *documents.entry(id).or_default() += 1;
        }
        let n = bags.len() as f64;
        let mut idf: FxHashMap<u32, f64> = documents
            .into_iter()
            .map(|(id, df)| (id, (n - f64::from(df) + 0.5).ln() - (f64::from(df) + 0.5).ln()))
            .collect();
        // rank_bm25 lifts every negative idf to ε × the mean over all terms, negatives included.
        // Summed in a fixed order: floats don't commute, and equal input must give equal scores.
        let mut values = idf.values().copied().collect::<Vec<_>>();
        values.sort_by(f64::total_cmp);
        let floor = EPSILON * values.iter().sum::<f64>() / values.len().max(1) as f64;
        idf.values_mut().filter(|idf| **idf < 0.0).for_each(|idf| *idf = floor);
        let total = bags.iter().map(|bag| f64::from(bag.length)).sum::<f64>();
        Self { bags, idf, mean_length: total / n }
    }

    /// Adds `weight` × the score of every document to `scores`. A token asked twice counts twice.
    fn add(&self, query: &[Option<u32>], weight: f64, scores: &mut [f64]) {
        for id in query.iter().flatten() {
            let Some(idf) = self.idf.get(id) else { continue };
            for (score, bag) in scores.iter_mut().zip(self.bags) {
                let frequency = bag.frequency(*id);
                if frequency > 0.0 {
                    let norm = 1.0 - B + B * f64::from(bag.length) / self.mean_length;
                    *score += weight * idf * frequency * (K1 + 1.0) / (frequency + K1 * norm);
                }
            }
        }
    }
}

/// The engine of one repository. Documents are tokenised once per content, whatever the commit.
#[derive(Default)]
pub struct Bm25 {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    vocabulary: Vocabulary,
    contents: HashMap<(RepoPath, u64), Arc<Bag>>,
    paths: HashMap<RepoPath, Arc<Bag>>,
}

impl Bm25 {
    /// All code files of `language`, best first: ties keep the order of the listing, and files
    /// without a hit follow those with one, so a top-K always holds K.
    pub fn rank(
        &self,
        text: &str,
        language: &str,
        tree: &dyn Tree,
        watch: &Watch,
    ) -> Result<Vec<RepoPath>, TreeError> {
        let entries = code_files(tree, language, watch)?;
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.learn(&entries, tree, watch)?;
        let bag = |entry: &Entry| state.contents[&(entry.path.clone(), entry.stamp)].clone();
        let contents = entries.iter().map(bag).collect::<Vec<_>>();
        let paths =
            entries.iter().map(|entry| state.paths[&entry.path].clone()).collect::<Vec<_>>();
        let query = tokens(text)
            .map(|token| state.vocabulary.0.get(token.as_str()).copied())
            .collect::<Vec<_>>();
        drop(state);
        let mut scores = vec![0.0; entries.len()];
        Okapi::new(&contents).add(&query, 1.0, &mut scores);
        Okapi::new(&paths).add(&query, PATH_WEIGHT, &mut scores);
        let mut order = (0..entries.len()).collect::<Vec<_>>();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        Ok(order.into_iter().map(|at| entries[at].path.clone()).collect())
    }
}

impl State {
    /// Tokenises what is new in `entries` and forgets what is no longer there.
    fn learn(
        &mut self,
        entries: &[Entry],
        tree: &dyn Tree,
        watch: &Watch,
    ) -> Result<(), TreeError> {
        let known = std::mem::take(&mut self.contents);
        let texts = entries
            .par_iter()
            .filter(|entry| !known.contains_key(&(entry.path.clone(), entry.stamp)))
            .map(|entry| {
                watch.check()?;
                let bytes = tree.read(&entry.path, READ_LIMIT).map(|blob| blob.bytes);
                Ok((entry, bytes.unwrap_or_default()))
            })
            .collect::<Result<Vec<_>, TreeError>>()?;
        for (entry, bytes) in texts {
            let bag = self.vocabulary.count(tokens(&String::from_utf8_lossy(&bytes)));
            self.contents.insert((entry.path.clone(), entry.stamp), Arc::new(bag));
        }
        for entry in entries {
            let key = (entry.path.clone(), entry.stamp);
            if let Some(bag) = known.get(&key) {
                self.contents.insert(key, bag.clone());
            }
            if !self.paths.contains_key(&entry.path) {
                let bag = self.vocabulary.count(tokens(entry.path.as_str()));
                self.paths.insert(entry.path.clone(), Arc::new(bag));
            }
        }
        Ok(())
    }
}

fn code_files(tree: &dyn Tree, language: &str, watch: &Watch) -> Result<Vec<Entry>, TreeError> {
    let mut entries = tree.walk(&Scope::default(), watch)?.entries;
    entries.retain(|entry| {
        crate::language::is_code(entry.path.extension(), language)
            && !entry.path.as_str().split('/').any(|part| SKIPPED.contains(&part))
    });
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appendix_e_tokens() {
        let text = "The `Foo.bar()` a http://x.y/z (https) django/db/models.py x=1 naïve";
        assert_eq!(
            tokens(text).collect::<Vec<_>>(),
            ["the", "foo.bar", "django/db/models.py", "x1", "nave"]
        );
    }

    /// Golden scores of rank_bm25 0.2.2 (`BM25Okapi([d.split() for d in docs]).get_scores(q.split())`).
    #[test]
    fn okapi_as_rank_bm25() {
        let docs = ["aa bb cc aa dd", "aa bb ee", "aa ff gg hh ii jj", "bb aa"];
        let mut vocabulary = Vocabulary::default();
        let bags =
            docs.iter().map(|doc| Arc::new(vocabulary.count(tokens(doc)))).collect::<Vec<_>>();
        let query = tokens("aa cc bb zz cc")
            .map(|t| vocabulary.0.get(t.as_str()).copied())
            .collect::<Vec<_>>();
        let mut scores = vec![0.0; docs.len()];
        Okapi::new(&bags).add(&query, 1.0, &mut scores);
        let golden =
            [1.7305724880146753, 0.21035833495065945, 0.07620123357906541, 0.24089422228220678];
        for (score, want) in scores.iter().zip(golden) {
            assert!((score - want).abs() < 1e-12, "{scores:?}");
        }
    }
}
