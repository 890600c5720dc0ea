//! The thread that owns a context: it takes jobs from a channel and evaluates those of one adapter
//! together, a batch at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use codegrep_agent::ModelError;
use crossbeam_channel::Receiver;

use super::context::{BATCH, Batch, Context, Decoded};
use super::job::{Job, Room, Row, Work};
use super::score::BRANCHES;
use super::slots::{Slots, Wish};
use super::weights::Weights;

pub(super) struct Owner {
    context: Context,
    weights: Arc<Weights>,
    slots: Slots,
    /// Sequences for the tails of score jobs that are not in use.
    branches: Vec<i32>,
    /// Cached tokens the context holds, all sequences together.
    cells: usize,
    waiting: VecDeque<Job>,
    running: Vec<Running>,
}

struct Running {
    job: Job,
    slot: usize,
}

impl Owner {
    /// `context` has one sequence for each of `slots`, and some more for branches.
    pub fn new(context: Context, weights: Arc<Weights>, slots: usize, cells: usize) -> Self {
        let can_trim = weights.can_trim();
        Self {
            context,
            weights,
            slots: Slots::new(slots, can_trim),
            branches: (slots..slots + BRANCHES).map(|id| id as i32).collect(),
            cells,
            waiting: VecDeque::new(),
            running: Vec::new(),
        }
    }

    /// Works until nobody can ask any more.
    pub fn serve(&mut self, jobs: &Receiver<Job>) {
        loop {
            if self.running.is_empty() && self.waiting.is_empty() {
                let Ok(job) = jobs.recv() else { return };
                self.waiting.push_back(job);
            }
            self.waiting.extend(jobs.try_iter());
            self.drop_stopped();
            self.admit();
            self.step();
        }
    }

    fn drop_stopped(&mut self) {
        for _ in 0..self.waiting.len() {
            let Some(job) = self.waiting.pop_front() else { break };
            match job.watch.check() {
                Ok(()) => self.waiting.push_back(job),
                Err(stop) => job.fail(stop.into()),
            }
        }
        for index in (0..self.running.len()).rev() {
            if let Err(stop) = self.running[index].job.watch.check() {
                self.retire(index).fail(stop.into());
            }
        }
    }

    /// Starts waiting jobs, in order, as long as all that run are sure to find room in the cache.
    fn admit(&mut self) {
        while let Some(job) = self.waiting.front() {
            let reserved: usize = self.running.iter().map(|running| running.job.needs()).sum();
            if !self.running.is_empty() && reserved + job.needs() > self.cells {
                return;
            }
            let wish = Wish {
                stream: &job.stream,
                first_row: job.first_row,
                adapter: job.adapter_id(),
                life: &job.life,
            };
            let Some(place) = self.slots.place(&wish) else { return };
            let Some(job) = self.waiting.pop_front() else { return };
            for slot in place.emptied {
                self.context.trim(slot as i32, 0);
            }
            match place.copy {
                Some(source) => {
                    self.context.trim(place.slot as i32, 0);
                    self.context.share(source as i32, place.slot as i32, place.keep);
                }
                None => self.trim_slot(place.slot),
            }
            self.running.push(Running { job, slot: place.slot });
            if let Some(row) = place.row {
                let index = self.running.len() - 1;
                let job = &mut self.running[index].job;
                let end = job.take(Row::Trunk(job.first_row), &row, &self.weights);
                self.settle(index, end);
            }
        }
    }

    /// Evaluates one batch: a span of each job of the adapter whose turn it is, but while some are
    /// sampling only one longer span, so that they need not wait.
    fn step(&mut self) {
        let Some(first) = self.running.first() else { return };
        let adapter = first.job.adapter.clone();
        let id = first.job.adapter_id();
        if let Err(error) = self.context.set_adapter(adapter.as_ref()) {
            return self.fail(|job| job.adapter_id() == id, &error);
        }
        self.open_branches();

        let mut order: Vec<usize> =
            (0..self.running.len()).filter(|&i| self.running[i].job.adapter_id() == id).collect();
        order.sort_by_key(|&index| self.span(index) > 1);
        let sampling = order.iter().any(|&index| self.span(index) == 1);
        let mut batch = Batch::default();
        let mut rows = Vec::new();
        let mut fed = vec![0; self.running.len()];
        let mut members = Vec::new();
        let mut room = Room { tokens: BATCH, rows: self.context.rows() };
        for index in order {
            let Running { job, slot } = &self.running[index];
            let (before, mut own) = (batch.len(), Vec::new());
            let cached = self.slots.cached(*slot);
            fed[index] = job.feed(cached, *slot as i32, &mut room, &mut batch, &mut own);
            rows.extend(own.into_iter().map(|(at, row)| (at, row, index)));
            if batch.len() > before {
                members.push(index);
            }
            if sampling && fed[index] > 1 {
                break;
            }
        }
        if batch.is_empty() {
            // Jobs that wait for a sequence held by those of another adapter.
            return self.running.rotate_left(1);
        }
        let watches = members.iter().map(|&index| self.running[index].job.watch.clone()).collect();
        match self.context.decode(&batch, watches) {
            Ok(Decoded::Done) => {
                for &index in &members {
                    self.slots.slot(self.running[index].slot).pure &= members.len() == 1;
                }
                self.take(&rows, &fed);
            }
            Ok(Decoded::Aborted) => self.trim_all(),
            Ok(Decoded::NoRoom) => match self.slots.evict() {
                Some(slot) => {
                    self.context.trim(slot as i32, 0);
                }
                None => self.fail(
                    |job| job.adapter_id() == id,
                    &ModelError::Unavailable {
                        message: "the cache has no room for all conversations".into(),
                        hint: "allow fewer at a time, or a larger cache".into(),
                    },
                ),
            },
            Err(error) => {
                self.fail(|job| job.adapter_id() == id, &error);
                self.trim_all();
            }
        }
    }

    /// Length of the next span of a running job.
    fn span(&self, index: usize) -> usize {
        let Running { job, slot } = &self.running[index];
        job.span(self.slots.cached(*slot))
    }

    fn open_branches(&mut self) {
        for Running { job, slot } in &mut self.running {
            let Work::Score(score) = &mut job.work else { continue };
            for sequence in score.open(&mut self.branches) {
                self.context.share(*slot as i32, sequence, job.stream.len());
            }
        }
    }

    /// A batch is evaluated: hands out its logits and lets go of the jobs that are done.
    fn take(&mut self, rows: &[(usize, Row, usize)], fed: &[usize]) {
        for (Running { job, slot }, &fed) in self.running.iter_mut().zip(fed) {
            if fed == 0 {
                continue;
            }
            let slot = self.slots.slot(*slot);
            slot.stream = job.stream.beginning(slot.stream.len() + fed);
            if let Work::Turn(turn) = &mut job.work
                && turn.sampled.ids.is_empty()
            {
                turn.sampled.evaluated += fed as u32;
            }
        }
        let mut ends: Vec<Result<bool, ModelError>> = Vec::new();
        ends.resize_with(self.running.len(), || Ok(false));
        for &(at, row, index) in rows {
            let Running { job, slot } = &mut self.running[index];
            let Some(logits) = self.context.logits(at) else {
                ends[index] = Err(failed("llama.cpp gave no logits"));
                continue;
            };
            if let Row::Trunk(position) = row
                && position == job.first_row
            {
                self.slots.slot(*slot).row = Some((position + 1, logits.into()));
            }
            if ends[index].is_ok() {
                ends[index] = job.take(row, logits, &self.weights);
            }
        }
        for running in &mut self.running {
            if let Work::Score(score) = &mut running.job.work {
                for sequence in score.close(false) {
                    self.context.trim(sequence, 0);
                    self.branches.push(sequence);
                }
            }
        }
        // From the back, so that indices stay valid.
        for (index, end) in ends.into_iter().enumerate().rev() {
            self.settle(index, end);
        }
        if !self.running.is_empty() {
            self.running.rotate_left(1);
        }
    }

    /// Lets go of a job that is done or has failed.
    fn settle(&mut self, index: usize, end: Result<bool, ModelError>) {
        match end {
            Ok(false) => {}
            Ok(true) => {
                let pure = self.slots.slot(self.running[index].slot).pure;
                self.retire(index).succeed(pure);
            }
            Err(error) => self.retire(index).fail(error),
        }
    }

    /// Takes a job out and leaves its tokens to whoever continues from them.
    fn retire(&mut self, index: usize) -> Job {
        let Running { mut job, slot } = self.running.remove(index);
        if let Work::Score(score) = &mut job.work {
            for sequence in score.close(true) {
                self.context.trim(sequence, 0);
                self.branches.push(sequence);
            }
        }
        self.trim_slot(slot);
        self.slots.release(slot);
        job
    }

    fn fail(&mut self, which: impl Fn(&Job) -> bool, error: &ModelError) {
        for index in (0..self.running.len()).rev() {
            if which(&self.running[index].job) {
                let slot = self.running[index].slot;
                self.slots.clear(slot);
                self.retire(index).fail(copy(error));
            }
        }
    }

    /// Brings every sequence back to what is known to be evaluated.
    fn trim_all(&mut self) {
        for index in 0..self.running.len() {
            self.trim_slot(self.running[index].slot);
            if let Work::Score(score) = &self.running[index].job.work {
                let trunk = self.running[index].job.stream.len();
                for (sequence, done) in score.sequences() {
                    self.context.trim(sequence, trunk + done);
                }
            }
        }
    }

    fn trim_slot(&mut self, slot: usize) {
        if !self.context.trim(slot as i32, self.slots.cached(slot)) {
            // This kind of model can only forget a sequence whole.
            self.context.trim(slot as i32, 0);
            self.slots.clear(slot);
        }
    }
}

fn failed(what: &str) -> ModelError {
    ModelError::Unavailable {
        message: what.into(),
        hint: "ask again; the log may tell more".into(),
    }
}

fn copy(error: &ModelError) -> ModelError {
    ModelError::Unavailable { message: error.to_string(), hint: error.hint().to_owned() }
}
