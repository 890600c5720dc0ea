use std::collections::{BinaryHeap, HashSet};
use std::path::Path;

use git2::{ObjectType, Oid};

use super::objects::{NodeKind, Objects, nodes};
use super::refs::{GitDirs, Rev};
use crate::{RepoPath, Stop, TreeError, Watch};

/// Longer messages are cut.
const MESSAGE_LIMIT: usize = 2 << 10;
/// As many merges are stepped over for one commit that is none.
const MERGES: usize = 4;

/// The commits that led to a tree's files, from git's objects alone.
///
/// Of several repositories side by side (see [`crate::ForestTree`]) it is one history after the
/// other.
#[derive(Default)]
pub struct History {
    lines: Vec<Line>,
}

/// One repository's.
struct Line {
    objects: Objects,
    tip: Oid,
    /// The folder of the repository that is the tree's root.
    root: RepoPath,
    /// Where that folder lies in the tree asked.
    place: RepoPath,
}

/// A commit that is not a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// 40 hex digits.
    pub id: String,
    /// When it was committed, seconds since 1970.
    pub seconds: i64,
    /// Its first 2 KiB.
    pub message: String,
    line: usize,
    tree: Oid,
    parent: Option<Oid>,
}

impl Commit {
    /// Id of the commit it was made on, 40 hex digits; `None` for the first.
    pub fn parent(&self) -> Option<String> {
        self.parent.map(|id| id.to_string())
    }
}

/// What a commit object says.
struct Parsed {
    tree: Oid,
    parents: Vec<Oid>,
    seconds: i64,
    message: String,
}

impl History {
    /// The history of `HEAD` of the repository that holds the folder `root`; `None` when there is
    /// no repository or no commit.
    pub(crate) fn of_folder(root: &Path) -> Option<Self> {
        let real = root.canonicalize().ok()?;
        let top = real.ancestors().find(|dir| dir.join(".git").exists())?;
        let below = real.strip_prefix(top).ok()?.to_str()?;
        let below = RepoPath::parse(&below.replace(std::path::MAIN_SEPARATOR, "/")).ok()?;
        let dirs = GitDirs::find(top).ok()?;
        let Rev::Id(head) = dirs.resolve("HEAD").ok()?? else { return None };
        let objects = Objects::open(&dirs.common.join("objects")).ok()?;
        Some(Self::at(objects, Oid::from_str(&head).ok()?, below))
    }

    pub(super) fn at(objects: Objects, tip: Oid, root: RepoPath) -> Self {
        Self { lines: vec![Line { objects, tip, root, place: RepoPath::root() }] }
    }

    /// Adds the history of a tree that lies at `place`.
    pub(crate) fn add(&mut self, place: &RepoPath, other: Self) {
        for mut line in other.lines {
            line.place = place.join(&line.place).unwrap_or(line.place);
            self.lines.push(line);
        }
    }

    /// The ids of the commits it ends with: equal while nothing was committed.
    pub fn tips(&self) -> Vec<String> {
        self.lines.iter().map(|line| line.tip.to_string()).collect()
    }

    /// The newest `most` commits of each repository that are no merges, newest first.
    ///
    /// A history that ends early (a shallow clone, a damaged object) is what there is of it.
    pub fn commits(&self, most: usize, watch: &Watch) -> Result<Vec<Commit>, Stop> {
        let mut found = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            let mut ahead = BinaryHeap::new();
            let mut seen = HashSet::from([line.tip]);
            if let Some(parsed) = line.parsed(line.tip) {
                ahead.push((parsed.seconds, line.tip, Held(parsed)));
            }
            let mut own = 0;
            for _ in 0..most.saturating_mul(MERGES) {
                watch.check()?;
                let Some((_, id, Held(parsed))) = ahead.pop() else { break };
                for parent in &parsed.parents {
                    if seen.insert(*parent)
                        && let Some(parsed) = line.parsed(*parent)
                    {
                        ahead.push((parsed.seconds, *parent, Held(parsed)));
                    }
                }
                if parsed.parents.len() > 1 {
                    continue;
                }
                found.push(Commit {
                    id: id.to_string(),
                    seconds: parsed.seconds,
                    message: parsed.message,
                    line: at,
                    tree: parsed.tree,
                    parent: parsed.parents.first().copied(),
                });
                own += 1;
                if own == most {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// The files of this tree that the commit added, changed or removed, sorted; `None` when they
    /// are more than `most`, or its trees are not there.
    pub fn changed(
        &self,
        commit: &Commit,
        most: usize,
    ) -> Result<Option<Vec<RepoPath>>, TreeError> {
        let Some(line) = self.lines.get(commit.line) else { return Ok(None) };
        let before = match commit.parent {
            Some(parent) => match line.parsed(parent) {
                Some(parsed) => Some(parsed.tree),
                // Behind the end of a shallow clone all files would seem new.
                None => return Ok(None),
            },
            None => None,
        };
        let mut change = Change { line, most, paths: Vec::new() };
        if change.compare(before, Some(commit.tree), "").is_none() {
            return Ok(None);
        }
        let mut paths = Vec::new();
        for path in change.paths {
            let Ok(path) = RepoPath::parse(&path) else { continue };
            if let Some(path) = path.below(&line.root) {
                paths.push(line.place.join(&path)?);
            }
        }
        paths.sort();
        Ok(Some(paths))
    }
}

/// Rides along in the heap without a say in its order.
struct Held(Parsed);

impl PartialEq for Held {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Line {
    fn parsed(&self, id: Oid) -> Option<Parsed> {
        let bytes = self.objects.raw(id, ObjectType::Commit).ok()?;
        parsed(&bytes)
    }
}

fn parsed(bytes: &[u8]) -> Option<Parsed> {
    let end = bytes.windows(2).position(|two| two == b"\n\n").unwrap_or(bytes.len());
    let (head, message) = bytes.split_at(end);
    let id = |hex: &[u8]| Oid::from_str(std::str::from_utf8(hex.get(..40)?).ok()?).ok();
    let mut tree = None;
    let mut parents = Vec::new();
    let mut seconds = 0;
    for line in head.split(|byte| *byte == b'\n') {
        if let Some(hex) = line.strip_prefix(b"tree ") {
            tree = id(hex);
        } else if let Some(hex) = line.strip_prefix(b"parent ") {
            parents.extend(id(hex));
        } else if line.starts_with(b"committer ") {
            let mut words = line.rsplit(|byte| *byte == b' ').skip(1);
            let number = words.next().and_then(|word| std::str::from_utf8(word).ok());
            seconds = number.and_then(|number| number.parse().ok()).unwrap_or(0);
        }
    }
    let message = message.trim_ascii();
    let message = &message[..message.len().min(MESSAGE_LIMIT)];
    let message = String::from_utf8_lossy(message).into_owned();
    Some(Parsed { tree: tree?, parents, seconds, message })
}

/// Two trees under comparison.
struct Change<'a> {
    line: &'a Line,
    most: usize,
    paths: Vec<String>,
}

impl Change<'_> {
    /// Collects the files below `dir` that differ; `None` when there are too many or a tree is
    /// missing.
    fn compare(&mut self, before: Option<Oid>, after: Option<Oid>, dir: &str) -> Option<()> {
        // Deeper than git itself goes, no name fits a path.
        if dir.len() > 4096 {
            return Some(());
        }
        let before = self.entries(before)?;
        let after = self.entries(after)?;
        let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (Some(a), Some(b)) => a.0.cmp(&b.0),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (None, None) => return Some(()),
            };
            let a = if order.is_le() { old.next() } else { None };
            let b = if order.is_ge() { new.next() } else { None };
            let (was, is) = (a.map(|a| a.1), b.map(|b| b.1));
            if was == is {
                continue;
            }
            let Some((name, _)) = a.or(b) else { continue };
            let Ok(name) = std::str::from_utf8(name) else { continue };
            let path = if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") };
            let folder = |kind| if let Some(NodeKind::Dir(id)) = kind { Some(id) } else { None };
            let is_file = |kind| matches!(kind, Some(NodeKind::File(_) | NodeKind::Link(_)));
            if is_file(was) || is_file(is) {
                if self.paths.len() == self.most {
                    return None;
                }
                self.paths.push(path.clone());
            }
            if folder(was).is_some() || folder(is).is_some() {
                self.compare(folder(was), folder(is), &path)?;
            }
        }
    }

    /// Names and kinds, sorted by name.
    fn entries(&self, id: Option<Oid>) -> Option<Vec<(Vec<u8>, NodeKind)>> {
        let Some(id) = id else { return Some(Vec::new()) };
        let bytes = self.line.objects.raw(id, ObjectType::Tree).ok()?;
        let mut entries: Vec<_> =
            nodes(&bytes)?.into_iter().map(|node| (node.name, node.kind)).collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Some(entries)
    }
}
