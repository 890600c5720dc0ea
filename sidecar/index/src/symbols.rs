use crate::lang::Language;
use crate::styles::{CONTROL, MODIFIERS, Style};
use crate::token::{exact_name, is_word_byte};

/// A name that a file defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol {
    /// [`exact_name`](crate::exact_name) of the name as written.
    pub name: u64,
    /// 1-based line of the definition.
    pub line: u32,
}

/// The most definitions of one file that are kept: beyond it is data, not design.
pub(crate) const MOST: usize = 4096;
/// Longer lines are not scanned for definitions.
const LONGEST_LINE: usize = 400;

/// The name that a line defines, if it does, told by the line alone.
///
/// A scanner and no parser: it must run over whole repositories in well under a second. It errs
/// towards naming too much (a macro call that looks like a function), never towards reading on
/// across lines.
pub fn defined_name(language: Language, line: &[u8]) -> Option<&[u8]> {
    if line.len() > LONGEST_LINE {
        return None;
    }
    let indent = line.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let text = line[indent..].trim_ascii_end();
    let style = Style::of(language)?;
    match text.first()? {
        b'/' | b'*' | b'"' | b'\'' | b')' | b'}' | b'(' | b'{' | b'|' | b'-' | b'<' | b'>' => {
            return None;
        }
        b'#' => return if style.hash_define { macro_name(text) } else { None },
        _ => {}
    }
    if let Some(name) = after_keyword(style, indent, text) {
        return Some(name);
    }
    if style.assignments
        && let Some(name) = assigned(style, indent, text)
    {
        return Some(name);
    }
    if style.methods { method(style, indent, text) } else { None }
}

/// Calls `emit` with every definition of `text`, in order: symbol and name as written.
pub(crate) fn each_symbol<'a>(
    language: Language,
    text: &'a [u8],
    mut emit: impl FnMut(Symbol, &'a [u8]),
) {
    if Style::of(language).is_none() {
        return;
    }
    let mut count = 0;
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if let Some(name) = defined_name(language, line) {
            emit(Symbol { name: exact_name(name), line: index as u32 + 1 }, name);
            count += 1;
            if count == MOST {
                return;
            }
        }
    }
}

fn word_at(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|b| !is_word_byte(*b) && *b != b'$').unwrap_or(text.len());
    &text[..end]
}

fn is_name(word: &[u8]) -> bool {
    word.len() >= 2 && !word[0].is_ascii_digit()
}

fn listed(list: &[&str], word: &[u8]) -> bool {
    list.iter().any(|entry| entry.as_bytes() == word)
}

fn after_keyword<'a>(style: &Style, indent: usize, text: &'a [u8]) -> Option<&'a [u8]> {
    let mut rest = text;
    for _ in 0..6 {
        // `pub(crate)`, `export *`, `extern "C"`, `@interface`.
        rest = rest.trim_ascii_start();
        if let [b'@', after @ ..] = rest {
            rest = after;
        }
        let word = word_at(rest);
        if word.is_empty() {
            return None;
        }
        let after = &rest[word.len()..];
        let keyword =
            listed(style.keywords, word) || (indent == 0 && listed(style.top_keywords, word));
        if keyword && let Some(name) = name_after(word, after) {
            return Some(name);
        }
        if !listed(MODIFIERS, word) {
            return None;
        }
        rest = after;
        if rest.first() == Some(&b'(')
            && let Some(close) = rest.iter().position(|b| *b == b')')
        {
            rest = &rest[close + 1..];
        }
        rest = rest.trim_ascii_start();
        if let Some(after) = rest.strip_prefix(b"\"C\"") {
            rest = after;
        }
    }
    None
}

/// The name that follows a keyword: `func (r *T) Name(`, `def self.name`, `class a::B`,
/// `function* name`, `macro_rules! name`.
fn name_after<'a>(keyword: &[u8], after: &'a [u8]) -> Option<&'a [u8]> {
    let mut rest = after.strip_prefix(b"!").unwrap_or(after);
    rest = rest.strip_prefix(b"*").unwrap_or(rest);
    if !rest.first().is_some_and(|b| b.is_ascii_whitespace()) {
        return None;
    }
    rest = rest.trim_ascii_start();
    rest = rest.strip_prefix(b"*").map_or(rest, <[u8]>::trim_ascii_start);
    if keyword == b"func"
        && rest.first() == Some(&b'(')
        && let Some(close) = rest.iter().position(|b| *b == b')')
    {
        rest = rest[close + 1..].trim_ascii_start();
    }
    let mut name = word_at(rest);
    // Modifiers between keyword and name: `enum class X`, `const fn x`, `static mut X`.
    if listed(&["class", "struct", "fn", "unsafe", "async", "mut", "extern"], name) {
        rest = rest[name.len()..].trim_ascii_start();
        name = word_at(rest);
    }
    loop {
        let tail = &rest[name.len()..];
        let tail = match tail {
            [b'.', tail @ ..] => tail,
            [b':', b':', tail @ ..] => tail,
            _ => break,
        };
        let next = word_at(tail);
        if next.is_empty() {
            break;
        }
        rest = tail;
        name = next;
    }
    // `struct timeval *now(void)` and `enum x y;` name no definition of theirs.
    let tail = rest[name.len()..].trim_ascii();
    let c_like = matches!(keyword, b"struct" | b"enum" | b"union");
    if c_like
        && (tail.first() == Some(&b'*')
            || tail.ends_with(b";")
                && !tail.contains(&b'{')
                && tail != b";"
                && !tail.starts_with(b"(")
                && !tail.starts_with(b"<"))
    {
        return None;
    }
    is_name(name).then_some(name)
}

fn macro_name(text: &[u8]) -> Option<&[u8]> {
    let rest = text[1..].trim_ascii_start().strip_prefix(b"define")?;
    if !rest.first()?.is_ascii_whitespace() {
        return None;
    }
    let name = word_at(rest.trim_ascii_start());
    is_name(name).then_some(name)
}

/// `NAME = …` at the margin; in JavaScript `name: function`, `a.b.name = function`, `… =>`.
fn assigned<'a>(style: &Style, indent: usize, text: &'a [u8]) -> Option<&'a [u8]> {
    let mut rest = text;
    let mut name = word_at(rest);
    let mut dotted = false;
    while rest.get(name.len()) == Some(&b'.') {
        rest = &rest[name.len() + 1..];
        name = word_at(rest);
        dotted = true;
    }
    if !is_name(name) {
        return None;
    }
    let tail = rest[name.len()..].trim_ascii_start();
    let value = match tail {
        [b'=', b'=', ..] => return None,
        [b'=', value @ ..] => value,
        [b':', b'=' | b':', ..] => return None,
        [b':', value @ ..] => value,
        _ => return None,
    }
    .trim_ascii_start();
    let function = style.bare_methods
        && (value.starts_with(b"function")
            || value.starts_with(b"async")
            || value.starts_with(b"class")
            || value.ends_with(b"=> {")
            || (value.starts_with(b"(") && memchr::memmem::find(value, b"=>").is_some()));
    let constant = indent == 0 && !dotted && !style.bare_methods && tail[0] == b'=';
    let exported = dotted && text.starts_with(b"exports.");
    (function || constant || exported).then_some(name)
}

/// `Type name(args) {` without a keyword.
fn method<'a>(style: &Style, indent: usize, text: &'a [u8]) -> Option<&'a [u8]> {
    let open = text.iter().position(|b| *b == b'(')?;
    let last = *text.last()?;
    if last == b';'
        || text.ends_with(b"=> {")
        || (style.bare_methods && !matches!(last, b'{' | b',' | b'(' | b')' | b'}'))
    {
        return None;
    }
    let head = text[..open].trim_ascii_end();
    let start = head.iter().rposition(|b| !is_word_byte(*b) && *b != b'$' && *b != b'~');
    let start = start.map_or(0, |at| at + 1);
    let name = head[start..].strip_prefix(b"~").unwrap_or(&head[start..]);
    let before = head[..start].trim_ascii_end();
    if !is_name(name) || listed(CONTROL, name) {
        return None;
    }
    let typed = !before.is_empty()
        && before.iter().all(|b| is_word_byte(*b) || b" \t<>,*&:[]~.?@$".contains(b))
        && !listed(CONTROL, word_at(before))
        && (head[..start].ends_with(b" ")
            || matches!(before.last(), Some(b'*' | b'&' | b'>' | b':' | b']')));
    let bare = before.is_empty()
        && if style.bare_methods { indent > 0 && last == b'{' } else { indent == 0 };
    // In JavaScript a word before the name is a modifier, or it is no definition.
    let typed = typed
        && (!style.assignments
            || before.split(|b| *b == b' ').all(|word| {
                listed(
                    &[
                        "async",
                        "static",
                        "get",
                        "set",
                        "public",
                        "private",
                        "protected",
                        "override",
                        "abstract",
                        "readonly",
                        "*",
                    ],
                    word,
                )
            }));
    (typed || bare).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn names(language: Language, text: &str) -> String {
        let mut out = String::new();
        each_symbol(language, text.as_bytes(), |symbol, name| {
            out += &format!("{} {}\n", symbol.line, String::from_utf8_lossy(name));
        });
        out
    }

    #[test]
    fn python() {
        let text = "\
VERSION = 1
class Foo(Base):
    attr = 2
    async def bar(self):
        return x == 1
def  spaced (a): pass
# def no
    type(x)
if a == b: pass
";
        expect![[r#"
            1 VERSION
            2 Foo
            4 bar
            6 spaced
        "#]]
        .assert_eq(&names(Language::Python, text));
    }

    #[test]
    fn rust_and_go() {
        let text = "\
pub(crate) const fn make() {}
pub struct Arg<'a> {
impl Foo for Bar {
    pub unsafe fn run(&self)
macro_rules! vec2 {
pub static mut COUNT: u32 = 0;
    let x = fn_call(a);
";
        expect![[r#"
            1 make
            2 Arg
            4 run
            5 vec2
            6 COUNT
        "#]]
        .assert_eq(&names(Language::Rust, text));
        let text = "\
func (s *Server) Serve(l net.Listener) error {
func New() *Server {
type Option interface {
var errClosed = errors.New(\"x\")
\tvar local = 1
";
        expect![[r#"
            1 Serve
            2 New
            3 Option
            4 errClosed
        "#]]
        .assert_eq(&names(Language::Go, text));
    }

    #[test]
    fn c_and_cpp() {
        let text = "\
#define ZSTD_MAX 22
static size_t ZSTD_compress(void* dst,
struct timeval *now(void)
typedef struct ZSTD_ctx_s {
    if (x) {
    foo(bar);
template <typename T> auto format_to(T out) -> T {
std::string Foo::name() const {
enum class color {
HUF_decompress (const void* src)
  return foo(x)
namespace fmt {
";
        expect![[r#"
            1 ZSTD_MAX
            2 ZSTD_compress
            3 now
            4 ZSTD_ctx_s
            7 format_to
            8 name
            9 color
            10 HUF_decompress
            12 fmt
        "#]]
        .assert_eq(&names(Language::Cpp, text));
    }

    #[test]
    fn java_and_javascript() {
        let text = "\
public abstract class JsonParser implements Closeable {
    protected JsonParser(int features) {
    public static final int parse(String s) throws IOException {
    List<String> names(
        foo.bar(x);
        return call(x)
    @Override
";
        expect![[r#"
            1 JsonParser
            2 JsonParser
            3 parse
            4 names
        "#]]
        .assert_eq(&names(Language::Java, text));
        let text = "\
export default function render(vnode) {
const padStart = (s, n) => s
  static async load(id) {
  toDate: function () {
proto.add = function (n) {
exports.parse = parse
  if (x) {
  doIt(x)
    it('works', () => {
  value(a, b) {
";
        expect![[r#"
            1 render
            2 padStart
            3 load
            4 toDate
            5 add
            6 parse
            10 value
        "#]]
        .assert_eq(&names(Language::JavaScript, text));
    }

    #[test]
    fn ruby_php_kotlin() {
        expect![[r#"
            1 Cop
            2 on_send
            3 build
            4 MSG
        "#]]
        .assert_eq(&names(
            Language::Ruby,
            "class RuboCop::Cop\n  def on_send(node)\n  def self.build\nMSG = 'x'\n",
        ));
        expect![[r#"
            1 Foo
            2 run
        "#]]
        .assert_eq(&names(
            Language::Php,
            "final class Foo extends Bar {\n  public static function run($x) {\n",
        ));
        expect![[r#"
            1 Point
            2 area
        "#]]
        .assert_eq(&names(
            Language::Kotlin,
            "data class Point(val x: Int)\n  override suspend fun area(): Int {\n",
        ));
    }
}
