use std::sync::LazyLock;

use regex::Regex;

use crate::query::regex;

/// The most paths that are looked up.
const MOST: usize = 400;

/// A path or file name in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    /// Forward slashes; may begin with folders that the repository does not have.
    pub path: String,
    /// 1-based, where the text gives one.
    pub line: Option<u32>,
}

/// A link into a hosted repository: the path follows the commit.
static BLOB: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"https?://[^\s/]+/[^\s/]+/[^\s/]+/(?:-/)?(?:blob|raw|src|blame|tree)/[^\s/]+/(?<path>[^\s#?)>\]]+)(?:#L(?<line>\d+))?",
    )
});
static URL: LazyLock<Regex> = LazyLock::new(|| regex(r"(?:https?|ftp)://[^\s)>\]]+"));
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?<path>[\w.@+~-]*(?:[/\\]+[\w.@+~-]+)+|[\w+-][\w.+-]*\.[A-Za-z][A-Za-z0-9+]{0,5})(?:(?::|, line |#L)(?<line>\d+))?",
    )
});

/// The paths and file names that `text` names, in order, each once.
pub(crate) fn mentions(text: &str) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    let mut add = |captures: &regex::Captures<'_>| {
        let path = captures["path"].replace('\\', "/");
        let path = path.trim_matches(['.', '/', '-']).trim_start_matches("./");
        let line = captures.name("line").and_then(|line| line.as_str().parse().ok());
        if let Some(known) = found.iter_mut().find(|mention| mention.path == path) {
            known.line = known.line.or(line);
        } else if !path.is_empty() && found.len() < MOST {
            found.push(Mention { path: path.to_owned(), line });
        }
    };
    for captures in BLOB.captures_iter(text) {
        add(&captures);
    }
    let rest = URL.replace_all(text, " ");
    for captures in PATH.captures_iter(&rest).take(MOST) {
        add(&captures);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_names_and_links_are_found() {
        let text = "In src\\core\\a.rs:12 and `util.py`, ./x/y.ts, see \
            https://github.com/o/r/blob/main/lib/z.go#L5-L9 or https://o.org/q.html. \
            File \"/usr/lib/b.py\", line 3";
        let got: Vec<(String, Option<u32>)> =
            mentions(text).into_iter().map(|m| (m.path, m.line)).collect();
        let want = [
            ("lib/z.go", Some(5)),
            ("src/core/a.rs", Some(12)),
            ("util.py", None),
            ("x/y.ts", None),
            ("usr/lib/b.py", None),
        ];
        assert_eq!(got, want.map(|(path, line)| (path.to_owned(), line)));
    }
}
