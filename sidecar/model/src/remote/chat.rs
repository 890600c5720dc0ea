use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use codegrep_agent::{Ask, Chat, Message, ModelError, Room, Turn, TurnEnd, Usage};
use codegrep_tree::Watch;
use crossbeam_channel::RecvTimeoutError;

use super::conversation::Conversation;
use super::exchange::exchange;
use super::fault::protocol;
use super::reply::Reply;
use super::shared::Shared;

/// How long a cancelled or late turn may go unnoticed.
const GLANCE: Duration = Duration::from_millis(20);

/// A conversation with an endpoint: kept here, sent whole with every turn, cached there.
pub(super) struct RemoteChat {
    shared: Arc<Shared>,
    conversation: Conversation,
    /// Tokens of the conversation when the last turn ended, as the server counted them.
    counted: u32,
    /// Estimate for what was pushed since.
    pushed: u32,
}

impl RemoteChat {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, conversation: Conversation::default(), counted: 0, pushed: 0 }
    }

    fn used(&self) -> u32 {
        self.counted.saturating_add(self.pushed)
    }
}

impl Chat for RemoteChat {
    fn push(&mut self, messages: &[Message]) -> Result<(), ModelError> {
        let needed = messages.iter().map(estimate).fold(0, u32::saturating_add);
        let room = self.room();
        if needed > room.left() {
            return Err(ModelError::Full { needed: needed - room.left(), capacity: room.capacity });
        }
        self.conversation.push(messages)?;
        self.pushed = self.pushed.saturating_add(needed);
        Ok(())
    }

    fn turn(&mut self, ask: &Ask, watch: &Watch) -> Result<Turn, ModelError> {
        if !self.conversation.awaits_turn() {
            return Err(ModelError::Misuse(
                "a turn must follow a user text or tool results".into(),
            ));
        }
        let reply = wait(
            &self.shared,
            watch,
            exchange(
                self.shared.clone(),
                self.conversation.clone(),
                ask.clone(),
                self.used(),
                watch.deadline(),
            ),
        )??;
        let text = self.conversation.take(&reply);
        let usage = match reply.tokens {
            Some(tokens) => Usage {
                prompt_new: tokens.prompt_tokens.saturating_sub(self.counted),
                evaluated: tokens.evaluated(),
                generated: tokens.completion_tokens,
            },
            None => Usage {
                prompt_new: self.pushed,
                evaluated: None,
                generated: estimate_reply(&reply),
            },
        };
        self.counted = match reply.tokens {
            Some(tokens) => tokens.prompt_tokens.saturating_add(tokens.completion_tokens),
            // What was thought is not sent again.
            None => self.used().saturating_add(count(&text)),
        };
        self.pushed = 0;
        let end = match reply.finish.as_deref() {
            Some("length") => TurnEnd::Length,
            _ => TurnEnd::Stop,
        };
        Ok(Turn { text, end, usage, reproducible: false, trace: None })
    }

    fn score(
        &mut self,
        _prefix: &str,
        _options: &[String],
        _watch: &Watch,
    ) -> Result<Vec<f64>, ModelError> {
        Err(ModelError::Misuse(
            "an OpenAI-compatible endpoint cannot score texts: its API gives likelihoods of what \
             it generates only"
                .into(),
        ))
    }

    fn fork(&mut self, n: usize) -> Result<Vec<Box<dyn Chat>>, ModelError> {
        let copy = || -> Box<dyn Chat> {
            Box::new(Self {
                shared: self.shared.clone(),
                conversation: self.conversation.clone(),
                counted: self.counted,
                pushed: self.pushed,
            })
        };
        Ok((0..n).map(|_| copy()).collect())
    }

    fn room(&self) -> Room {
        Room { used: self.used(), capacity: self.shared.capacity() }
    }

    fn count(&self, text: &str) -> u32 {
        count(text)
    }
}

/// Runs `work` on the endpoint's own thread; gives up on it, and drops its connection, as soon as
/// `watch` stops.
pub(super) fn wait<T: Send + 'static>(
    shared: &Shared,
    watch: &Watch,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, ModelError> {
    watch.check()?;
    let lost = || {
        protocol(
            format!("the exchange with {} broke off", shared.endpoint.origin()),
            "this is a fault of codegrep: please report it",
        )
    };
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let task = shared.runtime().ok_or_else(lost)?.spawn(async move {
        // Nobody listens any more when the watch has stopped.
        let _ = sender.send(work.await);
    });
    loop {
        match receiver.recv_timeout(GLANCE) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Disconnected) => return Err(lost()),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(stop) = watch.check() {
                    task.abort();
                    return Err(stop.into());
                }
            }
        }
    }
}

/// Tokens of a text, rarely too few: code runs at three to four bytes a token, hashes and
/// punctuation at two.
fn count(text: &str) -> u32 {
    u32::try_from(text.len().saturating_mul(2).div_ceil(5)).unwrap_or(u32::MAX)
}

/// Tokens of what the server sent: text, thoughts in it, and calls.
fn estimate_reply(reply: &Reply) -> u32 {
    reply.calls.iter().fold(count(&reply.content), |sum, call| {
        sum.saturating_add(count(&call.name)).saturating_add(count(&call.arguments))
    })
}

fn estimate(message: &Message) -> u32 {
    // Role markers and separators.
    const FRAME: u32 = 8;
    let text = match message {
        Message::System { text, tools } => tools.iter().fold(count(text), |sum, tool| {
            let schema =
                count(&tool.parameters.to_string()).saturating_add(count(&tool.description));
            sum.saturating_add(schema).saturating_add(FRAME)
        }),
        Message::User(text) | Message::Assistant(text) => count(text),
        Message::Tools(results) => results.iter().fold(0u32, |sum, result| {
            sum.saturating_add(count(&result.text)).saturating_add(FRAME)
        }),
    };
    text.saturating_add(FRAME)
}
