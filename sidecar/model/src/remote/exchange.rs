use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use codegrep_agent::{Ask, ModelError};
use serde_json::Map;

use super::conversation::Conversation;
use super::fault::{Fault, protocol};
use super::reply::Reply;
use super::request::request;
use super::shared::Shared;

/// The longest a server may ask us to wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Attempts beyond the first to reach a server that does not even accept connections: one that
/// is down rarely comes up while somebody waits.
const LOOKS: u32 = 2;

/// One turn of the model: asks, asks more plainly what the server rejects, and asks again after
/// faults that may pass, never beyond `deadline`. `used`: tokens of the conversation so far, at
/// most.
pub(super) async fn exchange(
    shared: Arc<Shared>,
    conversation: Conversation,
    ask: Ask,
    used: u32,
    deadline: Option<Instant>,
) -> Result<Reply, ModelError> {
    let endpoint = &shared.endpoint;
    let mut dialect = shared.dialect();
    let mut tried = 0;
    loop {
        let capacity = shared.capacity();
        if used >= capacity {
            return Err(ModelError::Full { needed: used - capacity + 1, capacity });
        }
        let max_tokens = ask.max_tokens.min(capacity - used);
        let mut body = Map::new();
        let attempt = async {
            let model = endpoint.model().await?;
            body = request(model, &conversation, &ask, max_tokens, &dialect);
            body.extend(shared.extra_body.clone());
            endpoint.receive(endpoint.chat(&body).await?).await
        };
        let reply = attempt.await;
        tried += 1;
        let (error, after, limit) = match reply {
            Ok(reply) => {
                // Only what has worked is remembered: a request may be rejected for its content.
                shared.learn(dialect);
                return Ok(reply);
            }
            Err(Fault::Rejected { status, text }) => {
                if dialect.give_up(&body, &text) {
                    tried = 0;
                    continue;
                }
                return Err(protocol(
                    format!("{} rejected the request ({status}): {text}", endpoint.origin()),
                    "check that the model and its server support chat completions",
                ));
            }
            Err(Fault::Overlong { capacity: Some(said) }) if said < capacity => {
                shared.shrink(said);
                continue;
            }
            Err(Fault::Overlong { .. }) => return Err(ModelError::Full { needed: 1, capacity }),
            Err(Fault::Final(error)) => return Err(error),
            Err(Fault::Unreached(error)) => (error, None, shared.retries.min(LOOKS)),
            Err(Fault::Passing { error, after }) => (error, after, shared.retries),
        };
        let pause = after.unwrap_or_default().max(backoff(tried));
        let late = deadline.is_some_and(|deadline| Instant::now() + pause >= deadline);
        if tried > limit || late || pause > LONGEST_PAUSE {
            return Err(after_attempts(error, tried));
        }
        tokio::time::sleep(pause).await;
    }
}

/// A quarter of a second, doubled with each attempt up to eight, more or less by a half, so that
/// clients that failed together do not return together.
fn backoff(tried: u32) -> Duration {
    let base = 250u64 << (tried.clamp(1, 6) - 1);
    let jitter = RandomState::new().hash_one(tried) % base;
    Duration::from_millis(base / 2 + jitter)
}

fn after_attempts(error: ModelError, tried: u32) -> ModelError {
    let note = |message: String| match tried {
        1 => message,
        _ => format!("{message} (tried {tried} times)"),
    };
    match error {
        ModelError::Unavailable { message, hint } => {
            ModelError::Unavailable { message: note(message), hint }
        }
        ModelError::Protocol { message, hint } => {
            ModelError::Protocol { message: note(message), hint }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_bounded() {
        for (tried, base) in [(1, 250), (2, 500), (3, 1000), (6, 8000), (40, 8000)] {
            let pause = backoff(tried).as_millis();
            assert!((base / 2..base * 3 / 2).contains(&pause), "{tried}: {pause} ms");
        }
    }
}
