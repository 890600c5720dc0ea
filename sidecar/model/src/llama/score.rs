use codegrep_agent::ModelError;

use super::context::Batch;
use super::job::{Reply, Room, Row};
use super::sample::log_sum_exp;

/// Tails of one job that are evaluated at the same time.
pub(super) const BRANCHES: usize = 8;

/// Log-likelihoods of several continuations (tails) of a job's tokens (its trunk).
pub(super) struct Score {
    pub tails: Vec<Vec<i32>>,
    pub reply: Reply<Vec<f64>>,
    /// Of the trunk's own tokens, from the one after the first row on.
    shared: f64,
    /// Of each tail so far.
    sums: Vec<f64>,
    /// Whether the trunk's last logits were seen: tails can be evaluated from then on.
    trunk_done: bool,
    /// Tails before this one were given a sequence, or need none.
    begun: usize,
    branches: Vec<Branch>,
}

/// A tail under evaluation in a sequence of its own.
struct Branch {
    sequence: i32,
    tail: usize,
    /// Tokens of the tail that are evaluated.
    done: usize,
}

impl Score {
    pub fn new(tails: Vec<Vec<i32>>, reply: Reply<Vec<f64>>) -> Self {
        let sums = vec![0.0; tails.len()];
        let (shared, trunk_done, begun, branches) = (0.0, false, 0, Vec::new());
        Self { tails, reply, shared, sums, trunk_done, begun, branches }
    }

    pub fn needs(&self) -> usize {
        BRANCHES * self.tails.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Takes sequences from `free` for the tails that come next, and names those taken: they are
    /// to share the trunk.
    pub fn open(&mut self, free: &mut Vec<i32>) -> Vec<i32> {
        let mut taken = Vec::new();
        while self.trunk_done && self.branches.len() < BRANCHES && self.pending().is_some() {
            let Some(sequence) = free.pop() else { break };
            self.branches.push(Branch { sequence, tail: self.begun, done: 0 });
            self.begun += 1;
            taken.push(sequence);
        }
        taken
    }

    /// Gives up the sequences of the tails that are done (of all, if `all`).
    pub fn close(&mut self, all: bool) -> Vec<i32> {
        let tails = &self.tails;
        let done = |branch: &Branch| all || branch.done + 1 >= tails[branch.tail].len();
        let closed = self.branches.iter().filter(|b| done(b)).map(|b| b.sequence).collect();
        self.branches.retain(|branch| !done(branch));
        closed
    }

    /// Sequences in use, and how many tokens of its tail each has evaluated.
    pub fn sequences(&self) -> impl Iterator<Item = (i32, usize)> {
        self.branches.iter().map(|branch| (branch.sequence, branch.done))
    }

    pub fn feed(
        &self,
        trunk: usize,
        room: &mut Room,
        batch: &mut Batch,
        rows: &mut Vec<(usize, Row)>,
    ) {
        for &Branch { sequence, tail, done } in &self.branches {
            let tokens = &self.tails[tail];
            // The last token predicts nothing that is asked for.
            for (at, token) in tokens.iter().enumerate().take(tokens.len() - 1).skip(done) {
                if !room.take(1, 1) {
                    return;
                }
                let index = batch.push(*token, trunk + at, sequence, true);
                rows.push((index, Row::Tail { tail, at }));
            }
        }
    }

    /// `true` when all is known.
    pub fn take(&mut self, trunk: &[i32], row: Row, logits: &[f32]) -> Result<bool, ModelError> {
        let norm = log_sum_exp(logits, 1.0).ok_or_else(|| ModelError::Unavailable {
            message: "the model gives no probabilities".into(),
            hint: "the weights may be damaged: verify the file".into(),
        })?;
        let logprob = |id: i32| f64::from(logits[id as usize] - norm);
        match row {
            Row::Trunk(position) if position + 1 < trunk.len() => {
                self.shared += logprob(trunk[position + 1]);
            }
            Row::Trunk(_) => {
                self.trunk_done = true;
                for (sum, tail) in self.sums.iter_mut().zip(&self.tails) {
                    *sum += tail.first().map_or(0.0, |id| logprob(*id));
                }
            }
            Row::Tail { tail, at } => {
                self.sums[tail] += logprob(self.tails[tail][at + 1]);
                if let Some(branch) = self.branches.iter_mut().find(|b| b.tail == tail) {
                    branch.done = at + 1;
                }
            }
        }
        let open = |branch: &Branch| branch.done + 1 < self.tails[branch.tail].len();
        Ok(self.trunk_done && !self.branches.iter().any(open) && self.pending().is_none())
    }

    pub fn totals(&self) -> Vec<f64> {
        self.sums.iter().map(|sum| self.shared + sum).collect()
    }

    /// The next tail that needs a sequence: the first token of each is told by the trunk.
    fn pending(&mut self) -> Option<usize> {
        while self.tails.get(self.begun)?.len() < 2 {
            self.begun += 1;
        }
        Some(self.begun)
    }
}
