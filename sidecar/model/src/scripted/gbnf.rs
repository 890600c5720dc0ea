//! A recogniser for GBNF, llama.cpp's grammar language: whether a text is one the grammar allows.
//!
//! Knows literals, classes, `.`, groups, alternatives, `* + ? {m,n}` and comments; one rule a
//! line. Left recursion, which llama.cpp refuses too, is not supported.

use std::collections::{BTreeSet, HashMap};
use std::iter::Peekable;
use std::str::Chars;

/// Whether `text` as a whole is derived from the rule `root`; or why the grammar is none.
pub fn matches(grammar: &str, text: &str) -> Result<bool, String> {
    let mut rules = HashMap::new();
    for line in grammar.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, body) = line.split_once("::=").ok_or(format!("no rule: {line}"))?;
        let mut chars = body.chars().peekable();
        let node = alternatives(&mut chars)?;
        if chars.peek().is_some() {
            return Err(format!("cannot read the rest of: {line}"));
        }
        rules.insert(name.trim().to_owned(), node);
    }
    let text: Vec<char> = text.chars().collect();
    let root = Node::Rule("root".to_owned());
    Ok(ends(&root, 0, &text, &rules)?.contains(&text.len()))
}

#[derive(Debug)]
enum Node {
    /// Any of these ranges, or none of them.
    Class(Vec<(char, char)>, bool),
    Rule(String),
    All(Vec<Node>),
    Any(Vec<Node>),
    Times(Box<Node>, usize, usize),
}

/// Where a match of `node` that begins at `start` may end.
fn ends(
    node: &Node,
    start: usize,
    text: &[char],
    rules: &HashMap<String, Node>,
) -> Result<BTreeSet<usize>, String> {
    let after = |node: &Node, starts: &BTreeSet<usize>| -> Result<BTreeSet<usize>, String> {
        let mut out = BTreeSet::new();
        for start in starts {
            out.extend(ends(node, *start, text, rules)?);
        }
        Ok(out)
    };
    let here = BTreeSet::from([start]);
    match node {
        Node::Class(ranges, negated) => Ok(text
            .get(start)
            .filter(|c| ranges.iter().any(|(a, b)| (a..=b).contains(c)) != *negated)
            .map(|_| start + 1)
            .into_iter()
            .collect()),
        Node::Rule(name) => {
            let rule = rules.get(name).ok_or(format!("there is no rule {name}"))?;
            ends(rule, start, text, rules)
        }
        Node::All(nodes) => nodes.iter().try_fold(here, |starts, node| after(node, &starts)),
        Node::Any(nodes) => {
            let all: Result<Vec<_>, _> = nodes.iter().map(|node| after(node, &here)).collect();
            Ok(all?.into_iter().flatten().collect())
        }
        Node::Times(node, least, most) => {
            let mut out = BTreeSet::new();
            let mut reached = here;
            for times in 0..=*most {
                if times >= *least {
                    let before = out.len();
                    out.extend(&reached);
                    if times > *least && out.len() == before {
                        break;
                    }
                }
                if reached.is_empty() {
                    break;
                }
                reached = after(node, &reached)?;
            }
            Ok(out)
        }
    }
}

type Input<'a> = Peekable<Chars<'a>>;

fn spaces(chars: &mut Input<'_>) {
    while chars.next_if(|c| c.is_whitespace()).is_some() {}
}

fn alternatives(chars: &mut Input<'_>) -> Result<Node, String> {
    let mut any = vec![sequence(chars)?];
    while chars.next_if_eq(&'|').is_some() {
        any.push(sequence(chars)?);
    }
    Ok(if any.len() == 1 { any.remove(0) } else { Node::Any(any) })
}

fn sequence(chars: &mut Input<'_>) -> Result<Node, String> {
    let mut all = Vec::new();
    loop {
        spaces(chars);
        let Some(c) = chars.peek().copied() else { break };
        let node = match c {
            '"' => literal(chars)?,
            '[' => class(chars)?,
            '.' => {
                chars.next();
                Node::Class(Vec::new(), true)
            }
            '(' => {
                chars.next();
                let node = alternatives(chars)?;
                chars.next_if_eq(&')').ok_or("a group is not closed")?;
                node
            }
            c if c.is_ascii_alphanumeric() => Node::Rule(word(chars)),
            _ => break,
        };
        all.push(repeated(node, chars)?);
        spaces(chars);
    }
    Ok(if all.len() == 1 { all.remove(0) } else { Node::All(all) })
}

fn word(chars: &mut Input<'_>) -> String {
    std::iter::from_fn(|| chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '-' || *c == '_'))
        .collect()
}

fn repeated(node: Node, chars: &mut Input<'_>) -> Result<Node, String> {
    let (least, most) = match chars.peek() {
        Some('*') => (0, usize::MAX),
        Some('+') => (1, usize::MAX),
        Some('?') => (0, 1),
        Some('{') => {
            chars.next();
            let bounds: String = std::iter::from_fn(|| chars.next_if(|c| *c != '}')).collect();
            let (least, most) = bounds.split_once(',').unwrap_or((&bounds, &bounds));
            let number = |text: &str| text.trim().parse::<usize>().map_err(|e| e.to_string());
            (number(least)?, if most.is_empty() { usize::MAX } else { number(most)? })
        }
        _ => return Ok(node),
    };
    chars.next();
    Ok(Node::Times(Box::new(node), least, most))
}

fn literal(chars: &mut Input<'_>) -> Result<Node, String> {
    chars.next();
    let mut all = Vec::new();
    while let Some(c) = chars.peek().copied() {
        if c == '"' {
            chars.next();
            return Ok(Node::All(all));
        }
        let c = character(chars)?;
        all.push(Node::Class(vec![(c, c)], false));
    }
    Err("a literal is not closed".to_owned())
}

fn class(chars: &mut Input<'_>) -> Result<Node, String> {
    chars.next();
    let negated = chars.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    while let Some(c) = chars.peek().copied() {
        if c == ']' {
            chars.next();
            return Ok(Node::Class(ranges, negated));
        }
        let first = character(chars)?;
        let last = match chars.next_if_eq(&'-') {
            Some(_) => character(chars)?,
            None => first,
        };
        ranges.push((first, last));
    }
    Err("a class is not closed".to_owned())
}

fn character(chars: &mut Input<'_>) -> Result<char, String> {
    let c = chars.next().ok_or("the grammar ends early")?;
    if c != '\\' {
        return Ok(c);
    }
    match chars.next().ok_or("the grammar ends early")? {
        'n' => Ok('\n'),
        'r' => Ok('\r'),
        't' => Ok('\t'),
        'x' => {
            let hex: String = chars.by_ref().take(2).collect();
            let code = u8::from_str_radix(&hex, 16).map_err(|e| e.to_string())?;
            Ok(char::from(code))
        }
        c @ ('"' | '\\' | '[' | ']' | '-') => Ok(c),
        c => Err(format!("unknown escape \\{c}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_exactly_what_the_rules_say() {
        let grammar = r#"
            # a comment
            root ::= item ("," item){0,2} end?
            item ::= "a" [0-9]{2} | str
            str ::= "\"" ([^"\\\x00-\x1f] | "\\" .)* "\""
            end ::= "\n"+
        "#;
        for (text, want) in [
            ("a12", true),
            ("a1", false),
            ("a12,\"x\\\"y\",a00\n\n", true),
            ("a12,a12,a12,a12", false),
            ("\"\u{1}\"", false),
            ("\"é\"", true),
            ("", false),
        ] {
            assert_eq!(matches(grammar, text), Ok(want), "{text:?}");
        }
    }

    #[test]
    fn a_broken_grammar_says_so() {
        for grammar in
            ["root = x", "root ::= \"a", "root ::= (", "root ::= x", "root ::= [a", "root ::= )"]
        {
            assert!(matches(grammar, "a").is_err(), "{grammar}");
        }
    }
}
