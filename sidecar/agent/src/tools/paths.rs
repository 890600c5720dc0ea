use std::cmp::Reverse;

use codegrep_tree::{Entry, Kind, PathError, RepoPath, Scope, TreeError, Watch};
use strsim::osa_distance;

use super::Observation;
use super::context::Context;

/// The file or folder that a `path` argument names, or what to tell the model instead. Without one
/// it is the root.
pub(super) fn named(cx: &Context<'_>, path: Option<&str>) -> Result<(RepoPath, Kind), Observation> {
    let Some(text) = path else { return Ok((RepoPath::root(), Kind::Dir)) };
    let path = RepoPath::parse(text.trim()).map_err(|err| match err {
        PathError::Absolute(_) => suggest(cx, text, Observation::error(err)),
        err => Observation::error(err),
    })?;
    match cx.tree.kind(&path) {
        // Without links, as files are listed.
        Ok(kind) => cx.tree.resolve(&path).map(|path| (path, kind)).map_err(Observation::error),
        Err(err @ TreeError::NotFound { .. }) => Err(suggest(cx, text, Observation::error(err))),
        Err(err) => Err(Observation::error(err)),
    }
}

/// Adds `; did you mean a.py, b.py?` to what is said, where something is near.
pub(super) fn suggest(cx: &Context<'_>, wanted: &str, said: Observation) -> Observation {
    let watch = cx.watch.within(cx.limits.glob_time);
    let walked = cx.walk(&Scope::default(), &watch);
    let near = match walked.listing() {
        Ok(listing) => nearest(wanted, &listing.entries, &watch),
        Err(_) => Vec::new(),
    };
    let hint = match &near[..] {
        [] => String::new(),
        near => format!("; did you mean {}?", near.join(", ")),
    };
    // With more time there may have been more to name.
    let stopped = watch.check().is_err();
    Observation { text: said.text + &hint, stopped: said.stopped || stopped, ..said }
}

/// Up to three files or folders whose name is that of `wanted` or nearly so, most alike first:
/// models remember names better than places.
fn nearest(wanted: &str, entries: &[Entry], watch: &Watch) -> Vec<String> {
    let wanted = wanted.to_lowercase().replace('\\', "/");
    let parts: Vec<&str> = wanted.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let Some((name, folders)) = parts.split_last() else { return Vec::new() };
    let length = name.chars().count();
    // Misspelt by at most a quarter; what is longer than a name takes too long to compare.
    let most = if length > 64 { 0 } else { length / 4 };
    let mut near = Vec::new();
    let mut consider = |path: &str| {
        let lower = path.to_lowercase();
        let (above, last) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let distance = if last == *name {
            0
        } else if stem(last) == stem(name) {
            1
        } else if last.chars().count().abs_diff(length) > most {
            return;
        } else {
            match osa_distance(last, name) {
                far if far > most => return,
                near => near + 1,
            }
        };
        let shared = above.split('/').filter(|part| folders.contains(part)).count();
        near.push((distance, Reverse(shared), path.len(), path.to_owned()));
    };
    let mut folder = "";
    for (i, entry) in entries.iter().enumerate() {
        if i % 1000 == 0 && watch.check().is_err() {
            break;
        }
        let path = entry.path.as_str();
        consider(path);
        // Sorted, so a folder's files follow one another.
        let above = path.rsplit_once('/').map_or("", |(above, _)| above);
        if above != folder {
            folder = above;
            for (end, _) in folder.match_indices('/').chain([(folder.len(), "")]) {
                consider(&folder[..end]);
            }
        }
    }
    near.sort();
    near.dedup();
    near.into_iter().take(3).map(|(.., path)| path).collect()
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_more_than_places() {
        let entries: Vec<Entry> = [
            "app/models/query.py",
            "app/models/query_utils.py",
            "app/views.py",
            "docs/query.txt",
            "lib/query.py",
            "tests/app/test_query.py",
        ]
        .map(|path| Entry { path: RepoPath::parse(path).unwrap(), size: 0, stamp: 0 })
        .into();
        for (wanted, near) in [
            ("models/query.py", vec!["app/models/query.py", "lib/query.py", "docs/query.txt"]),
            ("/repo/lib/Query.py", vec!["lib/query.py", "app/models/query.py", "docs/query.txt"]),
            ("app/veiws.py", vec!["app/views.py"]),
            ("src/model", vec!["app/models"]),
            ("nothing/like/this.rs", vec![]),
            ("", vec![]),
            ("//", vec![]),
        ] {
            assert_eq!(nearest(wanted, &entries, &Watch::idle()), near, "{wanted}");
        }
    }
}
