//! What the owner of a context is asked to do, and how far it has come.

use std::sync::Arc;

use codegrep_agent::ModelError;
use codegrep_tree::Watch;
use crossbeam_channel::Sender;

use super::context::Batch;
use super::score::Score;
use super::turn::Turn;
use super::weights::{Adapter, Weights};

/// Where a result goes. Nobody may be there any more: then nobody wants it.
pub(super) type Reply<T> = Sender<Result<T, ModelError>>;

/// One request to the owner.
pub(super) struct Job {
    /// What its sequence is to hold, in order: all that was said, then all that is sampled.
    pub tokens: Vec<i32>,
    pub adapter: Option<Arc<Adapter>>,
    pub watch: Watch,
    pub work: Work,
}

pub(super) enum Work {
    Turn(Turn),
    Score(Score),
}

/// Whose logits a row of a batch holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Row {
    /// After the token of the job at this position.
    Trunk(usize),
    /// After this token of this tail.
    Tail { tail: usize, at: usize },
}

/// What a batch still takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub tokens: usize,
    pub rows: usize,
}

impl Room {
    /// Takes the place of one token, with its row if `wanted`; `false` when there is none.
    pub fn take(&mut self, wanted: bool) -> bool {
        if self.tokens == 0 || (wanted && self.rows == 0) {
            return false;
        }
        self.tokens -= 1;
        self.rows -= usize::from(wanted);
        true
    }
}

impl Job {
    /// 0 is none.
    pub fn adapter_id(&self) -> u64 {
        self.adapter.as_ref().map_or(0, |adapter| adapter.id)
    }

    /// Position of the first token whose logits are needed. Cached tokens have none, so only what
    /// stands before it can be reused.
    pub fn first_row(&self) -> usize {
        match &self.work {
            Work::Turn(_) => self.tokens.len() - 1,
            Work::Score(score) => score.start - 1,
        }
    }

    /// Most tokens it can come to hold in the cache.
    pub fn needs(&self) -> usize {
        self.tokens.len()
            + match &self.work {
                Work::Turn(turn) => turn.left(),
                Work::Score(score) => score.needs(),
            }
    }

    /// Adds to `batch` what comes after the `cached` first tokens, as far as there is room, and to
    /// `rows` which logits are whose. Gives how many tokens of `self.tokens` were added.
    pub fn feed(
        &self,
        cached: usize,
        sequence: i32,
        room: &mut Room,
        batch: &mut Batch,
        rows: &mut Vec<(usize, Row)>,
    ) -> usize {
        let first = self.first_row();
        for position in cached..self.tokens.len() {
            let wanted = position >= first;
            if !room.take(wanted) {
                return position - cached;
            }
            let index = batch.push(self.tokens[position], position, sequence, wanted);
            if wanted {
                rows.push((index, Row::Trunk(position)));
            }
        }
        if let Work::Score(score) = &self.work {
            score.feed(self.tokens.len(), room, batch, rows);
        }
        self.tokens.len() - cached
    }

    /// Takes the logits of a row. `true` when the job is done.
    pub fn take(
        &mut self,
        row: Row,
        logits: &[f32],
        weights: &Weights,
    ) -> Result<bool, ModelError> {
        match &mut self.work {
            Work::Turn(turn) => match turn.take(logits, weights)? {
                Some(token) => {
                    self.tokens.push(token);
                    Ok(false)
                }
                None => Ok(true),
            },
            Work::Score(score) => score.take(&self.tokens, row, logits),
        }
    }

    pub fn succeed(self) {
        match self.work {
            Work::Turn(turn) => drop(turn.reply.send(Ok(turn.sampled))),
            Work::Score(score) => drop(score.reply.send(Ok(score.totals()))),
        }
    }

    pub fn fail(self, error: ModelError) {
        match self.work {
            Work::Turn(turn) => drop(turn.reply.send(Err(error))),
            Work::Score(score) => drop(score.reply.send(Err(error))),
        }
    }
}
