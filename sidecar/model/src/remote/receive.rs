use codegrep_agent::ModelError;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;

use super::endpoint::{Endpoint, WRONG_PLACE, hangs, nature};
use super::fault::{Fault, excerpt, is_html, overlong, protocol, unavailable};
use super::reply::{Chunk, Reply};
use super::sse::Events;
use crate::http::Trouble;

/// Bytes of one answer, thoughts and framing included. A turn of 4,096 tokens streams about one
/// MiB.
pub(super) const LIMIT: usize = 16 << 20;

const LOG: &str = "look into the server's own log";

impl Endpoint {
    /// Reads a whole turn, streamed or not.
    pub(super) async fn receive(&self, response: Response) -> Result<Reply, Fault> {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let reply = match kind {
            Some(kind) if kind.contains("event-stream") => self.stream(response).await?,
            // Gateways that cannot stream answer with the whole completion.
            _ => self.whole(response).await?,
        };
        if !reply.begun {
            return Err(Fault::Final(protocol(
                format!("{} answered without any choice", self.origin()),
                "look into the server's own log, or try another model there",
            )));
        }
        if reply.only_thought() {
            return Err(Fault::Final(protocol(
                format!("the model at {} used up its tokens on thoughts", self.origin()),
                "choose a model that does not think, or switch it off there; for many servers: \
                 `extra_body = { chat_template_kwargs = { enable_thinking = false } }`",
            )));
        }
        Ok(reply)
    }

    async fn stream(&self, response: Response) -> Result<Reply, Fault> {
        let mut body = Body { response, received: 0 };
        let mut events = Events::default();
        let mut reply = Reply::default();
        while let Some(bytes) = body.next(self, &reply).await? {
            for event in events.push(&bytes) {
                if event == "[DONE]" {
                    return Ok(reply);
                }
                reply.take(self.chunk(&event)?);
            }
        }
        // Not every server sends its `[DONE]`, or ends the line after it.
        match events.end() {
            Some(event) if event == "[DONE]" => return Ok(reply),
            Some(event) => reply.take(self.chunk(&event)?),
            None => {}
        }
        match reply.finish {
            Some(_) => Ok(reply),
            None => Err(Fault::passing(self.dropped(&reply))),
        }
    }

    async fn whole(&self, response: Response) -> Result<Reply, Fault> {
        let mut body = Body { response, received: 0 };
        let mut reply = Reply::default();
        let mut text = Vec::new();
        while let Some(bytes) = body.next(self, &reply).await? {
            text.extend_from_slice(&bytes);
        }
        let text = String::from_utf8_lossy(&text);
        match serde_json::from_str(&text) {
            Ok(chunk) => reply.take(self.checked(chunk)?),
            Err(_) => {
                return Err(Fault::Final(protocol(
                    format!("{} answered {} instead of JSON", self.origin(), nature(&text)),
                    if is_html(&text) { WRONG_PLACE } else { LOG },
                )));
            }
        }
        Ok(reply)
    }

    fn chunk(&self, event: &str) -> Result<Chunk, Fault> {
        match serde_json::from_str(event) {
            Ok(chunk) => self.checked(chunk),
            Err(_) => Err(Fault::Final(protocol(
                format!("{} streamed {} instead of JSON", self.origin(), nature(event)),
                LOG,
            ))),
        }
    }

    /// An error that comes with status 200, because the answer had begun or a gateway hides it.
    fn checked(&self, chunk: Chunk) -> Result<Chunk, Fault> {
        let Some(error) = chunk.error else { return Ok(chunk) };
        let text = serde_json::json!({ "error": error }).to_string();
        Err(overlong(&text).unwrap_or_else(|| {
            let message = format!("{} failed while it answered: {}", self.origin(), excerpt(&text));
            Fault::passing(unavailable(message, LOG))
        }))
    }

    fn dropped(&self, reply: &Reply) -> ModelError {
        let arguments: usize = reply.calls.iter().map(|call| call.arguments.len()).sum();
        protocol(
            format!(
                "{} closed the connection in the middle of its answer, after {} bytes of text",
                self.origin(),
                reply.content.len() + arguments
            ),
            LOG,
        )
    }
}

/// A response's bytes, no more than [`LIMIT`] of them and none awaited for ever.
struct Body {
    response: Response,
    received: usize,
}

impl Body {
    async fn next(&mut self, from: &Endpoint, reply: &Reply) -> Result<Option<Vec<u8>>, Fault> {
        // Reading the prompt comes before the first choice, whatever was sent to keep alive.
        let (patience, what) = match reply.begun {
            false => (from.timeouts.first, "did not begin to answer"),
            true => (from.timeouts.idle, "stopped in the middle of its answer"),
        };
        match tokio::time::timeout(patience, self.response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                self.received += bytes.len();
                if self.received > LIMIT {
                    let message =
                        format!("{} answered more than {} MiB", from.origin(), LIMIT >> 20);
                    return Err(Fault::Final(protocol(message, LOG)));
                }
                Ok(Some(bytes.to_vec()))
            }
            Ok(Ok(None)) => Ok(None),
            Ok(Err(error)) => Err(Fault::passing(match Trouble::of(&error) {
                Trouble::Closed => from.dropped(reply),
                trouble => unavailable(trouble.text(&from.origin()), LOG),
            })),
            Err(_) => Err(Fault::Final(hangs(&from.origin(), what, patience))),
        }
    }
}
