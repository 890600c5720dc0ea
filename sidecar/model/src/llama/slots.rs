//! Which sequence of the context holds which tokens, so that nothing is evaluated twice.

use std::sync::{Arc, Weak};

use super::stream::Stream;

/// A sequence of the context. Its id is its index.
#[derive(Default)]
pub(super) struct Slot {
    /// What is cached, from position 0 on.
    pub stream: Stream,
    /// The adapter it was evaluated with; 0 is none.
    adapter: u64,
    /// A job is at work on it.
    busy: bool,
    /// It was evaluated as it would be if there were nothing else: in batches of its own, with the
    /// cache to itself.
    pub pure: bool,
    /// The logits that were needed first, and how many tokens they come after.
    pub row: Option<(usize, Arc<[f32]>)>,
    /// Whose it is; dead once that conversation is over.
    life: Weak<()>,
    /// When it was last used; greater is later.
    used: u64,
}

/// What a job is about to evaluate.
pub(super) struct Wish<'a> {
    pub stream: &'a Stream,
    /// Position of the first token whose logits are needed.
    pub first_row: usize,
    pub adapter: u64,
    pub life: &'a Arc<()>,
}

/// Where a job goes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    pub slot: usize,
    /// The slot that the first `keep` tokens are to be shared from.
    pub copy: Option<usize>,
    /// Tokens that are there already.
    pub keep: usize,
    /// The first logits that are needed, when they are there already.
    pub row: Option<Arc<[f32]>>,
    /// Slots that were emptied for it.
    pub emptied: Vec<usize>,
}

pub(super) struct Slots {
    slots: Vec<Slot>,
    clock: u64,
    /// Whether a part of a sequence can be kept or shared; recurrent models can't.
    can_trim: bool,
}

impl Slots {
    pub fn new(count: usize, can_trim: bool) -> Self {
        let slots = std::iter::repeat_with(Slot::default).take(count).collect();
        Self { slots, clock: 0, can_trim }
    }

    /// Finds the slot where most can be reused. `None` when all are busy.
    ///
    /// What a live conversation may come back to is shared rather than taken.
    pub fn place(&mut self, wish: &Wish<'_>) -> Option<Place> {
        let (source, keep) = (0..self.slots.len())
            .map(|index| (index, self.reusable(index, wish)))
            .max_by_key(|&(index, keep)| (keep, self.may_take(index, wish)))?;
        let slot = if keep > 0 && self.may_take(source, wish) {
            source
        } else {
            // An empty one, or one whose conversation is over, or the one unused for longest; the
            // source itself only when no other is left.
            (0..self.slots.len()).filter(|&index| !self.slots[index].busy).min_by_key(|&index| {
                let slot = &self.slots[index];
                let is_source = keep > 0 && index == source;
                (is_source, !slot.stream.is_empty(), slot.is_live(), slot.used)
            })?
        };
        let shares = slot != source && self.can_trim;
        let keep = if slot == source || shares { keep } else { 0 };
        let row = self.slots[source].row.clone().filter(|(len, _)| *len <= keep);
        let pure = keep == 0 || (slot == source && self.slots[source].pure);
        let emptied = self.clear_dead(slot);
        let others = (0..self.slots.len())
            .any(|index| index != slot && !self.slots[index].stream.is_empty());
        if others {
            self.slots.iter_mut().for_each(|slot| slot.pure = false);
        }
        self.clock += 1;
        self.slots[slot] = Slot {
            stream: wish.stream.beginning(keep),
            adapter: wish.adapter,
            busy: true,
            pure: pure && !others,
            row: row.clone(),
            life: Arc::downgrade(wish.life),
            used: self.clock,
        };
        let row = row.filter(|_| keep > wish.first_row).map(|(_, row)| row);
        let copy = (keep > 0 && slot != source).then_some(source);
        Some(Place { slot, copy, keep, row, emptied })
    }

    /// Tokens of `wish` that this slot can give.
    fn reusable(&self, index: usize, wish: &Wish<'_>) -> usize {
        let slot = &self.slots[index];
        if slot.adapter != wish.adapter {
            return 0;
        }
        let agreed = slot.stream.agreed(wish.stream);
        let has_row = slot.row.as_ref().is_some_and(|(len, _)| *len == wish.first_row + 1);
        let keep = if has_row && agreed > wish.first_row {
            wish.first_row + 1
        } else {
            wish.stream.end_before(agreed.min(wish.first_row))
        };
        let whole = keep == slot.stream.len() && !slot.busy;
        if self.can_trim || whole { keep } else { 0 }
    }

    /// Whether the slot can become the job's own without a loss to others.
    fn may_take(&self, index: usize, wish: &Wish<'_>) -> bool {
        let slot = &self.slots[index];
        let continued = slot.stream.agreed(wish.stream) == slot.stream.len();
        let own = slot.life.ptr_eq(&Arc::downgrade(wish.life));
        !slot.busy && (continued || own || !slot.is_live())
    }

    /// When that leaves `keep` alone in the cache, empties the slots of conversations that are
    /// over, and names them.
    fn clear_dead(&mut self, keep: usize) -> Vec<usize> {
        let others: Vec<usize> = (0..self.slots.len())
            .filter(|&index| index != keep && !self.slots[index].stream.is_empty())
            .collect();
        let dead = |&index: &usize| !self.slots[index].busy && !self.slots[index].is_live();
        if !others.iter().all(dead) {
            return Vec::new();
        }
        others.iter().for_each(|&index| self.clear(index));
        others
    }

    /// The job is done; its tokens stay for whoever continues from them.
    pub fn release(&mut self, slot: usize) {
        self.clock += 1;
        self.slots[slot].busy = false;
        self.slots[slot].used = self.clock;
    }

    /// Empties the idle slot that was unused for longest, and names it.
    pub fn evict(&mut self) -> Option<usize> {
        let index = (0..self.slots.len())
            .filter(|&index| !self.slots[index].busy && !self.slots[index].stream.is_empty())
            .min_by_key(|&index| self.slots[index].used)?;
        self.clear(index);
        Some(index)
    }

    pub fn cached(&self, slot: usize) -> usize {
        self.slots[slot].stream.len()
    }

    pub fn slot(&mut self, slot: usize) -> &mut Slot {
        &mut self.slots[slot]
    }

    /// Forgets what the slot holds.
    pub fn clear(&mut self, slot: usize) {
        self.slots[slot].stream.clear();
        self.slots[slot].row = None;
    }
}

impl Slot {
    fn is_live(&self) -> bool {
        self.life.strong_count() > 0
    }
}

#[cfg(test)]
mod tests;
