use crate::lang::Language;
use crate::token::is_word_byte;

/// The most imports of one file that are kept.
const MOST: usize = 256;
const LONGEST_LINE: usize = 400;

/// A module that a file names in an import, as a path without extension.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Import {
    /// Relative to the importing file, resolved: the path from the root.
    Exact(Box<str>),
    /// The end of a path: `django/db/models`, `com/x/Y`.
    Suffix(Box<str>),
}

/// Calls `emit` for the modules that `text` (of a file in folder `dir`) imports, told line by
/// line.
pub(crate) fn imports(language: Language, dir: &str, text: &[u8]) -> Vec<Import> {
    let rule: fn(&str, &str, &mut Vec<Import>) = match language {
        Language::Python => python,
        Language::JavaScript | Language::TypeScript | Language::Css => javascript,
        Language::Rust => rust,
        Language::Go => go,
        Language::C | Language::Cpp | Language::ObjectiveC => c,
        Language::Java | Language::Kotlin | Language::Scala => java,
        Language::Ruby => ruby,
        Language::Php => php,
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        if line.len() > LONGEST_LINE {
            continue;
        }
        let Ok(line) = std::str::from_utf8(line.trim_ascii()) else { continue };
        if !line.is_empty() {
            rule(dir, line, &mut found);
        }
        if found.len() >= MOST {
            break;
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn suffix(text: &str, out: &mut Vec<Import>) {
    let text = text.trim_matches('/');
    if !text.is_empty() {
        out.push(Import::Suffix(text.into()));
    }
}

/// `target` (with `..` and `.`) seen from `dir`; nothing when it leaves the root.
fn exact(dir: &str, target: &str, out: &mut Vec<Import>) {
    let mut parts: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return;
                }
            }
            part => parts.push(part),
        }
    }
    if !parts.is_empty() {
        out.push(Import::Exact(parts.join("/").into()));
    }
}

fn dotted_name(text: &str) -> &str {
    let end = text.bytes().position(|b| !is_word_byte(b) && b != b'.').unwrap_or(text.len());
    &text[..end]
}

fn python(dir: &str, line: &str, out: &mut Vec<Import>) {
    if let Some(rest) = line.strip_prefix("import ") {
        for part in rest.split(',') {
            suffix(&dotted_name(part.trim()).replace('.', "/"), out);
        }
    } else if let Some(rest) = line.strip_prefix("from ")
        && let Some((module, names)) = rest.split_once(" import ")
    {
        let module = module.trim();
        let dots = module.bytes().take_while(|b| *b == b'.').count();
        let path = module[dots..].replace('.', "/");
        let names =
            names.trim_matches(['(', ')', ' ']).split(',').map(|name| dotted_name(name.trim()));
        for name in names.chain([""]) {
            let full = if name.is_empty() { path.clone() } else { format!("{path}/{name}") };
            if dots == 0 {
                suffix(&full, out);
            } else {
                exact(dir, &format!("{}{full}", "../".repeat(dots - 1)), out);
            }
        }
    }
}

/// What stands between the first pair of quotes.
fn quoted(text: &str) -> Option<&str> {
    let start = text.find(['"', '\'', '`'])?;
    let quote = &text[start..=start];
    let rest = &text[start + 1..];
    rest.find(quote).map(|end| &rest[..end])
}

fn javascript(dir: &str, line: &str, out: &mut Vec<Import>) {
    let target = if let Some(at) = line.find("require(") {
        quoted(&line[at..])
    } else if let Some(at) = line.find(" from ") {
        quoted(&line[at..])
    } else if line.starts_with("import") || line.starts_with("@import") || line.starts_with("@use")
    {
        quoted(line)
    } else {
        None
    };
    let Some(target) = target else { return };
    let target = match target.rsplit_once('.') {
        Some((stem, "js" | "ts" | "jsx" | "tsx" | "mjs" | "cjs" | "vue" | "css" | "scss")) => stem,
        _ => target,
    };
    if target.starts_with('.') {
        exact(dir, target, out);
    } else if let Some((_, rest)) = target.split_once('/') {
        // A package of the same workspace, or an alias such as `@/store`.
        suffix(rest.strip_prefix("src/").unwrap_or(rest), out);
    }
}

fn rust(dir: &str, line: &str, out: &mut Vec<Import>) {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
    if let Some(name) = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
        exact(dir, name.trim(), out);
    } else if let Some(rest) = line.strip_prefix("use ") {
        let path = rest.split(['{', ';', '*']).next().unwrap_or("");
        let path = path.split(" as ").next().unwrap_or("").trim().trim_end_matches("::");
        let mut parts: Vec<&str> = path.split("::").collect();
        while matches!(parts.first(), Some(&("crate" | "self" | "super" | "std" | "core"))) {
            parts.remove(0);
        }
        // The last part may be an item of the module rather than a module.
        for end in [parts.len(), parts.len().saturating_sub(1)] {
            suffix(&parts[..end].join("/"), out);
        }
        for item in rest.split_once('{').map_or("", |(_, items)| items).split([',', '}']) {
            let item = dotted_name(item.trim());
            if !item.is_empty() && item.starts_with(|c: char| c.is_lowercase()) {
                suffix(&format!("{}/{item}", parts.join("/")), out);
            }
        }
    }
}

fn go(_: &str, line: &str, out: &mut Vec<Import>) {
    let spec = line.strip_prefix("import ").unwrap_or(line);
    // Inside a block: an optional alias, then the quoted path alone.
    let Some(start) = spec.find('"') else { return };
    let alias = spec[..start].trim();
    if !alias.bytes().all(|b| is_word_byte(b) || b == b'.') || !spec.ends_with('"') {
        return;
    }
    // Host, owner and repository are not folders here: `github.com/x/y/a/b` lies in `a/b`.
    let parts: Vec<&str> = spec[start..].trim_matches('"').split('/').collect();
    let skip = if parts[0].contains('.') { parts.len().min(2) } else { 0 };
    if parts.len() > skip {
        suffix(&parts[skip.max(parts.len().saturating_sub(3))..].join("/"), out);
    }
}

fn c(_: &str, line: &str, out: &mut Vec<Import>) {
    let Some(rest) = line.strip_prefix('#') else { return };
    let rest = rest.trim_start();
    let Some(rest) = rest.strip_prefix("include").or_else(|| rest.strip_prefix("import")) else {
        return;
    };
    let name = rest.trim().trim_start_matches(['"', '<']);
    let name = name.split(['"', '>']).next().unwrap_or("");
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    suffix(stem.trim_start_matches("../").trim_start_matches("./"), out);
}

fn java(_: &str, line: &str, out: &mut Vec<Import>) {
    let Some(rest) = line.strip_prefix("import ") else { return };
    let rest = rest.strip_prefix("static ").unwrap_or(rest);
    let path = dotted_name(rest.trim()).trim_end_matches('.');
    suffix(&path.replace('.', "/"), out);
}

fn ruby(dir: &str, line: &str, out: &mut Vec<Import>) {
    if let Some(rest) = line.strip_prefix("require_relative") {
        if let Some(target) = quoted(rest) {
            exact(dir, target, out);
        }
    } else if (line.starts_with("require") || line.starts_with("autoload"))
        && let Some(target) = quoted(line)
    {
        suffix(target, out);
    }
}

fn php(_: &str, line: &str, out: &mut Vec<Import>) {
    if let Some(rest) = line.strip_prefix("use ") {
        let path = rest.split([';', ' ', '{']).next().unwrap_or("");
        suffix(&path.replace('\\', "/"), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(language: Language, dir: &str, text: &str) -> Vec<String> {
        imports(language, dir, text.as_bytes())
            .into_iter()
            .map(|import| match import {
                Import::Exact(path) => format!("={path}"),
                Import::Suffix(path) => format!("~{path}"),
            })
            .collect()
    }

    #[test]
    fn each_language_names_its_modules() {
        for (language, line, want) in [
            (Language::Python, "import os.path as p, sys", &["~os/path", "~sys"][..]),
            (Language::Python, "from .b import c", &["=x/y/b", "=x/y/b/c"]),
            (Language::Python, "from ..b import (c,", &["=x/b", "=x/b/c"]),
            (Language::JavaScript, "import a from './u.js'", &["=x/y/u"]),
            (Language::JavaScript, "const a = require('../u')", &["=x/u"]),
            (Language::JavaScript, "import React from 'react'", &[]),
            (Language::Rust, "use crate::a::b::{c, D};", &["~a", "~a/b", "~a/b/c"]),
            (Language::Rust, "pub mod util;", &["=x/y/util"]),
            (Language::Go, "\"google.golang.org/grpc/internal/x\"", &["~internal/x"]),
            (Language::Cpp, "#include <fmt/core.h>", &["~fmt/core"]),
            (Language::Java, "import static a.b.C.d;", &["~a/b/C/d"]),
            (Language::Ruby, "require_relative '../z'", &["=x/z"]),
            (Language::Php, "use App\\Models\\User;", &["~App/Models/User"]),
            (Language::Python, "from ....b import c", &[]),
        ] {
            assert_eq!(found(language, "x/y", line), want, "{line}");
        }
    }
}
