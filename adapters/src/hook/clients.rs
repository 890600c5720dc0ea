/// How one agent calls its prompt hook, as observed on the real client.
#[derive(Debug, PartialEq, Eq)]
pub struct Client {
    /// What `--client` names it.
    pub name: &'static str,
    /// The event that carries a prompt; others are left alone.
    pub event: &'static str,
    /// Where the input names the event.
    pub event_key: &'static str,
    /// Where the input holds the prompt.
    pub prompt_key: &'static str,
    /// Where the input names the session.
    pub session_key: &'static str,
    /// Where the input names the folder that the agent works in.
    pub folder_key: &'static str,
    /// What it accepts.
    pub output: Output,
}

/// The form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// `{"hookSpecificOutput":{"hookEventName":…,"additionalContext":…}}` and no other key: Codex
    /// drops all of it otherwise.
    Nested,
    /// `{"additionalContext":…}`; the nested form is ignored.
    TopLevel,
    /// A synthetic text part of opencode's message, which its plugin appends.
    Part,
}

const CLAUDE: Client = Client {
    name: "claude-code",
    event: "UserPromptSubmit",
    event_key: "hook_event_name",
    prompt_key: "prompt",
    session_key: "session_id",
    folder_key: "cwd",
    output: Output::Nested,
};

/// Every agent that has a prompt hook.
pub static CLIENTS: &[Client] = &[
    CLAUDE,
    Client { name: "codex", ..CLAUDE },
    Client { name: "gemini", event: "BeforeAgent", ..CLAUDE },
    Client { name: "qwen", ..CLAUDE },
    Client {
        name: "opencode",
        event: "chat.message",
        event_key: "event",
        session_key: "sessionID",
        output: Output::Part,
        ..CLAUDE
    },
    Client {
        name: "openhands",
        event_key: "event_type",
        prompt_key: "message",
        folder_key: "working_dir",
        output: Output::TopLevel,
        ..CLAUDE
    },
];

/// The agent of this name.
pub fn client(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}
