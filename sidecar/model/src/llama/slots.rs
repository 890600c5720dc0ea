//! Which sequence of the context holds which tokens, so that nothing is evaluated twice.

/// A sequence of the context. Its id is its index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Slot {
    /// Tokens whose keys and values are cached, from position 0 on.
    pub tokens: Vec<i32>,
    /// The adapter they were evaluated with; 0 is none.
    pub adapter: u64,
    /// A job is at work on it.
    pub busy: bool,
    /// When it was last used; greater is later.
    used: u64,
}

/// Where a job goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub slot: usize,
    /// Share the first `keep` tokens of this other slot; the slot itself is emptied before.
    pub copy: Option<usize>,
    /// Tokens that are there already.
    pub keep: usize,
}

#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    clock: u64,
    /// Whether a part of a sequence can be kept or shared; recurrent models can't.
    can_trim: bool,
}

impl Slots {
    pub fn new(count: usize, can_trim: bool) -> Self {
        Self { slots: vec![Slot::default(); count], clock: 0, can_trim }
    }

    /// Finds a slot for `tokens` that reuses as much as possible, at most the first `most` tokens.
    /// `None` when all are busy. Prefers not to spoil what another conversation may come back to.
    pub fn place(&mut self, tokens: &[i32], most: usize, adapter: u64) -> Option<Place> {
        let reuse = |slot: &Slot| {
            let common = common(&slot.tokens, tokens).min(most);
            let whole = common == slot.tokens.len();
            if slot.adapter == adapter && (self.can_trim || (whole && !slot.busy)) {
                common
            } else {
                0
            }
        };
        let (best, keep) = self
            .slots
            .iter()
            .enumerate()
            .map(|(index, slot)| (index, reuse(slot)))
            .max_by_key(|&(index, keep)| (keep, !self.slots[index].busy))?;
        let source = &self.slots[best];
        // Nothing of it would be spoiled.
        let continues =
            !source.busy && keep > 0 && common(&source.tokens, tokens) == source.tokens.len();
        let place = if continues {
            Place { slot: best, copy: None, keep }
        } else {
            // An empty slot first, then the one unused for longest; the source only when it is the
            // last one left.
            let slot = (0..self.slots.len()).filter(|&index| !self.slots[index].busy).min_by_key(
                |&index| {
                    let slot = &self.slots[index];
                    (!slot.tokens.is_empty(), keep > 0 && index == best, slot.used)
                },
            )?;
            let copy = (keep > 0 && slot != best && self.can_trim).then_some(best);
            let keep = if copy.is_some() || slot == best { keep } else { 0 };
            Place { slot, copy, keep }
        };
        self.clock += 1;
        let slot = &mut self.slots[place.slot];
        slot.tokens.clear();
        slot.tokens.extend_from_slice(&tokens[..place.keep]);
        slot.adapter = adapter;
        slot.busy = true;
        slot.used = self.clock;
        Some(place)
    }

    /// The job is done; its tokens stay for whoever continues from them.
    pub fn release(&mut self, slot: usize) {
        self.clock += 1;
        self.slots[slot].busy = false;
        self.slots[slot].used = self.clock;
    }

    /// Empties the idle slot that was unused for longest, and names it.
    pub fn evict(&mut self) -> Option<usize> {
        let idle = |slot: &Slot| !slot.busy && !slot.tokens.is_empty();
        let index = (0..self.slots.len())
            .filter(|&index| idle(&self.slots[index]))
            .min_by_key(|&index| self.slots[index].used)?;
        self.slots[index].tokens.clear();
        Some(index)
    }

    pub fn cached(&self, slot: usize) -> usize {
        self.slots[slot].tokens.len()
    }

    pub fn extend(&mut self, slot: usize, tokens: &[i32]) {
        self.slots[slot].tokens.extend_from_slice(tokens);
    }

    /// Forgets what the slot holds.
    pub fn clear(&mut self, slot: usize) {
        self.slots[slot].tokens.clear();
    }
}

/// Length of the common prefix.
pub(super) fn common(a: &[i32], b: &[i32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places `tokens` as a job of adapter 0 would, evaluates the rest and goes idle.
    fn run(slots: &mut Slots, tokens: &[i32]) -> Place {
        let place = slots.place(tokens, tokens.len() - 1, 0).unwrap();
        slots.extend(place.slot, &tokens[place.keep..]);
        slots.release(place.slot);
        place
    }

    #[test]
    fn a_conversation_continues_in_its_slot() {
        let mut slots = Slots::new(2, true);
        assert_eq!(run(&mut slots, &[1, 2, 3]), Place { slot: 0, copy: None, keep: 0 });
        assert_eq!(run(&mut slots, &[1, 2, 3, 4]), Place { slot: 0, copy: None, keep: 3 });
    }

    #[test]
    fn a_shared_prefix_is_copied_and_the_other_conversation_kept() {
        let mut slots = Slots::new(2, true);
        run(&mut slots, &[1, 2, 3]);
        assert_eq!(run(&mut slots, &[1, 2, 9]), Place { slot: 1, copy: Some(0), keep: 2 });
        assert_eq!(run(&mut slots, &[1, 2, 3, 4]), Place { slot: 0, copy: None, keep: 3 });
        assert_eq!(run(&mut slots, &[1, 2, 9, 9]), Place { slot: 1, copy: None, keep: 3 });
        // No slot is empty: the one unused for longest goes.
        assert_eq!(run(&mut slots, &[1, 7]), Place { slot: 0, copy: Some(1), keep: 1 });
    }

    #[test]
    fn the_last_slot_left_is_trimmed() {
        let mut slots = Slots::new(1, true);
        run(&mut slots, &[1, 2, 3]);
        assert_eq!(run(&mut slots, &[1, 2, 9]), Place { slot: 0, copy: None, keep: 2 });
    }

    #[test]
    fn a_running_conversation_can_be_shared_but_not_taken() {
        let mut slots = Slots::new(2, true);
        assert!(slots.place(&[1, 2], 1, 0).is_some());
        slots.extend(0, &[1, 2]);
        assert_eq!(slots.place(&[1, 2, 3], 2, 0), Some(Place { slot: 1, copy: Some(0), keep: 2 }));
        assert_eq!(slots.place(&[1], 0, 0), None);
    }

    #[test]
    fn nothing_is_shared_across_adapters() {
        let mut slots = Slots::new(2, true);
        run(&mut slots, &[1, 2, 3]);
        assert_eq!(slots.place(&[1, 2, 3, 4], 3, 7), Some(Place { slot: 1, copy: None, keep: 0 }));
    }

    #[test]
    fn a_recurrent_model_reuses_only_what_is_whole() {
        let mut slots = Slots::new(2, false);
        run(&mut slots, &[1, 2, 3]);
        assert_eq!(run(&mut slots, &[1, 2, 9]), Place { slot: 1, copy: None, keep: 0 });
        assert_eq!(run(&mut slots, &[1, 2, 3, 4]), Place { slot: 0, copy: None, keep: 3 });
    }

    #[test]
    fn the_oldest_idle_slot_is_evicted_first() {
        let mut slots = Slots::new(3, true);
        run(&mut slots, &[1, 1]);
        run(&mut slots, &[2, 2]);
        assert!(slots.place(&[3, 3], 1, 0).is_some());
        assert_eq!([slots.evict(), slots.evict(), slots.evict()], [Some(0), Some(1), None]);
    }
}
