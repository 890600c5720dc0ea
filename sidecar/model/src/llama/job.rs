//! What the owner of a context is asked to do, and how far it has come.

use std::sync::Arc;

use codegrep_agent::ModelError;
use codegrep_tree::Watch;
use crossbeam_channel::Sender;

use super::context::Batch;
use super::score::Score;
use super::stream::Stream;
use super::turn::{Sampled, Turn};
use super::weights::{Adapter, Weights};

/// Where a result goes. Nobody may be there any more: then nobody wants it.
pub(super) type Reply<T> = Sender<Result<T, ModelError>>;

/// One request to the owner.
pub(super) struct Job {
    /// What its sequence is to hold, cut into spans: all that was said, then all that is sampled.
    pub stream: Stream,
    /// Position of the first token whose logits are needed.
    pub first_row: usize,
    /// The conversation's.
    pub life: Arc<()>,
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
    /// Takes the place of so many tokens and rows; `false` when there is not so much.
    pub fn take(&mut self, tokens: usize, rows: usize) -> bool {
        let fits = tokens <= self.tokens && rows <= self.rows;
        if fits {
            self.tokens -= tokens;
            self.rows -= rows;
        }
        fits
    }
}

impl Job {
    /// 0 is none.
    pub fn adapter_id(&self) -> u64 {
        self.adapter.as_ref().map_or(0, |adapter| adapter.id)
    }

    /// Most tokens it can come to hold in the cache.
    pub fn needs(&self) -> usize {
        self.stream.len()
            + match &self.work {
                Work::Turn(turn) => turn.left(),
                Work::Score(score) => score.needs(),
            }
    }

    /// Tokens of the span that comes after the `cached` first tokens.
    pub fn span(&self, cached: usize) -> usize {
        self.stream.span_end(cached).map_or(0, |end| end - cached)
    }

    /// Adds to `batch` the span after the `cached` first tokens, when there is room, and to `rows`
    /// which logits are whose. Gives how many tokens of the stream were added.
    pub fn feed(
        &self,
        cached: usize,
        sequence: i32,
        room: &mut Room,
        batch: &mut Batch,
        rows: &mut Vec<(usize, Row)>,
    ) -> usize {
        let end = cached + self.span(cached);
        if !room.take(end - cached, end.saturating_sub(self.first_row.max(cached))) {
            return 0;
        }
        for position in cached..end {
            let wanted = position >= self.first_row;
            let index = batch.push(self.stream.tokens()[position], position, sequence, wanted);
            if wanted {
                rows.push((index, Row::Trunk(position)));
            }
        }
        if let Work::Score(score) = &self.work {
            score.feed(self.stream.len(), room, batch, rows);
        }
        end - cached
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
                    self.stream.push_sampled(token);
                    Ok(false)
                }
                None => Ok(true),
            },
            Work::Score(score) => score.take(self.stream.tokens(), row, logits),
        }
    }

    /// `pure`: see [`Sampled`].
    pub fn succeed(self, pure: bool) {
        match self.work {
            Work::Turn(turn) => drop(turn.reply.send(Ok(Sampled { pure, ..turn.sampled }))),
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
