use std::sync::LazyLock;

use regex::Regex;

use crate::query::regex;

/// The most frames that are looked up.
const MOST: usize = 200;

/// One line of a stack trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    /// As written, with forward slashes.
    pub path: String,
    pub line: u32,
    pub function: Option<String>,
}

/// One language's way to print frames.
struct Format {
    /// Groups `path`, `line`, and optionally `function` and `class` (Java: gives the folder).
    pattern: Regex,
    /// The last frame printed is where it failed.
    innermost_last: bool,
}

static FORMATS: LazyLock<[Format; 8]> = LazyLock::new(|| {
    let format = |pattern: &str, innermost_last| Format { pattern: regex(pattern), innermost_last };
    [
        // Python
        format(
            r#"File "(?<path>[^"\n]+)", line (?<line>\d+)(?:, in (?<function>[\w.<>]+))?"#,
            true,
        ),
        // Java, Kotlin, Scala
        format(
            r"\bat (?:[\w.]+/)?(?<class>(?:[\w$]+\.)+)(?<function>[\w$<>]+)\((?<path>\w+\.(?:java|kt|scala|groovy)):(?<line>\d+)\)",
            false,
        ),
        // C#
        format(
            r"\bat (?:[\w`<>\[\],]+\.)*(?<function>[\w`<>]+)\([^)\n]*\) in (?<path>[^\n:]+(?::[^\n:]+)?\.(?:cs|fs|vb)):line (?<line>\d+)",
            false,
        ),
        // JavaScript in Node and Chrome, then Firefox
        format(
            r"\bat (?:(?:async |new )?(?<function>[\w$.<>\[\] ]+) \()?(?:file://|webpack:/+|webpack-internal:/+)?(?<path>[^\s()]+\.(?:[cm]?[jt]sx?|vue|svelte)):(?<line>\d+):\d+\)?",
            false,
        ),
        format(
            r"(?m)^\s*(?<function>[\w$.<>/]*)@(?:\w+:/+)?(?<path>[^\s@]+\.[cm]?[jt]sx?):(?<line>\d+):\d+",
            false,
        ),
        // Ruby and PHP
        format(
            r"(?m)(?<path>[^\s:(]+\.rb):(?<line>\d+):in [`'](?:[\w ]+ in )?(?<function>[^'\n]+)'",
            false,
        ),
        format(
            r"#\d+ (?<path>/[^\s(]+\.php)\((?<line>\d+)\): (?<function>[\w\\]+(?:(?:->|::)\w+)?)",
            false,
        ),
        // Go, Rust, gdb, sanitizers: `path:line` behind white space, `at` or `in f`
        format(
            r"(?m)(?:^\s+|\bat |\bin (?<function>[\w:~<>]+)(?:\([^)\n]*\))? (?:at )?|panicked at (?:'[^'\n]*', )?)(?<path>[^\s:()',]+\.(?:go|rs|c|cc|cpp|cxx|h|hpp|swift|zig|m)):(?<line>\d+)",
            false,
        ),
    ]
});

/// The frames of all traces in `text`, innermost first within each format.
pub(crate) fn frames(text: &str) -> Vec<Frame> {
    let mut all = Vec::new();
    for format in FORMATS.iter() {
        let mut found: Vec<Frame> = format
            .pattern
            .captures_iter(text)
            .map(|captures| {
                let path = captures["path"].replace('\\', "/");
                let class = captures.name("class").map_or("", |class| class.as_str());
                let path = match class.trim_end_matches('.').rsplit_once('.') {
                    Some((package, _)) => format!("{}/{path}", package.replace('.', "/")),
                    None => path,
                };
                let function = captures.name("function").map(|f| {
                    f.as_str().rsplit(['.', ':', '>', '\\']).next().unwrap_or("").to_owned()
                });
                Frame {
                    path,
                    line: captures["line"].parse().unwrap_or(0),
                    function: function.filter(|name| !name.is_empty()),
                }
            })
            .collect();
        if format.innermost_last {
            found.reverse();
        }
        found.truncate(MOST);
        all.extend(found);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let show = |f: Frame| format!("{}:{} {}", f.path, f.line, f.function.unwrap_or_default());
        frames(text).into_iter().map(show).collect()
    }

    #[test]
    fn every_common_format_is_read() {
        for (text, want) in [
            (
                "Traceback (most recent call last):\n  File \"/x/a.py\", line 3, in main\n    f()\n  File \"C:\\\\s\\lib\\b.py\", line 7, in <module>\n",
                &["C://s/lib/b.py:7 ", "/x/a.py:3 main"][..],
            ),
            (
                "java.lang.X: y\n\tat com.foo.Bar$Baz.run(Bar.java:12)\n\tat java.base/java.lang.Thread.run(Thread.java:829)\n",
                &["com/foo/Bar.java:12 run", "java/lang/Thread.java:829 run"],
            ),
            (
                "   at Foo.Bar.Baz`1.Run(String s) in C:\\src\\Foo\\Baz.cs:line 42\n",
                &["C:/src/Foo/Baz.cs:42 Run"],
            ),
            (
                "    at Object.render (/app/node_modules/preact/src/diff.js:10:5)\n    at /app/x.ts:1:2\n",
                &["/app/node_modules/preact/src/diff.js:10 render", "/app/x.ts:1 "],
            ),
            ("render@http://localhost/src/a.js:4:9\n", &["localhost/src/a.js:4 render"]),
            ("lib/a.rb:5:in `block in run'\n", &["lib/a.rb:5 run"]),
            ("#0 /srv/A.php(12): App\\B->c()\n", &["/srv/A.php:12 c"]),
            (
                "goroutine 1 [running]:\nmain.f()\n\t/go/src/x/server.go:55 +0x1\n",
                &["/go/src/x/server.go:55 "],
            ),
            (
                "thread 'main' panicked at 'boom', src/args.rs:9:5\n  12: a::b\n             at ./src/lib.rs:3:1\n",
                &["src/args.rs:9 ", "./src/lib.rs:3 "],
            ),
            ("#1 0x40 in HUF_read /src/lib/huf.c:33:7\n", &["/src/lib/huf.c:33 HUF_read"]),
        ] {
            assert_eq!(shown(text), want, "{text}");
        }
    }

    #[test]
    fn prose_has_no_frames() {
        assert_eq!(shown("at the end of file.js we see 3:4 in a.go and b.c"), [] as [&str; 0]);
    }
}
