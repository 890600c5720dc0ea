use std::borrow::Cow;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// As many bytes of ignore files hold in one folder, from the outermost down; a real repository
/// has a hundredth. Patterns are compiled, which takes a hostile file's time and memory many times
/// over.
pub(crate) const RULES_LIMIT: u64 = 256 << 10;

/// The rules that hold in one folder: its own, then those of the folders above.
///
/// Precedence as in ripgrep: a `.ignore` at any depth beats every `.gitignore`, a deeper file beats
/// a shallower one, a later line an earlier one. Rules of a `.gitignore` end where another git
/// repository begins. Global and per-clone excludes play no part, so that the same commit lists
/// alike on every machine, checked out or not.
pub(crate) struct Rules {
    above: Option<Arc<Rules>>,
    base: Base,
    gitignore: Option<Gitignore>,
    dot_ignore: Option<Gitignore>,
    is_repository: bool,
    /// Of the files they were read from, all folders above included.
    bytes: u64,
}

/// Where the rules lie.
enum Base {
    /// In this folder of the tree.
    Inside(String),
    /// So far above the tree's root.
    Above(String),
}

/// What the rules say about one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ignored,
    /// A `!` rule names it, which also shows a hidden entry.
    Included,
    Silent,
}

impl Rules {
    /// The rules in the folder `dir` of a tree; `above` itself when the folder adds nothing.
    pub(crate) fn inside(
        above: Option<Arc<Rules>>,
        dir: &str,
        gitignore: Option<&[u8]>,
        dot_ignore: Option<&[u8]>,
        is_repository: bool,
    ) -> Option<Arc<Rules>> {
        let bytes = room_taken(&above) + length(gitignore) + length(dot_ignore);
        let (gitignore, dot_ignore) = (gitignore.and_then(compile), dot_ignore.and_then(compile));
        if gitignore.is_none() && dot_ignore.is_none() && (above.is_none() || !is_repository) {
            return above;
        }
        let base = Base::Inside(dir.to_owned());
        Some(Arc::new(Rules { above, base, gitignore, dot_ignore, is_repository, bytes }))
    }

    /// The rules of a `.gitignore` above the tree's root, which lies at `below` seen from there.
    pub(crate) fn outside(
        above: Option<Arc<Rules>>,
        below: &str,
        gitignore: &[u8],
    ) -> Option<Arc<Rules>> {
        let bytes = room_taken(&above) + length(Some(gitignore));
        let Some(gitignore) = compile(gitignore) else { return above };
        Some(Arc::new(Rules {
            bytes,
            above,
            base: Base::Above(below.to_owned()),
            gitignore: Some(gitignore),
            dot_ignore: None,
            is_repository: false,
        }))
    }

    /// What the rules say about the entry at `path`, seen from the tree's root. Its parents are
    /// taken as walked: a rule for `target/` says nothing about `target/a.o`.
    pub(crate) fn verdict(&self, path: &str, is_dir: bool) -> Verdict {
        let mut from_git = Verdict::Silent;
        let mut other_repository = false;
        let mut level = Some(self);
        while let Some(rules) = level {
            let ask = |matcher: &Option<Gitignore>| match matcher {
                Some(matcher) => match matcher.matched(&*rules.seen_from_here(path), is_dir) {
                    Match::None => Verdict::Silent,
                    Match::Ignore(_) => Verdict::Ignored,
                    Match::Whitelist(_) => Verdict::Included,
                },
                None => Verdict::Silent,
            };
            let verdict = ask(&rules.dot_ignore);
            if verdict != Verdict::Silent {
                return verdict;
            }
            if from_git == Verdict::Silent && !other_repository {
                from_git = ask(&rules.gitignore);
            }
            other_repository |= rules.is_repository;
            level = rules.above.as_deref();
        }
        from_git
    }

    fn seen_from_here<'a>(&self, path: &'a str) -> Cow<'a, str> {
        match &self.base {
            Base::Inside(dir) => {
                path.strip_prefix(dir.as_str()).unwrap_or(path).trim_start_matches('/').into()
            }
            Base::Above(below) => format!("{below}/{path}").into(),
        }
    }
}

/// What is left of [`RULES_LIMIT`] below these rules.
pub(crate) fn room(above: &Option<Arc<Rules>>) -> u64 {
    RULES_LIMIT.saturating_sub(room_taken(above))
}

fn room_taken(rules: &Option<Arc<Rules>>) -> u64 {
    rules.as_ref().map_or(0, |rules| rules.bytes)
}

fn length(text: Option<&[u8]>) -> u64 {
    text.map_or(0, |text| text.len() as u64)
}

/// `None` when the text holds no rule. As in git, a line that is no pattern matches nothing.
fn compile(text: &[u8]) -> Option<Gitignore> {
    let text = String::from_utf8_lossy(text);
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
