use codegrep_tree::{Entry, Kind, RepoPath, Scope, Watch};
use globset::{GlobBuilder, GlobMatcher};

use super::args::Glob;
use super::context::{Context, LISTING};
use super::page::{count, page};
use super::{Observation, paths};

/// Files whose path, seen from the root or from a folder, matches a pattern.
pub(super) struct Filter {
    matcher: GlobMatcher,
    /// `!*.md`: all but these.
    negated: bool,
    base: RepoPath,
}

/// Bytes of a pattern.
const MAX_PATTERN: usize = 1000;

impl Filter {
    /// A pattern without a slash matches at any depth, as in `rg -g`; one that ends with a slash,
    /// whatever lies below.
    pub(super) fn new(pattern: &str, base: &RepoPath, ignore_case: bool) -> Result<Self, String> {
        let pattern = pattern.trim();
        let (negated, pattern) = match pattern.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let pattern = pattern.trim_start_matches("./");
        if pattern.is_empty() || pattern.contains(char::is_control) {
            return Err("a glob is not empty and holds no control character".to_owned());
        }
        if pattern.len() > MAX_PATTERN {
            return Err(format!("the glob is longer than {MAX_PATTERN} bytes"));
        }
        if pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") {
            return Err(format!("{pattern}: a glob is relative and stays in the repository"));
        }
        let mut full = pattern.to_owned();
        if !pattern.trim_end_matches('/').contains('/') {
            full.insert_str(0, "**/");
        }
        if pattern.ends_with('/') {
            full.push_str("**");
        }
        let glob = GlobBuilder::new(&full)
            .literal_separator(true)
            .backslash_escape(true)
            .empty_alternates(true)
            .case_insensitive(ignore_case)
            .build()
            .map_err(|err| format!("{pattern}: {}", err.kind()))?;
        Ok(Self { matcher: glob.compile_matcher(), negated, base: base.clone() })
    }

    pub(super) fn takes(&self, path: &RepoPath) -> bool {
        let from_base =
            || path.below(&self.base).is_some_and(|p| self.matcher.is_match(p.as_str()));
        let from_root = self.matcher.is_match(path.as_str());
        (from_root || (!self.base.is_root() && from_base())) != self.negated
    }
}

/// Where to look for files below `base` that match `glob`. The glob names what it spells out: the
/// folder it begins with, hidden or ignored as that may be, and hidden names where one of its
/// parts begins with a dot.
pub(super) fn scope(cx: &Context<'_>, base: &RepoPath, glob: Option<&str>) -> Scope {
    let glob = glob.unwrap_or("").trim().trim_start_matches("./");
    let parts: Vec<&str> = glob.split('/').collect();
    let spelt = parts[..parts.len() - 1].iter().take_while(|part| !is_pattern(part));
    let spelt: Vec<&str> = spelt.copied().collect();
    let under = RepoPath::parse(&spelt.join("/")).and_then(|spelt| base.join(&spelt)).ok();
    let under = under.filter(|under| matches!(cx.tree.kind(under), Ok(Kind::Dir)));
    let under = under.unwrap_or_else(|| base.clone());
    let hidden = parts[spelt.len()..].iter().any(|part| part.starts_with('.') && part.len() > 1);
    Scope { under: (!under.is_root()).then_some(under), hidden, ignored: false }
}

/// Whether a text is no plain path.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{', '!'])
}

pub(super) fn run(asked: &Glob, cx: &Context<'_>) -> Observation {
    let watch = cx.watch.within(cx.limits.glob_time);
    let base = match paths::named(cx, asked.path.as_deref()) {
        Ok((base, _)) => base,
        Err(refused) => return refused,
    };
    let pattern = asked.pattern.trim();
    let narrow = scope(cx, &base, Some(pattern));
    let wide = Scope { under: (!base.is_root()).then(|| base.clone()), ..narrow.clone() };
    let anywhere = format!("**/{}", pattern.trim_matches('/'));
    let below = format!("{anywhere}/");
    // What was asked for; then, for want of a match, what may have been meant.
    let attempts = [
        (pattern, &narrow, false, ""),
        (&anywhere, &wide, false, "nothing matches from the root; at any depth:"),
        (&below, &wide, false, "no such file; below folders of that name:"),
        (&anywhere, &wide, true, "nothing matches; ignoring case:"),
        (&below, &wide, true, "no such file; below folders of that name, ignoring case:"),
    ];
    let tried = if cx.limits.forgiving { attempts.len() } else { 1 };
    for (pattern, scope, ignore_case, note) in attempts.into_iter().take(tried) {
        let filter = match Filter::new(pattern, &base, ignore_case) {
            Ok(filter) => filter,
            Err(message) => return Observation::error(message),
        };
        let walked = cx.walk(scope, &watch);
        let listing = match walked.listing() {
            Ok(listing) => listing,
            Err(err) => return cx.error(err, LISTING, cx.limits.glob_time),
        };
        match select(&listing.entries, &filter, &watch) {
            Ok(found) if found.is_empty() => {}
            Ok(found) => return show(&found, note, cx),
            Err(stop) => return cx.error(&stop.into(), LISTING, cx.limits.glob_time),
        }
    }
    let text = format!("no file matches {pattern}");
    paths::suggest(cx, pattern, Observation { text, ..Observation::default() })
}

fn select(
    entries: &[Entry],
    filter: &Filter,
    watch: &Watch,
) -> Result<Vec<RepoPath>, codegrep_tree::Stop> {
    let mut found = Vec::new();
    for some in entries.chunks(1000) {
        watch.check()?;
        found.extend(
            some.iter().map(|entry| &entry.path).filter(|path| filter.takes(path)).cloned(),
        );
    }
    Ok(found)
}

fn show(found: &[RepoPath], note: &str, cx: &Context<'_>) -> Observation {
    let head = usize::from(!note.is_empty());
    let lines = std::iter::once(note).filter(|note| !note.is_empty());
    let lines: Vec<String> =
        lines.chain(found.iter().map(RepoPath::as_str)).map(str::to_owned).collect();
    let (text, shown) = page(&lines, cx.limits.result_chars, |shown| match lines.len() - shown {
        0 => String::new(),
        _ => format!(
            "({} of {} paths shown; narrow the pattern or give path to see the rest)",
            count(shown.saturating_sub(head)),
            count(found.len())
        ),
    });
    let hits = shown.saturating_sub(head);
    Observation {
        text,
        hits,
        seen: found[..hits].to_vec(),
        cut: hits < found.len(),
        ..Observation::default()
    }
}
