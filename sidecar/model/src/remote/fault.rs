use std::time::Duration;

use codegrep_agent::ModelError;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// Why an attempt gave no turn.
#[derive(Debug)]
pub(super) enum Fault {
    /// May pass: worth another attempt, not before `after`.
    Passing {
        error: ModelError,
        after: Option<Duration>,
    },
    /// No server was reached at all; worth a short second look.
    Unreached(ModelError),
    /// The server does not take such a request; a plainer one may do.
    Rejected {
        status: u16,
        text: String,
    },
    /// The prompt is longer than the server's context, which it says has `capacity` tokens.
    Overlong {
        capacity: Option<u32>,
    },
    Final(ModelError),
}

impl Fault {
    pub(super) fn passing(error: ModelError) -> Self {
        Self::Passing { error, after: None }
    }
}

/// The server answered something that is not what it promised.
pub(super) fn protocol(message: String, hint: &str) -> ModelError {
    ModelError::Protocol { message, hint: hint.to_owned() }
}

/// The server cannot serve.
pub(super) fn unavailable(message: String, hint: impl Into<String>) -> ModelError {
    ModelError::Unavailable { message, hint: hint.into() }
}

/// What an error body says, on one line of at most 300 characters.
pub(super) fn excerpt(body: &str) -> String {
    if is_html(body) {
        return String::from("a web page");
    }
    let said = match serde_json::from_str::<Value>(body) {
        Ok(Value::Array(mut list)) if !list.is_empty() => said(&list.swap_remove(0)),
        Ok(value) => said(&value),
        Err(_) => None,
    };
    let said = said.unwrap_or_else(|| body.to_owned());
    let mut line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    line.retain(|c| !c.is_control());
    match line.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.is_empty() => String::from("nothing more"),
        None => line,
    }
}

/// The message in the JSON of OpenAI, vLLM, llama-server, Ollama, FastAPI or Google.
fn said(value: &Value) -> Option<String> {
    let text = ["/error/message", "/error", "/message", "/detail"]
        .into_iter()
        .find_map(|pointer| value.pointer(pointer)?.as_str());
    text.map(str::to_owned).or_else(|| value.get("detail").map(Value::to_string))
}

pub(super) fn is_html(body: &str) -> bool {
    let start: String = body.trim_start().chars().take(14).collect();
    let start = start.to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html") || start.starts_with("<head")
}

/// The context the server says it has, when `text` says that the prompt does not fit.
pub(super) fn overlong(text: &str) -> Option<Fault> {
    let lower = text.to_ascii_lowercase();
    let full = [
        "context_length_exceeded",
        "maximum context length",
        "exceed_context_size",
        "exceeds the available context size",
        "maximum model length",
    ];
    if !full.iter().any(|mark| lower.contains(mark)) {
        return None;
    }
    let capacity = ["maximum context length is ", "\"n_ctx\":", "maximum model length of "]
        .into_iter()
        .find_map(|mark| {
            let rest = lower.split_once(mark)?.1.trim_start();
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        });
    Some(Fault::Overlong { capacity })
}

/// How long the server asks to wait: `retry-after-ms`, or `retry-after` in seconds (as every
/// model server writes it; a date is left to our own pause).
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1000.0).or(number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_bodies_of_known_servers_are_read() {
        for (body, want) in [
            (r#"{"error":{"message":"bad\nkey","code":401}}"#, "bad key"),
            (r#"{"error":"model 'x' not found"}"#, "model 'x' not found"),
            (r#"{"object":"error","message":"too long"}"#, "too long"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (r#"{"detail":[{"loc":["body"]}]}"#, r#"[{"loc":["body"]}]"#),
            (r#"[{"error":{"message":"API key not valid"}}]"#, "API key not valid"),
            ("<!DOCTYPE html><title>Sign in</title>", "a web page"),
            ("upstream\u{1b}[31m down", "upstream[31m down"),
            ("", "nothing more"),
        ] {
            assert_eq!(excerpt(body), want);
        }
        assert_eq!(excerpt(&"é".repeat(1000)).chars().count(), 301);
    }

    #[test]
    fn a_prompt_that_does_not_fit_is_told_from_other_rejections() {
        for (text, want) in [
            (
                "This model's maximum context length is 4096 tokens. However, you requested 5000",
                Some(Some(4096)),
            ),
            (
                r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":1,"n_ctx":512}}"#,
                Some(Some(512)),
            ),
            (r#"{"error":{"code":"context_length_exceeded"}}"#, Some(None)),
            ("tools are not supported", None),
        ] {
            let got = overlong(text).map(|fault| match fault {
                Fault::Overlong { capacity } => capacity,
                other => panic!("{other:?}"),
            });
            assert_eq!(got, want, "{text}");
        }
    }

    #[test]
    fn every_form_of_retry_after_is_read() {
        let read = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(read("retry-after", "2"), Some(Duration::from_secs(2)));
        assert_eq!(read("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(read("retry-after-ms", "30"), Some(Duration::from_millis(30)));
        for nonsense in ["-1", "soon", "inf", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(read("retry-after", nonsense), None, "{nonsense}");
        }
    }
}
