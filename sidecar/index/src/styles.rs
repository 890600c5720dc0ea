//! How each family of languages writes definitions: tables for the line scanner.

use crate::lang::Language;

/// How a family of languages writes definitions.
pub(crate) struct Style {
    /// Words that a name follows.
    pub keywords: &'static [&'static str],
    /// Like `keywords`, but only at the margin: `const`, `var`.
    pub top_keywords: &'static [&'static str],
    /// `Type name(args) {`: functions without a keyword.
    pub methods: bool,
    /// Methods need no type before the name (JavaScript, constructors).
    pub bare_methods: bool,
    /// `NAME = …` at the margin, `name: function`, `x.name = function`.
    pub assignments: bool,
    /// `#define NAME`.
    pub hash_define: bool,
}

const NONE: Style = Style {
    keywords: &[],
    top_keywords: &[],
    methods: false,
    bare_methods: false,
    assignments: false,
    hash_define: false,
};
static PYTHON: Style = Style { keywords: &["def", "class"], assignments: true, ..NONE };
static RUBY: Style = Style { keywords: &["def", "class", "module"], assignments: true, ..NONE };
static RUST: Style = Style {
    keywords: &[
        "fn",
        "struct",
        "enum",
        "trait",
        "type",
        "mod",
        "union",
        "const",
        "static",
        "macro_rules",
    ],
    ..NONE
};
static GO: Style = Style { keywords: &["func", "type"], top_keywords: &["const", "var"], ..NONE };
static C: Style = Style {
    keywords: &["struct", "enum", "union", "class", "namespace", "concept"],
    methods: true,
    hash_define: true,
    ..NONE
};
static OBJECTIVE_C: Style =
    Style { keywords: &["interface", "implementation", "protocol", "struct", "enum"], ..C };
static JAVA: Style = Style {
    keywords: &["class", "interface", "enum", "record", "struct", "namespace", "delegate", "def"],
    methods: true,
    bare_methods: true,
    ..NONE
};
static JAVASCRIPT: Style = Style {
    keywords: &["function", "class", "interface", "enum", "namespace"],
    top_keywords: &["const", "let", "var", "type"],
    methods: true,
    bare_methods: true,
    assignments: true,
    ..NONE
};
static MODERN: Style = Style {
    keywords: &[
        "fun",
        "func",
        "def",
        "class",
        "interface",
        "object",
        "trait",
        "struct",
        "enum",
        "protocol",
        "extension",
        "typealias",
        "type",
        "function",
        "mixin",
        "record",
    ],
    top_keywords: &["val", "var", "let", "const"],
    ..NONE
};
static PHP: Style =
    Style { keywords: &["function", "class", "interface", "trait", "enum", "const"], ..NONE };
static GENERIC: Style = Style {
    keywords: &[
        "def",
        "defp",
        "defmodule",
        "defmacro",
        "function",
        "sub",
        "package",
        "module",
        "macro",
        "struct",
        "type",
        "data",
        "newtype",
        "class",
        "defn",
        "defun",
        "message",
        "service",
        "rpc",
        "enum",
        "proc",
        "fn",
        "mod",
        "func",
    ],
    ..NONE
};

impl Style {
    pub fn of(language: Language) -> Option<&'static Self> {
        Some(match language {
            Language::Python => &PYTHON,
            Language::Ruby => &RUBY,
            Language::Rust | Language::Zig => &RUST,
            Language::Go => &GO,
            Language::C | Language::Cpp => &C,
            Language::ObjectiveC => &OBJECTIVE_C,
            Language::Java | Language::CSharp | Language::Dart => &JAVA,
            Language::JavaScript | Language::TypeScript => &JAVASCRIPT,
            Language::Kotlin | Language::Swift | Language::Scala => &MODERN,
            Language::Php => &PHP,
            Language::Css | Language::Html | Language::Sql => return None,
            Language::Prose | Language::Config | Language::Data => return None,
            _ => &GENERIC,
        })
    }
}

/// Words that may stand before the defining keyword.
pub(crate) const MODIFIERS: &[&str] = &[
    "pub",
    "export",
    "default",
    "async",
    "static",
    "public",
    "private",
    "protected",
    "internal",
    "abstract",
    "final",
    "override",
    "virtual",
    "inline",
    "extern",
    "unsafe",
    "const",
    "sealed",
    "partial",
    "open",
    "suspend",
    "declare",
    "readonly",
    "typedef",
    "crate",
    "super",
    "in",
    "local",
    "data",
    "case",
    "implicit",
    "lazy",
    "fileprivate",
    "mut",
    "constexpr",
    "template",
    "auto",
    "mutating",
    "required",
    "convenience",
    "readonly",
    "new",
    "C",
];

/// Words that look like a function's name before `(` and are none.
pub(crate) const CONTROL: &[&str] = &[
    "if",
    "for",
    "while",
    "switch",
    "catch",
    "return",
    "sizeof",
    "new",
    "throw",
    "else",
    "do",
    "case",
    "assert",
    "await",
    "super",
    "this",
    "function",
    "require",
    "typeof",
    "delete",
    "using",
    "lock",
    "foreach",
    "elif",
    "and",
    "or",
    "not",
    "in",
    "print",
    "yield",
    "with",
    "defined",
    "static_assert",
    "synchronized",
    "try",
    "import",
    "constructor",
];
