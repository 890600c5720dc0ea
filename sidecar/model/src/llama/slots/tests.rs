use super::*;

/// A conversation: its life, and a stream that is cut every ten tokens.
struct Talk(Arc<()>, Stream);

fn talk(tokens: &[i32]) -> Talk {
    let mut talk = Talk(Arc::default(), Stream::default());
    talk.say(tokens);
    talk
}

impl Talk {
    fn say(&mut self, tokens: &[i32]) {
        self.1.push(tokens);
        self.1.cut(10);
    }

    fn wish(&self) -> Wish<'_> {
        Wish { stream: &self.1, first_row: self.1.len() - 1, adapter: 0, life: &self.0 }
    }

    /// Is placed, evaluates the rest, and goes idle.
    fn run(&self, slots: &mut Slots) -> (usize, Option<usize>, usize) {
        let place = slots.place(&self.wish()).unwrap();
        let slot = slots.slot(place.slot);
        slot.stream = self.1.clone();
        slot.row = Some((self.1.len(), Arc::new([0.0])));
        slots.release(place.slot);
        (place.slot, place.copy, place.keep)
    }
}

const P: [i32; 10] = [1; 10];

fn with(tail: &[i32]) -> Vec<i32> {
    [&P, tail].concat()
}

#[test]
fn a_conversation_continues_in_its_slot() {
    let mut slots = Slots::new(2, true);
    let mut talk = talk(&P);
    assert_eq!(talk.run(&mut slots), (0, None, 0));
    talk.say(&[5, 6]);
    assert_eq!(talk.run(&mut slots), (0, None, 10));
}

#[test]
fn a_shared_beginning_is_copied_from_a_live_conversation() {
    let mut slots = Slots::new(2, true);
    let mut one = talk(&with(&[2]));
    let mut other = talk(&with(&[3]));
    one.run(&mut slots);
    assert_eq!(other.run(&mut slots), (1, Some(0), 10));
    one.say(&[4]);
    assert_eq!(one.run(&mut slots), (0, None, 11));
    other.say(&[4]);
    assert_eq!(other.run(&mut slots), (1, None, 11));
    // No slot is empty: the one unused for longest goes.
    assert_eq!(talk(&with(&[9])).run(&mut slots).0, 0);
}

#[test]
fn what_is_left_of_a_conversation_is_taken_over() {
    let mut slots = Slots::new(2, true);
    talk(&with(&[2])).run(&mut slots);
    assert_eq!(talk(&with(&[3])).run(&mut slots), (0, None, 10));
}

#[test]
fn a_turn_that_is_asked_again_needs_nothing() {
    let mut slots = Slots::new(2, true);
    let talk = talk(&with(&[2]));
    talk.run(&mut slots);
    let place = slots.place(&talk.wish()).unwrap();
    assert_eq!((place.slot, place.keep, place.row.is_some()), (0, 11, true));
}

#[test]
fn without_its_logits_the_last_span_is_evaluated_again() {
    let mut slots = Slots::new(2, true);
    let talk = talk(&with(&[2]));
    talk.run(&mut slots);
    slots.slot(0).row = None;
    let place = slots.place(&talk.wish()).unwrap();
    assert_eq!((place.slot, place.keep, place.row), (0, 10, None));
}

#[test]
fn the_last_slot_left_is_trimmed_even_of_a_live_conversation() {
    let mut slots = Slots::new(1, true);
    let one = talk(&with(&[2]));
    one.run(&mut slots);
    assert_eq!(talk(&with(&[3])).run(&mut slots), (0, None, 10));
}

#[test]
fn a_running_conversation_can_be_shared_but_not_taken() {
    let mut slots = Slots::new(2, true);
    let (one, two, three) = (talk(&P), talk(&with(&[2])), talk(&with(&[3])));
    slots.place(&one.wish()).unwrap();
    slots.slot(0).stream = one.1.clone();
    let place = slots.place(&two.wish()).unwrap();
    assert_eq!((place.slot, place.copy, place.keep), (1, Some(0), 10));
    assert_eq!(slots.place(&three.wish()), None);
}

#[test]
fn nothing_is_shared_across_adapters() {
    let mut slots = Slots::new(2, true);
    let one = talk(&with(&[2]));
    one.run(&mut slots);
    let place = slots.place(&Wish { adapter: 7, ..one.wish() }).unwrap();
    assert_eq!((place.slot, place.copy, place.keep), (1, None, 0));
}

#[test]
fn a_recurrent_model_reuses_only_what_is_whole() {
    let mut slots = Slots::new(2, false);
    let mut one = talk(&with(&[2]));
    one.run(&mut slots);
    let other = talk(&with(&[3]));
    assert_eq!(other.run(&mut slots), (1, None, 0));
    one.say(&[4]);
    assert_eq!(one.run(&mut slots), (0, None, 11));
}

#[test]
fn only_who_has_the_cache_alone_is_pure() {
    let mut slots = Slots::new(3, true);
    let one = talk(&with(&[2]));
    one.run(&mut slots);
    assert!(slots.slot(0).pure);
    // Beside a live conversation nobody is.
    let two = talk(&with(&[3]));
    let (slot, ..) = two.run(&mut slots);
    assert!(!slots.slot(0).pure && !slots.slot(slot).pure);
    // Once both are over, their remains are cleared away, and the one that is built upon is not
    // pure, so what is built upon it is not either; a new beginning is.
    drop((one, two));
    let (slot, _, keep) = talk(&with(&[4])).run(&mut slots);
    assert!(keep == 10 && !slots.slot(slot).pure);
    let (slot, _, keep) = talk(&[8; 12]).run(&mut slots);
    assert!(keep == 0 && slots.slot(slot).pure);
    let held = (0..3).filter(|&slot| slots.cached(slot) > 0).count();
    assert_eq!(held, 1);
}

#[test]
fn the_oldest_idle_slot_is_evicted_first() {
    let mut slots = Slots::new(3, true);
    let talks = [talk(&[1; 5]), talk(&[2; 5]), talk(&[3; 5])];
    talks[0].run(&mut slots);
    talks[1].run(&mut slots);
    slots.place(&talks[2].wish()).unwrap();
    assert_eq!([slots.evict(), slots.evict(), slots.evict()], [Some(0), Some(1), None]);
}
