use std::collections::HashSet;
use std::hash::Hash;

use super::files::of_counts;

/// A place in the code, as CodeScout's finish call names it (spec 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location<'a> {
    pub file: &'a str,
    pub class: Option<&'a str>,
    pub function: Option<&'a str>,
}

impl<'a> Location<'a> {
    /// `file:Class`, or `file:function` without a class.
    fn module(&self) -> Option<(&'a str, &'a str)> {
        self.class.or(self.function).map(|name| (self.file, name))
    }

    /// `file:Class.function`, or `file:function`.
    fn entity(&self) -> Option<(&'a str, Option<&'a str>, &'a str)> {
        self.function.map(|function| (self.file, self.class, function))
    }
}

/// How the rollout ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    pub finish_calls: u32,
    /// The last turn could not be read.
    pub malformed: bool,
    pub turns: u32,
    /// 1 is added for ending at exactly this turn (the 14B's bonus); `None` is off.
    pub bonus_at: Option<u32>,
}

/// The reward and its parts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CodeScout {
    pub reward: f64,
    pub file: f64,
    pub module: f64,
    pub function: f64,
    pub bonus: f64,
}

/// F1 of files + F1 of modules + F1 of functions, plus the bonus. A level whose truth is empty
/// gives 0; all is 0 without any truth, or unless the finish call was made exactly once in a
/// readable turn.
pub fn codescout(predicted: &[Location<'_>], truth: &[Location<'_>], ending: &Ending) -> CodeScout {
    if truth.is_empty() || ending.finish_calls != 1 || ending.malformed {
        return CodeScout::default();
    }
    let file = f1(predicted.iter().map(|at| at.file), truth.iter().map(|at| at.file));
    let module = f1(
        predicted.iter().filter_map(Location::module),
        truth.iter().filter_map(Location::module),
    );
    let function = f1(
        predicted.iter().filter_map(Location::entity),
        truth.iter().filter_map(Location::entity),
    );
    let bonus = if ending.bonus_at == Some(ending.turns) { 1.0 } else { 0.0 };
    CodeScout { reward: file + module + function + bonus, file, module, function, bonus }
}

fn f1<T: Eq + Hash>(predicted: impl Iterator<Item = T>, truth: impl Iterator<Item = T>) -> f64 {
    let (predicted, truth) = (predicted.collect::<HashSet<_>>(), truth.collect::<HashSet<_>>());
    if truth.is_empty() {
        return 0.0;
    }
    of_counts(predicted.intersection(&truth).count(), predicted.len(), truth.len(), 1.0)
}
