use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::clients::Output;
use super::{Client, Prompt};

/// Clients cut or drop what is longer than about 10,000 characters.
pub const MOST_CHARS: usize = 9_000;

/// The one line of JSON that `client` accepts, with `block` byte for byte in it; `None` when it
/// would be too long, or the client did not say where it belongs.
pub fn emit(client: &Client, prompt: &Prompt, block: &str) -> Option<String> {
    let value = match client.output {
        Output::Nested => json!({
            "hookSpecificOutput": { "hookEventName": client.event, "additionalContext": block },
        }),
        Output::TopLevel => json!({ "additionalContext": block }),
        Output::Part => json!({
            "id": part_id(),
            "sessionID": prompt.session.as_ref()?,
            "messageID": prompt.message.as_ref()?,
            "type": "text",
            "synthetic": true,
            "text": block,
        }),
    };
    let line = value.to_string();
    (line.chars().count() <= MOST_CHARS).then(|| line + "\n")
}

/// Such as `prt_0199f0a1b2c38f2e61a7c94d5b`: opencode sorts parts by their ids, which begin with
/// the time (milliseconds times 4,096, 48 bits).
fn part_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    // Keyed anew in every process: no two parts are alike.
    let random = RandomState::new().hash_one(now) & 0xff_ffff_ffff_ffff;
    format!("prt_{:012x}{random:014x}", (now << 12) & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::hook::CLIENTS;

    const BLOCK: &str = "\n\n<candidate_files>\n- a.py\n</candidate_files>\n";

    fn prompt() -> Prompt {
        Prompt {
            text: "t".into(),
            session: Some("s".into()),
            folder: None,
            message: Some("m".into()),
        }
    }

    #[test]
    fn each_client_gets_what_it_accepts_and_no_more() {
        let mut all = String::new();
        for client in CLIENTS {
            let mut line = emit(client, &prompt(), BLOCK).unwrap();
            if client.output == Output::Part {
                let value: serde_json::Value = serde_json::from_str(&line).unwrap();
                let id = value["id"].as_str().unwrap();
                assert_eq!(id.len(), 30, "{id}");
                line = line.replace(id, "prt_ID");
            }
            all += &format!("{}: {line}", client.name);
        }
        expect![[r#"
            claude-code: {"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"\n\n<candidate_files>\n- a.py\n</candidate_files>\n"}}
            codex: {"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"\n\n<candidate_files>\n- a.py\n</candidate_files>\n"}}
            gemini: {"hookSpecificOutput":{"hookEventName":"BeforeAgent","additionalContext":"\n\n<candidate_files>\n- a.py\n</candidate_files>\n"}}
            qwen: {"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"\n\n<candidate_files>\n- a.py\n</candidate_files>\n"}}
            opencode: {"id":"prt_ID","sessionID":"s","messageID":"m","type":"text","synthetic":true,"text":"\n\n<candidate_files>\n- a.py\n</candidate_files>\n"}
            openhands: {"additionalContext":"\n\n<candidate_files>\n- a.py\n</candidate_files>\n"}
        "#]]
        .assert_eq(&all);
    }

    #[test]
    fn what_a_client_would_cut_is_not_sent() {
        for client in CLIENTS {
            assert_eq!(emit(client, &prompt(), &"x".repeat(MOST_CHARS)), None);
        }
    }
}
