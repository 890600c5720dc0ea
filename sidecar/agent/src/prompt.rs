//! The opening of a conversation, and how texts that are too long are cut.

use std::collections::BTreeSet;

use codegrep_rank::Candidate;

use crate::chat::Message;
use crate::context;
use crate::rules::{Context, Rules};

/// How a conversation begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    /// The last is the task.
    pub messages: Vec<Message>,
    /// Files the model is shown in them.
    pub seen: BTreeSet<String>,
}

/// The profile's own messages, and last the task with the lexical candidates where the rules want
/// them.
pub fn open(task: &str, candidates: &[Candidate], rules: &Rules) -> Opening {
    let limits = rules.profile.limits();
    let shown = match rules.context {
        Context::None => &[],
        Context::Candidates => &candidates[..candidates.len().min(limits.candidates)],
    };
    let task = without_middle(task, limits.task_chars);
    Opening {
        messages: rules.profile.opening(&task, &context::text(shown)),
        seen: shown.iter().map(|candidate| candidate.path.as_str().to_owned()).collect(),
    }
}

/// `text` with its middle left out so that at most `chars` characters stay, a note beside them.
/// A report begins with what is wrong and ends with the trace: three parts of four stay in front.
pub(crate) fn without_middle(text: &str, chars: usize) -> String {
    let total = text.chars().count();
    if total <= chars {
        return text.to_owned();
    }
    let head = chars - chars / 4;
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(i, _)| i);
    let (head_end, tail_start) = (at(head), at(total - (chars - head)));
    format!(
        "{}\n[{} characters left out]\n{}",
        &text[..head_end],
        total - chars,
        &text[tail_start..]
    )
}

/// The longest start of `text`, whole lines where it has any, that takes at most `tokens`.
pub(crate) fn head(text: &str, tokens: u32, count: impl Fn(&str) -> u32) -> &str {
    let mut end = text.len();
    loop {
        let used = count(&text[..end]);
        if used <= tokens {
            return &text[..end];
        }
        // Shrink in proportion, always by something.
        let target = (end as u64 * u64::from(tokens) / u64::from(used)) as usize;
        let mut target = target.min(end - 1);
        while !text.is_char_boundary(target) {
            target -= 1;
        }
        end = text[..target].rfind('\n').filter(|line| *line * 2 > target).unwrap_or(target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_start_and_the_end_of_a_task_stay() {
        assert_eq!(without_middle("0123456789", 10), "0123456789");
        assert_eq!(without_middle("0123456789", 4), "012\n[6 characters left out]\n9");
        assert_eq!(without_middle("éééééééé", 4), "ééé\n[4 characters left out]\né");
    }

    proptest! {
        #[test]
        fn a_head_fits_and_is_a_prefix(text in "[a-z\\né ]{0,80}", tokens in 0u32..30) {
            let count = |t: &str| t.len().div_ceil(3) as u32;
            let head = head(&text, tokens, count);
            prop_assert!(text.starts_with(head) && count(head) <= tokens);
        }
    }
}
