use std::path::PathBuf;

use serde_json::Value;

use super::Client;

/// What an agent handed to its prompt hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    /// `None` where the agent names none: nothing can be remembered then.
    pub session: Option<String>,
    /// `None`: the process's own working folder.
    pub folder: Option<PathBuf>,
    /// opencode's message, to which the part belongs.
    pub message: Option<String>,
}

/// Why an input holds no prompt.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("the hook's input is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the hook's input is for {0}, which brings no prompt")]
    OtherEvent(String),
    #[error("the hook's input comes from a sub-agent")]
    SubAgent,
    #[error("the hook's input holds no text under {0:?}")]
    NoPrompt(&'static str),
}

impl Prompt {
    /// Reads the input of `client`'s hook; unknown fields are ignored.
    ///
    /// # Errors
    /// It is no JSON object, or another event's, or a sub-agent's, or has no prompt.
    pub fn parse(client: &Client, input: &[u8]) -> Result<Self, InputError> {
        let input: Value = serde_json::from_slice(input)?;
        let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
        if let Some(event) = text(client.event_key).filter(|event| event != client.event) {
            return Err(InputError::OtherEvent(event));
        }
        if text("agent_id").is_some() {
            return Err(InputError::SubAgent);
        }
        Ok(Self {
            text: text(client.prompt_key).ok_or(InputError::NoPrompt(client.prompt_key))?,
            session: text(client.session_key).filter(|session| !session.is_empty()),
            folder: text(client.folder_key).filter(|f| !f.is_empty()).map(PathBuf::from),
            message: text("messageID"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::client;

    fn parse(name: &str, input: &str) -> Result<Prompt, InputError> {
        Prompt::parse(client(name).unwrap(), input.as_bytes())
    }

    #[test]
    fn every_clients_input_is_read() {
        let usual = r#"{"session_id":"s","transcript_path":"/t","cwd":"/p","turn_id":"1",
            "hook_event_name":"UserPromptSubmit","prompt":"fix it","agent_id":null}"#;
        let inputs = [
            ("claude-code", usual.to_owned()),
            ("codex", usual.to_owned()),
            ("qwen", usual.to_owned()),
            ("gemini", usual.replace("UserPromptSubmit", "BeforeAgent")),
            (
                "opencode",
                r#"{"event":"chat.message","sessionID":"s","messageID":"m","cwd":"/p",
                    "prompt":"fix it"}"#
                    .to_owned(),
            ),
            (
                "openhands",
                r#"{"event_type":"UserPromptSubmit","message":"fix it","session_id":"s",
                    "working_dir":"/p","metadata":{}}"#
                    .to_owned(),
            ),
        ];
        for (name, input) in inputs {
            let message = (name == "opencode").then(|| "m".to_owned());
            let wanted = Prompt {
                text: "fix it".into(),
                session: Some("s".into()),
                folder: Some("/p".into()),
                message,
            };
            assert_eq!(parse(name, &input).unwrap(), wanted, "{name}");
        }
    }

    #[test]
    fn what_brings_no_prompt_says_why() {
        let cases = [
            ("", "the hook's input is no JSON: EOF while parsing a value at line 1 column 0"),
            ("[]", "the hook's input holds no text under \"prompt\""),
            (r#"{"prompt":7}"#, "the hook's input holds no text under \"prompt\""),
            (r#"{"prompt":"a","agent_id":"x"}"#, "the hook's input comes from a sub-agent"),
            (
                r#"{"hook_event_name":"Stop","prompt":"a"}"#,
                "the hook's input is for Stop, which brings no prompt",
            ),
        ];
        for (input, why) in cases {
            assert_eq!(parse("claude-code", input).unwrap_err().to_string(), why);
        }
    }
}
