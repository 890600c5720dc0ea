use codegrep_tree::{RepoPath, Tree};

/// Where a repository writes its own wishes, at each root.
pub const FILE_NAME: &str = ".codegrep.toml";

/// More than this is no settings file.
const MOST_BYTES: u64 = 64 << 10;

const MOST_WARNINGS: usize = 5;

/// What a repository may set. It is not trusted: nothing here can name a model, an endpoint or a
/// command, loosen the gate, or make a request fail; what it may not set is told and ignored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RepositorySettings {
    /// The most files of an answer where neither the request nor the user says.
    pub max_files: Option<usize>,
    /// Raises the gate's bar; never lowers it.
    pub bar: Option<f64>,
    /// For the user.
    pub warnings: Vec<String>,
}

impl RepositorySettings {
    /// Reads the files of the folders `roots` that have one. They share one answer, so the strictest
    /// wish of each kind holds for it.
    pub fn of(tree: &dyn Tree, roots: &[RepoPath]) -> Self {
        let mut all = Self::default();
        for path in roots.iter().filter_map(|root| root.child(FILE_NAME).ok()) {
            let Self { max_files, bar, warnings } = Self::at(tree, &path);
            all.max_files = all.max_files.into_iter().chain(max_files).min();
            all.bar = all.bar.into_iter().chain(bar).reduce(f64::max);
            all.warnings.extend(warnings);
        }
        all.warnings.truncate(MOST_WARNINGS);
        all
    }

    fn at(tree: &dyn Tree, path: &RepoPath) -> Self {
        match tree.read(path, MOST_BYTES) {
            Ok(blob) if blob.size > MOST_BYTES => Self::refused(path, "larger than 64 KiB"),
            Ok(blob) => match std::str::from_utf8(&blob.bytes) {
                Ok(text) => Self::parse(path, text),
                Err(_) => Self::refused(path, "not UTF-8"),
            },
            // Absent, or a pipe, or a link that leads out: it sets nothing.
            Err(_) => Self::default(),
        }
    }

    fn refused(path: &RepoPath, why: &str) -> Self {
        Self { warnings: vec![format!("{path} is ignored: {why}")], ..Self::default() }
    }

    fn parse(path: &RepoPath, text: &str) -> Self {
        let table: toml::Table = match toml::from_str(text) {
            Ok(table) => table,
            Err(error) => return Self::refused(path, error.message()),
        };
        let mut settings = Self::default();
        for (key, value) in table {
            let taken = match key.as_str() {
                "max_files" => {
                    let files = value.as_integer().and_then(|files| usize::try_from(files).ok());
                    settings.max_files =
                        files.filter(|files| (1..=super::MAX_FILES).contains(files));
                    settings.max_files.is_some()
                }
                "bar" => {
                    let bar = value.as_float().or(value.as_integer().map(|bar| bar as f64));
                    settings.bar = bar.filter(|bar| (0.0..=1.0).contains(bar));
                    settings.bar.is_some()
                }
                _ => {
                    // The key is the repository's text and goes to a terminal.
                    settings
                        .warnings
                        .push(format!("{path}: a repository may not set {key:?}; it is ignored"));
                    continue;
                }
            };
            if !taken {
                settings.warnings.push(format!("{path}: {key} is out of range; it is ignored"));
            }
        }
        settings.warnings.truncate(MOST_WARNINGS);
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_repository_sets_what_is_harmless_and_nothing_else() {
        let settings = RepositorySettings::parse(
            &RepoPath::parse(FILE_NAME).unwrap(),
            "max_files = 2\nbar = 0.9\nmodel = '/evil.gguf'\n\
             \"k\\u001b[2J\" = 1\n[endpoints.auto]\nbase_url = 'http://evil'",
        );
        expect![[r#"
            RepositorySettings {
                max_files: Some(
                    2,
                ),
                bar: Some(
                    0.9,
                ),
                warnings: [
                    ".codegrep.toml: a repository may not set \"endpoints\"; it is ignored",
                    ".codegrep.toml: a repository may not set \"k\\u{1b}[2J\"; it is ignored",
                    ".codegrep.toml: a repository may not set \"model\"; it is ignored",
                ],
            }
        "#]]
        .assert_debug_eq(&settings);
    }

    #[test]
    fn of_several_roots_the_strictest_wish_of_each_kind_holds() {
        let dir = tempfile::tempdir().unwrap();
        for (root, text) in [
            ("a", "max_files = 2\nbar = 0.9\nx = 1"),
            ("b", "max_files = 5\nbar = 0.2"),
            ("c", "]["),
            ("d", "bar = 0.5"),
        ] {
            std::fs::create_dir(dir.path().join(root)).unwrap();
            std::fs::write(dir.path().join(root).join(FILE_NAME), text).unwrap();
        }
        let tree = codegrep_tree::DiskTree::open(dir.path()).unwrap();
        let roots = ["a", "b", "c", "d", "none"].map(|root| RepoPath::parse(root).unwrap());
        let settings = RepositorySettings::of(&tree, &roots);
        assert_eq!((settings.max_files, settings.bar), (Some(2), Some(0.9)));
        expect![[r#"
            [
                "a/.codegrep.toml: a repository may not set \"x\"; it is ignored",
                "c/.codegrep.toml is ignored: missing table open, expected `[`",
            ]
        "#]]
        .assert_debug_eq(&settings.warnings);
    }

    #[test]
    fn nonsense_is_ignored_with_a_warning() {
        for text in
            ["max_files = 0", "max_files = -1", "bar = 'high'", "bar = nan", "bar = 2", "]["]
        {
            let settings = RepositorySettings::parse(&RepoPath::parse(FILE_NAME).unwrap(), text);
            assert_eq!(
                (settings.max_files, settings.bar, settings.warnings.len()),
                (None, None, 1)
            );
        }
    }
}
