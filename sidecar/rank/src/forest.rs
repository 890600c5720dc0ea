//! Gradient-boosted regression trees: the inference half. `codegrep-train lexical` grows them.

use serde::{Deserialize, Serialize};

use crate::weights::columns;

/// Boosted trees over named features; their sum is a log-odds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "File", into = "File")]
pub struct Forest {
    file: File,
    /// Where each of the file's features stands in a row of [`columns`].
    places: Vec<usize>,
}

/// A binary tree in arrays. Node `i` splits while `left[i]` is not 0, and goes to that child when
/// the value of its feature is below `threshold[i]`, to the one after it otherwise. A leaf has
/// `left[i]` = 0 and its output in `threshold[i]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// In the forest's list of features.
    pub feature: Vec<u16>,
    pub threshold: Vec<f32>,
    pub left: Vec<u16>,
}

/// As it is written: the features that the trees use by name, so that trees grown for other
/// features are told apart from these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    features: Vec<String>,
    /// Log-odds before any tree.
    base: f32,
    trees: Vec<Tree>,
}

impl Forest {
    /// Trees whose features are numbered as in [`columns`].
    ///
    /// # Errors
    /// An index leaves its tree or the columns, or a number is not finite.
    pub fn new(base: f32, trees: Vec<Tree>) -> Result<Self, String> {
        let features = columns().map(str::to_owned).collect();
        let mut forest = Self::try_from(File { features, base, trees })?;
        forest.forget_unused();
        Ok(forest)
    }

    /// Log-odds of one file; `row` holds a value for each of [`columns`].
    pub fn predict(&self, row: &[f32]) -> f32 {
        let trees = self.file.trees.iter();
        self.file.base + trees.map(|tree| tree.predict(|at| row[self.places[at]])).sum::<f32>()
    }

    /// How many trees there are.
    pub fn len(&self) -> usize {
        self.file.trees.len()
    }

    pub fn is_empty(&self) -> bool {
        self.file.trees.is_empty()
    }

    /// How often each feature splits, most often first.
    pub fn uses(&self) -> Vec<(&str, usize)> {
        let mut uses: Vec<_> = self.file.features.iter().map(|name| (name.as_str(), 0)).collect();
        self.file.trees.iter().for_each(|tree| tree.splits().for_each(|at| uses[at].1 += 1));
        uses.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        uses
    }

    fn forget_unused(&mut self) {
        let mut used = vec![false; self.places.len()];
        self.file.trees.iter().for_each(|tree| tree.splits().for_each(|at| used[at] = true));
        let mut next = 0;
        let renumbered: Vec<u16> = used
            .iter()
            .map(|used| {
                next += u16::from(*used);
                next.saturating_sub(1)
            })
            .collect();
        for tree in &mut self.file.trees {
            for (feature, left) in tree.feature.iter_mut().zip(&tree.left) {
                *feature = if *left == 0 { 0 } else { renumbered[usize::from(*feature)] };
            }
        }
        let mut keep = used.iter();
        self.places.retain(|_| *keep.next().unwrap_or(&false));
        let mut keep = used.iter();
        self.file.features.retain(|_| *keep.next().unwrap_or(&false));
    }
}

impl Tree {
    /// The output for the file whose features `value` gives.
    pub fn predict(&self, value: impl Fn(usize) -> f32) -> f32 {
        let mut at = 0;
        while self.left[at] != 0 {
            let right = value(usize::from(self.feature[at])) >= self.threshold[at];
            at = usize::from(self.left[at]) + usize::from(right);
        }
        self.threshold[at]
    }

    /// The feature of each split.
    fn splits(&self) -> impl Iterator<Item = usize> {
        self.feature
            .iter()
            .zip(&self.left)
            .filter(|(_, left)| **left != 0)
            .map(|(feature, _)| usize::from(*feature))
    }

    /// Whether every index stays inside the tree and below `width`, and every child comes after
    /// its parent, so that [`Tree::predict`] ends.
    fn is_sound(&self, width: usize) -> bool {
        let nodes = self.feature.len();
        nodes > 0
            && self.threshold.len() == nodes
            && self.left.len() == nodes
            && self.threshold.iter().all(|x| x.is_finite())
            && (0..nodes).all(|at| {
                let left = usize::from(self.left[at]);
                left == 0
                    || (left > at && left + 1 < nodes && usize::from(self.feature[at]) < width)
            })
    }
}

impl TryFrom<File> for Forest {
    type Error = String;

    fn try_from(file: File) -> Result<Self, String> {
        let place = |name: &String| {
            columns()
                .position(|known| known == name)
                .ok_or_else(|| format!("forest: {name:?} is no feature of this version"))
        };
        let places = file.features.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        if !file.base.is_finite() {
            return Err("forest: its base is not a finite number".to_owned());
        }
        if let Some(at) = file.trees.iter().position(|tree| !tree.is_sound(places.len())) {
            return Err(format!("forest: tree {at} leads out of itself or of the features"));
        }
        Ok(Self { file, places })
    }
}

impl From<Forest> for File {
    fn from(forest: Forest) -> Self {
        forest.file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stump() -> Tree {
        Tree { feature: vec![1, 0, 0], threshold: vec![0.5, -1.0, 2.0], left: vec![1, 0, 0] }
    }

    fn row(at: usize, value: f32) -> Vec<f32> {
        let mut row = vec![0.0; columns().count()];
        row[at] = value;
        row
    }

    #[test]
    fn a_stump_by_hand() {
        let forest = Forest::new(0.25, vec![stump(), stump()]).unwrap();
        assert_eq!(forest.predict(&row(1, 0.4)), -1.75);
        assert_eq!(forest.predict(&row(1, 0.5)), 4.25);
        let name = columns().nth(1).unwrap();
        assert_eq!(forest.uses(), [(name, 2)]);
    }

    #[test]
    fn a_written_forest_names_what_it_uses_and_reads_the_same() {
        let mut deep = stump();
        deep.feature[0] = 7;
        let forest = Forest::new(0.0, vec![stump(), deep]).unwrap();
        let json = serde_json::to_string(&forest).unwrap();
        let names: Vec<_> = columns().collect();
        assert!(json.contains(&format!(r#""features":["{}","{}"]"#, names[1], names[7])), "{json}");
        let read: Forest = serde_json::from_str(&json).unwrap();
        assert_eq!(read, forest);
        assert_eq!(read.predict(&row(7, 1.0)), 1.0);
    }

    #[test]
    fn unsound_trees_are_refused() {
        let names = |names: &[&str], tree: Tree| {
            let features = names.iter().map(|name| (*name).to_owned()).collect();
            Forest::try_from(File { features, base: 0.0, trees: vec![tree] }).map(|_| ())
        };
        let first = columns().next().unwrap();
        let out = "forest: tree 0 leads out of itself or of the features";
        assert_eq!(names(&[first], stump()), Err(out.to_owned()), "a feature that is not listed");
        let looping = Tree { left: vec![1, 0, 1], ..stump() };
        assert_eq!(
            names(&[first, first], looping),
            Err(out.to_owned()),
            "a child before its parent"
        );
        let short = Tree { threshold: vec![0.5], ..stump() };
        assert_eq!(names(&[first, first], short), Err(out.to_owned()));
        let other = names(&["aura"], Tree::default()).unwrap_err();
        assert_eq!(other, "forest: \"aura\" is no feature of this version");
    }
}
