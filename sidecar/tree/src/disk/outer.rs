use std::path::Path;
use std::sync::Arc;

use crate::rules::{RULES_LIMIT, Rules, Verdict};
use crate::{OuterRules, regular};

/// The `.gitignore` files above `root`, when it lies inside a git repository but is not its top:
/// who opens `packages/app` expects what the repository ignores to stay ignored.
///
/// None when they ignore `root` itself: it is named, so they have nothing to say about it.
pub(super) fn outer_rules(root: &Path) -> Vec<OuterRules> {
    let Ok(root) = root.canonicalize() else { return Vec::new() };
    if root.join(".git").exists() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut room = RULES_LIMIT;
    for dir in root.ancestors().skip(1) {
        let below = root.strip_prefix(dir).ok().and_then(Path::to_str);
        let Some(below) = below.map(|below| below.replace(std::path::MAIN_SEPARATOR, "/")) else {
            return Vec::new();
        };
        if let Ok(text) = regular::read(&dir.join(".gitignore"), room) {
            room -= text.len() as u64;
            found.push(OuterRules { below, text });
        }
        if dir.join(".git").exists() {
            found.reverse();
            return if ignored(&found) { Vec::new() } else { found };
        }
    }
    Vec::new()
}

/// Whether the rules exclude the root or a folder on the way down to it.
fn ignored(outer: &[OuterRules]) -> bool {
    let Some(top) = outer.first() else { return false };
    let mut rules = None;
    for OuterRules { below, text } in outer {
        // Seen from the topmost file's folder, each lies in what its `below` leaves of the way.
        let dir = top.below.strip_suffix(below.as_str()).unwrap_or("").trim_end_matches('/');
        rules = Rules::inside(rules, dir, Some(text), None, false);
    }
    let rules: Arc<Rules> = match rules {
        Some(rules) => rules,
        None => return false,
    };
    let ends = top.below.match_indices('/').map(|(at, _)| at).chain([top.below.len()]);
    ends.into_iter().any(|end| rules.verdict(&top.below[..end], true) == Verdict::Ignored)
}
