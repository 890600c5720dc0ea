//! Languages as task rows spell them, and the endings of their code files.

/// Canonical name and endings, lower-case. A header counts for C and C++ alike.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("python", &["py", "pyi", "pyx"]),
    ("rust", &["rs"]),
    ("javascript", &["js", "jsx", "mjs", "cjs", "vue", "svelte"]),
    ("typescript", &["ts", "tsx", "mts", "cts", "vue", "svelte", "js", "jsx"]),
    ("go", &["go"]),
    ("java", &["java"]),
    ("kotlin", &["kt", "kts"]),
    ("scala", &["scala"]),
    ("c", &["c", "h"]),
    ("cpp", &["cpp", "cc", "cxx", "c", "h", "hh", "hpp", "hxx", "ipp", "inl", "cu", "cuh"]),
    ("csharp", &["cs"]),
    ("ruby", &["rb"]),
    ("php", &["php"]),
    ("swift", &["swift"]),
    ("shell", &["sh", "bash"]),
    ("lua", &["lua"]),
];

/// The one spelling used in reports: `c++` → `cpp`, `c#` → `csharp`.
pub fn canonical(language: &str) -> String {
    match language.to_ascii_lowercase().as_str() {
        "c++" => "cpp".to_owned(),
        "c#" | "cs" => "csharp".to_owned(),
        "js" => "javascript".to_owned(),
        "ts" => "typescript".to_owned(),
        "py" => "python".to_owned(),
        other => other.to_owned(),
    }
}

/// Whether a file with this ending holds code of `language` (canonical). For a language not in
/// the table, every language's endings count.
pub fn is_code(extension: Option<&str>, language: &str) -> bool {
    let Some(extension) = extension.map(str::to_ascii_lowercase) else { return false };
    let has = |row: &(&str, &[&str])| row.1.contains(&extension.as_str());
    match LANGUAGES.iter().find(|row| row.0 == language) {
        Some(row) => has(row),
        None => LANGUAGES.iter().any(has),
    }
}

/// The language of a file by its ending; of several the first of the table, `other` for none.
pub fn of(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let holds = |row: &&(&str, &[&str])| {
        extension.as_deref().is_some_and(|extension| row.1.contains(&extension))
    };
    LANGUAGES.iter().find(holds).map_or("other", |row| row.0)
}
