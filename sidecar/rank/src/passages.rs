use codegrep_index::{Hits, Source, Symbol};

use crate::features::Features;
use crate::query::{PARTS, Part};
use crate::terms::{K1, Weighted};

/// A window is about a screen and a half; windows overlap by half.
const WINDOW: u32 = 60;
/// Terms of a window of usual code; what longer and shorter ones are measured against.
const WINDOW_TERMS: f32 = 350.0;
/// The same for one definition.
const UNIT_TERMS: f32 = 120.0;
/// A definition that goes on longer is cut.
const UNIT_LINES: u32 = 120;

/// Fills the features that passages of a file tell; gives the best window's lines, 1-based and
/// inclusive, when any term occurs.
pub(crate) fn passages(
    features: &mut Features,
    source: &Source,
    hits: &Hits,
    symbols: &[Symbol],
    terms: &[Weighted],
) -> Option<(u32, u32)> {
    let mut scorer = Scorer { hits, terms, counts: vec![0; terms.len()] };
    units(features, &mut scorer, symbols, source.lines());
    windows(features, &mut scorer, source.lines())
}

fn windows(features: &mut Features, scorer: &mut Scorer<'_>, lines: u32) -> Option<(u32, u32)> {
    let mut scored: Vec<(f32, u32, u32)> = Vec::new();
    let mut first = 1;
    loop {
        let last = (first + WINDOW - 1).min(lines);
        let parts = scorer.bm25(first, last, WINDOW_TERMS);
        if parts[0] > 0.0 {
            scored.push((parts[Part::All as usize], first, last));
        }
        features.chunk_title = features.chunk_title.max(parts[Part::Title as usize]);
        features.chunk_code = features.chunk_code.max(parts[Part::Code as usize]);
        if last == lines {
            break;
        }
        first += WINDOW / 2;
    }
    let best = scored.iter().copied().reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    features.chunk_all = best.0;
    features.chunk_second = scored
        .iter()
        .filter(|window| window.2 < best.1 || window.1 > best.2)
        .map(|window| window.0)
        .fold(0.0, f32::max);
    Some((best.1, best.2))
}

fn units(features: &mut Features, scorer: &mut Scorer<'_>, symbols: &[Symbol], lines: u32) {
    for (at, symbol) in symbols.iter().enumerate() {
        let next = symbols.get(at + 1).map_or(lines, |next| next.line.saturating_sub(1));
        let last = next.min(symbol.line + UNIT_LINES).max(symbol.line);
        let parts = scorer.bm25(symbol.line, last, UNIT_TERMS);
        features.unit_all = features.unit_all.max(parts[Part::All as usize]);
        features.unit_title = features.unit_title.max(parts[Part::Title as usize]);
        features.unit_code = features.unit_code.max(parts[Part::Code as usize]);
    }
}

struct Scorer<'a> {
    hits: &'a Hits,
    terms: &'a [Weighted],
    /// Zero between calls.
    counts: Vec<u32>,
}

impl Scorer<'_> {
    /// BM25 of the lines `first..=last`, by part of the text.
    fn bm25(&mut self, first: u32, last: u32, usual_length: f32) -> [f32; PARTS] {
        let hits = self.hits.within(first, last);
        let mut parts = [0.0f32; PARTS];
        if hits.is_empty() {
            return parts;
        }
        let length = self.hits.length(first, last) as f32;
        let norm = K1 * (0.25 + 0.75 * length / usual_length);
        for (_, which) in hits {
            self.counts[*which as usize] += 1;
        }
        // In the order of hits, so that sums do not depend on anything else.
        for (_, which) in hits {
            let count = std::mem::take(&mut self.counts[*which as usize]) as f32;
            let tf = count * (K1 + 1.0) / (count + norm);
            for (sum, weight) in parts.iter_mut().zip(self.terms[*which as usize].parts) {
                *sum += weight * tf;
            }
        }
        parts
    }
}
