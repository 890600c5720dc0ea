use crate::chat::{Message, ToolResult};

/// Reads a worked example: parts that begin with `--- user`, `--- assistant` or `--- result TOOL`;
/// neighbouring results are those of one turn.
pub(super) fn messages(text: &str) -> Vec<Message> {
    let mut out = Vec::new();
    for part in text.split("--- ").skip(1) {
        let (head, body) = part.split_once('\n').unwrap_or((part, ""));
        let body = body.strip_suffix('\n').unwrap_or(body).to_owned();
        match head.split_once(' ') {
            Some((_, tool)) => {
                let result = ToolResult { tool: tool.to_owned(), text: body };
                match out.last_mut() {
                    Some(Message::Tools(results)) => results.push(result),
                    _ => out.push(Message::Tools(vec![result])),
                }
            }
            None if head == "assistant" => out.push(Message::Assistant(body)),
            None => out.push(Message::User(body)),
        }
    }
    out
}
