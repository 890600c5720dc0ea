//! Room in the context and in the generation budget, kept for the answer.

use crate::chat::{Message, ModelError};
use crate::conversation::Conversation;
use crate::profiles::{Profile, Step};
use crate::prompt::without_middle;
use crate::record::StopReason;

/// Fewer tokens than this make no useful turn.
pub(super) const LEAST: u32 = 32;
/// Tokens of the markers around what is pushed at once.
const MARKERS: u32 = 16;
/// A task cut to fewer tokens than this says nothing.
const LEAST_TASK: u32 = 128;

/// The most tokens the turn may take, or why there is no turn.
pub(super) fn tokens(
    step: Step,
    conversation: &Conversation,
    profile: &dyn Profile,
) -> Result<u32, StopReason> {
    let limits = profile.limits();
    let budget = limits.generated_tokens.saturating_sub(conversation.generated);
    let room = conversation.room().left();
    let (most, budget, room) = match step {
        Step::Answer => (limits.answer_tokens, budget, room),
        Step::Explore { .. } => (
            limits.explore_tokens,
            budget.saturating_sub(limits.answer_tokens),
            room.saturating_sub(answer(conversation, profile)),
        ),
    };
    if budget < LEAST {
        Err(StopReason::Tokens)
    } else if room < LEAST {
        Err(StopReason::ContextFull)
    } else {
        Ok(most.min(budget).min(room))
    }
}

/// Room to keep for asking for the answer and giving it.
fn answer(conversation: &Conversation, profile: &dyn Profile) -> u32 {
    let ask = profile.ask_answer().map_or(0, |text| conversation.count(text) + MARKERS);
    profile.limits().answer_tokens + ask
}

/// Room for the results of a turn.
pub(super) fn for_results(conversation: &Conversation, profile: &dyn Profile) -> u32 {
    conversation.room().left().saturating_sub(answer(conversation, profile) + MARKERS)
}

/// Whether another exploration turn fits after results of `size` tokens.
pub(super) fn explores_again(
    size: u32,
    conversation: &Conversation,
    profile: &dyn Profile,
) -> bool {
    for_results(conversation, profile) >= size + LEAST + MARKERS
}

/// Pushes the opening; its last message, the task, is cut so that it leaves half the room to the
/// search.
pub(super) fn push_opening(
    mut opening: Vec<Message>,
    conversation: &mut Conversation,
    profile: &dyn Profile,
) -> Result<(), ModelError> {
    let Some(Message::User(task)) = opening.pop() else {
        return Err(ModelError::Misuse("an opening must end with the task".to_owned()));
    };
    conversation.push(opening)?;
    let left = conversation.room().left();
    let keep = answer(conversation, profile) + LEAST + MARKERS;
    let space = (left / 2).max(LEAST_TASK).min(left.saturating_sub(keep));
    let mut chars = task.chars().count();
    let mut text = task.clone();
    while conversation.count(&text) > space && chars > 1 {
        let used = u64::from(conversation.count(&text));
        chars = (chars as u64 * u64::from(space) / used).min(chars as u64 - 1) as usize;
        text = without_middle(&task, chars);
    }
    conversation.push(vec![Message::User(text)])
}
