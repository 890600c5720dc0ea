/// Elements that agents put around what no user wrote: results of sub-agents and commands.
const MACHINE_MADE: &[&str] = &[
    "agent-notification",
    "bash-input",
    "bash-stderr",
    "bash-stdout",
    "command-message",
    "command-name",
    "environment_context",
    "local-command-caveat",
    "local-command-stderr",
    "local-command-stdout",
    "subagent_notification",
    "system-reminder",
    "task-notification",
    "tool_result",
    "turn_aborted",
    "user_instructions",
];

/// Words that answer or urge and name nothing to look for.
const FILLERS: &[&str] = &[
    "a",
    "again",
    "agree",
    "agreed",
    "ahead",
    "all",
    "alright",
    "and",
    "approve",
    "approved",
    "b",
    "bien",
    "bitte",
    "c",
    "cancel",
    "carry",
    "continua",
    "continue",
    "correct",
    "cool",
    "d",
    "danke",
    "da",
    "do",
    "done",
    "exactly",
    "exit",
    "fine",
    "first",
    "fix",
    "gracias",
    "great",
    "go",
    "good",
    "hello",
    "hey",
    "hi",
    "i",
    "is",
    "it",
    "ja",
    "job",
    "just",
    "keep",
    "let",
    "lets",
    "let's",
    "lgtm",
    "looks",
    "me",
    "merci",
    "much",
    "n",
    "nein",
    "next",
    "nice",
    "no",
    "nope",
    "now",
    "of",
    "ok",
    "okay",
    "on",
    "one",
    "option",
    "oui",
    "perfect",
    "please",
    "proceed",
    "quit",
    "resume",
    "retry",
    "right",
    "same",
    "second",
    "si",
    "sí",
    "so",
    "sounds",
    "stop",
    "sure",
    "thank",
    "thanks",
    "that",
    "that's",
    "the",
    "then",
    "thing",
    "third",
    "this",
    "to",
    "try",
    "undo",
    "very",
    "wait",
    "weiter",
    "well",
    "work",
    "works",
    "y",
    "yeah",
    "yep",
    "yes",
    "you",
    "好",
    "好的",
    "是",
    "是的",
    "继续",
    "谢谢",
    "はい",
    "続けて",
    "ありがとう",
    "да",
    "нет",
    "спасибо",
    "продолжай",
    "네",
    "계속",
];

/// Longer texts are never mere fillers.
const MOST_FILLERS: usize = 12;

/// Whether a prompt asks for work on code that could be looked for: no slash or shell command, no
/// result that the agent fed back to itself, no mere answer such as "yes, continue".
///
/// It only has to spare what is certain: the gate abstains from the rest.
pub fn is_task(text: &str) -> bool {
    let text = text.trim();
    if text.starts_with('!') || text.starts_with("[Request interrupted") {
        return false;
    }
    if let Some(rest) = text.strip_prefix('<') {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
        if MACHINE_MADE.contains(&&rest[..end.unwrap_or(rest.len())]) {
            return false;
        }
    }
    if let Some(rest) = text.strip_prefix('/') {
        // A path goes on with another slash or a dot.
        let word = rest.split_whitespace().next().unwrap_or_default();
        if word.chars().all(|c| c.is_alphanumeric() || "-_:".contains(c)) {
            return false;
        }
    }
    let words = text
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| word.chars().any(char::is_alphanumeric));
    let mut count = 0;
    for word in words {
        count += 1;
        let lower = word.to_lowercase();
        let says_nothing = lower.chars().all(char::is_numeric) || FILLERS.contains(&lower.as_str());
        if !says_nothing || count > MOST_FILLERS {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::is_task;

    #[test]
    fn tasks() {
        for text in [
            "Vouchers are applied twice",
            "/src/shop/cart.py crashes on an empty basket",
            "/etc/hosts is parsed wrongly",
            "# Title of an issue\n\nText",
            "<Button> renders twice",
            "fix the parser",
            "yes, and rename Basket to Cart",
            "1. totals are wrong\n2. rounding too",
            "修复登录错误",
            "@src/cart.py total is wrong",
        ] {
            assert!(is_task(text), "{text:?}");
        }
    }

    #[test]
    fn no_tasks() {
        for text in [
            "",
            " \n",
            "...",
            "yes",
            "Yes, please continue!",
            "OK. Go on",
            "continue",
            "Thanks, looks good",
            "thank you very much",
            "do it",
            "let's go",
            "fix it",
            "try again",
            "2",
            "option b",
            "继续",
            "👍",
            "/compact",
            "/review the last commit",
            "/codegrep:find vouchers",
            "!git status",
            "<task-notification>\n<task-id>a1</task-id>\nVoucher.py was changed",
            "<local-command-stdout>total 8</local-command-stdout>",
            "<system-reminder>The parser fails",
            "[Request interrupted by user]",
        ] {
            assert!(!is_task(text), "{text:?}");
        }
    }
}
