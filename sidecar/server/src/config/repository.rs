use codegrep_tree::{RepoPath, Tree};

/// Where a repository writes its own wishes, at its root.
pub const FILE_NAME: &str = ".codegrep.toml";

/// More than this is no settings file.
const MOST_BYTES: u64 = 64 << 10;

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
    /// Reads the file of this root, if there is one.
    pub fn of(tree: &dyn Tree) -> Self {
        let Ok(path) = RepoPath::parse(FILE_NAME) else { return Self::default() };
        match tree.read(&path, MOST_BYTES) {
            Ok(blob) if blob.size > MOST_BYTES => Self::refused("larger than 64 KiB"),
            Ok(blob) => match std::str::from_utf8(&blob.bytes) {
                Ok(text) => Self::parse(text),
                Err(_) => Self::refused("not UTF-8"),
            },
            // Absent, or a pipe, or a link that leads out: it sets nothing.
            Err(_) => Self::default(),
        }
    }

    fn refused(why: &str) -> Self {
        Self { warnings: vec![format!("{FILE_NAME} is ignored: {why}")], ..Self::default() }
    }

    fn parse(text: &str) -> Self {
        let table: toml::Table = match toml::from_str(text) {
            Ok(table) => table,
            Err(error) => return Self::refused(error.message()),
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
                    settings.warnings.push(format!(
                        "{FILE_NAME}: a repository may not set {key:?}; it is ignored"
                    ));
                    continue;
                }
            };
            if !taken {
                settings
                    .warnings
                    .push(format!("{FILE_NAME}: {key} is out of range; it is ignored"));
            }
        }
        settings.warnings.truncate(5);
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
    fn nonsense_is_ignored_with_a_warning() {
        for text in
            ["max_files = 0", "max_files = -1", "bar = 'high'", "bar = nan", "bar = 2", "]["]
        {
            let settings = RepositorySettings::parse(text);
            assert_eq!(
                (settings.max_files, settings.bar, settings.warnings.len()),
                (None, None, 1)
            );
        }
    }
}
