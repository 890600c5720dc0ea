use std::fmt;
use std::path::{Path, PathBuf};

/// Which model is asked for, before it is known whether it exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelChoice {
    /// The user's default, else the one that is installed, else none.
    Auto,
    /// The lexical engine alone.
    None,
    /// A model of the user's store, or an endpoint of the user's settings.
    Named(String),
    /// A GGUF file.
    File(PathBuf),
    /// An OpenAI-compatible endpoint; after `#`, the name of its model.
    Endpoint(String),
    /// A file of turns.
    Scripted(PathBuf),
}

impl ModelChoice {
    /// What a person wrote; relative paths start at `base`.
    pub fn parse(text: &str, base: &Path) -> Self {
        match text {
            "auto" | "" => Self::Auto,
            "none" => Self::None,
            _ if text.starts_with("http://") || text.starts_with("https://") => {
                Self::Endpoint(text.to_owned())
            }
            _ => match text.strip_prefix("scripted:") {
                Some(file) => Self::Scripted(base.join(file)),
                None if text.contains(['/', '\\']) || text.ends_with(".gguf") => {
                    Self::File(base.join(text))
                }
                None => Self::Named(text.to_owned()),
            },
        }
    }

    /// What a request on the wire wrote: a name and nothing that reaches beyond the user's own
    /// models. Paths and endpoints come from the command line and the user's settings only.
    pub fn of_request(text: &str) -> Self {
        match text {
            "auto" => Self::Auto,
            "none" => Self::None,
            name => Self::Named(name.to_owned()),
        }
    }
}

impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::Named(name) => f.write_str(name),
            Self::File(path) => path.display().fmt(f),
            Self::Endpoint(url) => f.write_str(url),
            Self::Scripted(path) => write!(f, "scripted:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_model() {
        let parse = |text| ModelChoice::parse(text, Path::new("/base"));
        assert_eq!(parse("auto"), ModelChoice::Auto);
        assert_eq!(parse("none"), ModelChoice::None);
        assert_eq!(parse("qwen2.5-coder-0.5b"), ModelChoice::Named("qwen2.5-coder-0.5b".into()));
        assert_eq!(parse("qwen2.5-coder:7b"), ModelChoice::Named("qwen2.5-coder:7b".into()));
        assert_eq!(parse("m.gguf"), ModelChoice::File("/base/m.gguf".into()));
        assert_eq!(parse("/m/x"), ModelChoice::File("/m/x".into()));
        assert_eq!(parse("scripted:turns.txt"), ModelChoice::Scripted("/base/turns.txt".into()));
        assert_eq!(parse("http://h/v1#m"), ModelChoice::Endpoint("http://h/v1#m".into()));
    }

    #[test]
    fn a_request_names_models_and_nothing_else() {
        for text in ["/etc/passwd", "http://evil", "scripted:/x", "m.gguf"] {
            assert_eq!(ModelChoice::of_request(text), ModelChoice::Named(text.into()));
        }
    }
}
