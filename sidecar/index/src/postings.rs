use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::doc::Bag;
use crate::token::Term;

/// Parts of an inverted field, by the top bits of the term; each is built by one thread.
const PARTS: usize = 64;

/// One field of all documents, inverted: which documents hold a term, and how often.
#[derive(Debug, Default)]
pub(crate) struct Postings {
    parts: Vec<Part>,
    /// Terms in each document, repeats counted.
    lengths: Vec<u32>,
    mean_length: f32,
}

#[derive(Debug, Default)]
struct Part {
    /// Start and length in `docs` and `counts`.
    ranges: FxHashMap<Term, (u32, u32)>,
    /// Ascending within a term.
    docs: Vec<u32>,
    counts: Vec<u16>,
}

impl Postings {
    /// Inverts `bags`, one a document.
    pub fn build(bags: &[&Bag]) -> Self {
        let parts = (0..PARTS).into_par_iter().map(|part| Part::build(bags, part)).collect();
        let lengths: Vec<u32> = bags.iter().map(|bag| bag.length).collect();
        let filled = lengths.iter().filter(|length| **length > 0).count().max(1);
        let sum: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
        Self { parts, mean_length: (sum as f64 / filled as f64).max(1.0) as f32, lengths }
    }

    /// The documents that hold `term`, ascending, and how often each does.
    pub fn of(&self, term: Term) -> (&[u32], &[u16]) {
        let Some(part) = self.parts.get(part_of(term)) else { return (&[], &[]) };
        let Some(&(start, length)) = part.ranges.get(&term) else { return (&[], &[]) };
        let range = start as usize..(start + length) as usize;
        (&part.docs[range.clone()], &part.counts[range])
    }

    pub fn length(&self, doc: u32) -> u32 {
        self.lengths[doc as usize]
    }

    /// Over the documents that have any term.
    pub fn mean_length(&self) -> f32 {
        self.mean_length
    }

    /// Bytes it occupies, closely.
    pub fn memory(&self) -> usize {
        let part = |part: &Part| part.ranges.capacity() * 17 * 8 / 7 + part.docs.capacity() * 6;
        self.parts.iter().map(part).sum::<usize>() + self.lengths.len() * 4
    }
}

fn part_of(term: Term) -> usize {
    (term >> 58) as usize
}

impl Part {
    fn build(bags: &[&Bag], part: usize) -> Self {
        // Terms are sorted, so a part's terms lie together in each bag.
        let slice = |bag: &Bag| {
            let start = bag.terms.partition_point(|term| part_of(*term) < part);
            let length = bag.terms[start..].partition_point(|term| part_of(*term) == part);
            start..start + length
        };
        let mut ranges: FxHashMap<Term, (u32, u32)> = FxHashMap::default();
        let mut total = 0;
        for bag in bags {
            for term in &bag.terms[slice(bag)] {
                ranges.entry(*term).or_insert((0, 0)).1 += 1;
                total += 1;
            }
        }
        let mut next = 0;
        for range in ranges.values_mut() {
            range.0 = next;
            next += std::mem::take(&mut range.1);
        }
        let mut docs = vec![0; total];
        let mut counts = vec![0; total];
        for (doc, bag) in bags.iter().enumerate() {
            for at in slice(bag) {
                if let Some((start, length)) = ranges.get_mut(&bag.terms[at]) {
                    let place = (*start + *length) as usize;
                    docs[place] = doc as u32;
                    counts[place] = bag.counts[at];
                    *length += 1;
                }
            }
        }
        ranges.shrink_to_fit();
        Self { ranges, docs, counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bag(pairs: &[(Term, u16)]) -> Bag {
        Bag {
            terms: pairs.iter().map(|(term, _)| *term).collect(),
            counts: pairs.iter().map(|(_, n)| *n).collect(),
            length: pairs.iter().map(|(_, n)| u32::from(*n)).sum(),
        }
    }

    proptest! {
        #[test]
        fn every_occurrence_is_found_under_its_term(
            docs in prop::collection::vec(
                prop::collection::btree_map(prop_oneof![0u64..4, any::<u64>()], 1u16..9, 0..8), 0..12)
        ) {
            let bags: Vec<Bag> =
                docs.iter().map(|d| bag(&d.iter().map(|(t, n)| (*t, *n)).collect::<Vec<_>>())).collect();
            let postings = Postings::build(&bags.iter().collect::<Vec<_>>());
            for term in docs.iter().flat_map(|d| d.keys()) {
                let want: (Vec<u32>, Vec<u16>) = docs
                    .iter()
                    .enumerate()
                    .filter_map(|(i, d)| d.get(term).map(|n| (i as u32, *n)))
                    .unzip();
                let (ids, counts) = postings.of(*term);
                prop_assert_eq!((ids.to_vec(), counts.to_vec()), want);
            }
        }
    }

    #[test]
    fn an_unknown_term_has_no_documents() {
        assert_eq!(Postings::default().of(7), (&[][..], &[][..]));
        assert_eq!(Postings::build(&[&bag(&[(1, 2)])]).of(7), (&[][..], &[][..]));
    }
}
