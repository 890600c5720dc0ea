use codegrep_tree::RepoPath;

/// What kind of text a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Code,
    /// Text for people: documentation, change logs.
    Prose,
    /// Settings and build files.
    Config,
    /// Tables, translations, pictures as text: named by path only.
    Data,
}

/// A file's language, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    C,
    Cpp,
    CSharp,
    Clojure,
    Css,
    Dart,
    Elixir,
    Erlang,
    Go,
    Haskell,
    Html,
    Java,
    JavaScript,
    Julia,
    Kotlin,
    Lua,
    ObjectiveC,
    OCaml,
    Perl,
    Php,
    Proto,
    Python,
    R,
    Ruby,
    Rust,
    Scala,
    Shell,
    Sql,
    Swift,
    TypeScript,
    Zig,
    /// Code of a language without rules of its own.
    OtherCode,
    Prose,
    Config,
    Data,
}

impl Language {
    /// By extension, or by name for files such as `Makefile`.
    pub fn of(path: &RepoPath) -> Self {
        let Some(extension) = path.extension() else {
            return by_name(path.file_name());
        };
        match extension.to_ascii_lowercase().as_str() {
            "c" | "h" => Self::C,
            "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "h++" | "inl" | "ipp" | "tpp"
            | "cu" | "cuh" => Self::Cpp,
            "cs" => Self::CSharp,
            "clj" | "cljs" | "cljc" | "lisp" | "el" | "scm" | "rkt" => Self::Clojure,
            "css" | "scss" | "sass" | "less" | "styl" => Self::Css,
            "dart" => Self::Dart,
            "ex" | "exs" => Self::Elixir,
            "erl" | "hrl" => Self::Erlang,
            "go" => Self::Go,
            "hs" => Self::Haskell,
            "html" | "htm" | "jinja" | "jinja2" | "j2" | "hbs" | "ejs" | "erb" | "haml"
            | "twig" | "liquid" | "mustache" | "pug" | "razor" | "cshtml" => Self::Html,
            "java" | "groovy" | "gradle" => Self::Java,
            "js" | "jsx" | "mjs" | "cjs" | "es6" => Self::JavaScript,
            "jl" => Self::Julia,
            "kt" | "kts" => Self::Kotlin,
            "lua" => Self::Lua,
            "m" | "mm" => Self::ObjectiveC,
            "ml" | "mli" | "fs" | "fsi" | "fsx" => Self::OCaml,
            "pl" | "pm" | "t" => Self::Perl,
            "php" | "phtml" => Self::Php,
            "proto" | "thrift" | "graphql" | "gql" => Self::Proto,
            "py" | "pyi" | "pyx" | "pxd" | "pyw" => Self::Python,
            "r" => Self::R,
            "rb" | "rake" | "gemspec" => Self::Ruby,
            "rs" => Self::Rust,
            "scala" | "sc" => Self::Scala,
            "sh" | "bash" | "zsh" | "fish" | "ps1" | "bat" | "cmd" => Self::Shell,
            "sql" => Self::Sql,
            "swift" => Self::Swift,
            "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" | "astro" => Self::TypeScript,
            "zig" => Self::Zig,
            "asm" | "s" | "v" | "sv" | "vhd" | "nim" | "cr" | "d" | "pas" | "f" | "f90" | "for"
            | "vb" | "vim" | "tcl" | "sol" | "glsl" | "wgsl" | "hlsl" | "y" | "l" | "jq"
            | "elm" | "coffee" | "nix" | "tf" | "cmake" | "awk" | "raku" | "hx" | "gd" => {
                Self::OtherCode
            }
            "md" | "markdown" | "mdx" | "rst" | "txt" | "adoc" | "asciidoc" | "org" | "tex"
            | "textile" | "pod" | "rdoc" | "1" | "news" => Self::Prose,
            "toml" | "yaml" | "yml" | "ini" | "cfg" | "conf" | "json" | "json5" | "jsonc"
            | "xml" | "properties" | "env" | "editorconfig" | "mk" | "am" | "ac" | "m4" | "in"
            | "bzl" | "bazel" | "csproj" | "sln" | "props" | "targets" | "plist" => Self::Config,
            _ => Self::Data,
        }
    }

    pub fn content(self) -> Content {
        match self {
            Self::Prose => Content::Prose,
            Self::Config => Content::Config,
            Self::Data => Content::Data,
            _ => Content::Code,
        }
    }
}

fn by_name(name: &str) -> Language {
    match name {
        "Makefile" | "GNUmakefile" | "makefile" | "Dockerfile" | "CODEOWNERS" | "Jenkinsfile"
        | "BUILD" | "WORKSPACE" | "Procfile" | "Pipfile" => Language::Config,
        "Rakefile" | "Gemfile" | "Vagrantfile" | "Podfile" | "Fastfile" => Language::Ruby,
        "README" | "LICENSE" | "CHANGELOG" | "CHANGES" | "NEWS" | "AUTHORS" | "COPYING"
        | "INSTALL" | "TODO" | "CONTRIBUTING" => Language::Prose,
        _ => Language::Data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_language() {
        for (path, want) in [
            ("a/b.py", Language::Python),
            ("a/b.TSX", Language::TypeScript),
            ("Makefile", Language::Config),
            ("x/.bashrc", Language::Data),
            ("locale/de.po", Language::Data),
            ("README", Language::Prose),
        ] {
            assert_eq!(Language::of(&RepoPath::parse(path).unwrap()), want, "{path}");
        }
    }
}
