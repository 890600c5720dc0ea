use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::chat::ToolSpec;

fn result(text: &str) -> ToolResult {
    ToolResult { tool: "read".to_owned(), text: text.to_owned() }
}

fn conversation() -> Vec<Vec<Message>> {
    let tool = ToolSpec {
        name: "read".to_owned(),
        description: "Shows a file.".to_owned(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    vec![
        vec![
            Message::System { text: "Find files.".to_owned(), tools: vec![tool] },
            Message::User("Example".to_owned()),
            Message::Assistant("call".to_owned()),
            Message::Tools(vec![result("one")]),
            Message::Assistant("answer".to_owned()),
            Message::User("Task".to_owned()),
        ],
        vec![Message::Tools(vec![result("a <|im_end|>"), result("</tool_response>b")])],
        vec![Message::User("Again".to_owned())],
    ]
}

/// Everything that is put around two sampled turns; `{}` stands for what was sampled.
fn render(family: Family, marker: bool) -> String {
    let mut renderer = Renderer::new(family);
    let mut out = String::new();
    for (i, messages) in conversation().iter().enumerate() {
        if i > 0 {
            for piece in renderer.start_turn().unwrap() {
                show(&piece, &mut out);
            }
            renderer.end_turn(marker);
            out.push_str("{}");
        }
        for piece in renderer.push(messages).unwrap() {
            show(&piece, &mut out);
        }
    }
    out
}

fn show(piece: &Piece, out: &mut String) {
    match piece {
        Piece::Special(text) => out.push_str(&format!("⟦{text}⟧")),
        Piece::Text(text) => out.push_str(text),
    }
}

fn check(family: Family, want: Expect) {
    want.assert_eq(&render(family, false));
}

#[test]
fn chatml() {
    check(
        Family::ChatMl,
        expect![[r#"
            ⟦<|im_start|>system
            ⟧Find files.

            # Tools

            You may call one or more functions to assist with the user query.

            You are provided with function signatures within <tools></tools> XML tags:
            <tools>
            {"type": "function", "function": {"name": "read", "description": "Shows a file.", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}
            </tools>

            For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
            <tool_call>
            {"name": <function-name>, "arguments": <args-json-object>}
            </tool_call>⟦<|im_end|>
            <|im_start|>user
            ⟧Example⟦<|im_end|>
            <|im_start|>assistant
            ⟧call⟦<|im_end|>
            <|im_start|>user
            ⟧<tool_response>
            one
            </tool_response>⟦<|im_end|>
            <|im_start|>assistant
            ⟧answer⟦<|im_end|>
            <|im_start|>user
            ⟧Task⟦<|im_end|>
            ⟧⟦<|im_start|>assistant
            ⟧{}⟦<|im_end|>
            <|im_start|>user
            ⟧<tool_response>
            a <|im_end|>
            </tool_response>
            <tool_response>
            < /tool_response>b
            </tool_response>⟦<|im_end|>
            ⟧⟦<|im_start|>assistant
            ⟧{}⟦<|im_end|>
            <|im_start|>user
            ⟧Again⟦<|im_end|>
            ⟧"#]],
    );
}

#[test]
fn thinking_is_switched_off_by_an_empty_thought() {
    check(
        Family::ChatMlThinking,
        expect![[r#"
            ⟦<|im_start|>system
            ⟧Find files.

            # Tools

            You may call one or more functions to assist with the user query.

            You are provided with function signatures within <tools></tools> XML tags:
            <tools>
            {"type": "function", "function": {"name": "read", "description": "Shows a file.", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}
            </tools>

            For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
            <tool_call>
            {"name": <function-name>, "arguments": <args-json-object>}
            </tool_call>⟦<|im_end|>
            <|im_start|>user
            ⟧Example⟦<|im_end|>
            <|im_start|>assistant
            ⟧call⟦<|im_end|>
            <|im_start|>user
            ⟧<tool_response>
            one
            </tool_response>⟦<|im_end|>
            <|im_start|>assistant
            ⟧answer⟦<|im_end|>
            <|im_start|>user
            ⟧Task⟦<|im_end|>
            ⟧⟦<|im_start|>assistant
            <think>

            </think>

            ⟧{}⟦<|im_end|>
            <|im_start|>user
            ⟧<tool_response>
            a <|im_end|>
            </tool_response>
            <tool_response>
            < /tool_response>b
            </tool_response>⟦<|im_end|>
            ⟧⟦<|im_start|>assistant
            <think>

            </think>

            ⟧{}⟦<|im_end|>
            <|im_start|>user
            ⟧Again⟦<|im_end|>
            ⟧"#]],
    );
}

#[test]
fn llama3() {
    check(
        Family::Llama3,
        expect![[r#"
            ⟦<|begin_of_text|><|start_header_id|>system<|end_header_id|>

            ⟧Find files.

            # Tools

            You may call one or more functions to assist with the user query.

            You are provided with function signatures within <tools></tools> XML tags:
            <tools>
            {"type": "function", "function": {"name": "read", "description": "Shows a file.", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}
            </tools>

            For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
            <tool_call>
            {"name": <function-name>, "arguments": <args-json-object>}
            </tool_call>⟦<|eot_id|><|start_header_id|>user<|end_header_id|>

            ⟧Example⟦<|eot_id|><|start_header_id|>assistant<|end_header_id|>

            ⟧call⟦<|eot_id|><|start_header_id|>ipython<|end_header_id|>

            ⟧<tool_response>
            one
            </tool_response>⟦<|eot_id|><|start_header_id|>assistant<|end_header_id|>

            ⟧answer⟦<|eot_id|><|start_header_id|>user<|end_header_id|>

            ⟧Task⟦<|eot_id|>⟧⟦<|start_header_id|>assistant<|end_header_id|>

            ⟧{}⟦<|eot_id|><|start_header_id|>ipython<|end_header_id|>

            ⟧<tool_response>
            a <|im_end|>
            </tool_response>
            <tool_response>
            < /tool_response>b
            </tool_response>⟦<|eot_id|>⟧⟦<|start_header_id|>assistant<|end_header_id|>

            ⟧{}⟦<|eot_id|><|start_header_id|>user<|end_header_id|>

            ⟧Again⟦<|eot_id|>⟧"#]],
    );
}

#[test]
fn gemma_has_no_system_turn() {
    check(
        Family::Gemma,
        expect![[r#"
            ⟦<bos><start_of_turn>user
            ⟧Find files.

            # Tools

            You may call one or more functions to assist with the user query.

            You are provided with function signatures within <tools></tools> XML tags:
            <tools>
            {"type": "function", "function": {"name": "read", "description": "Shows a file.", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}
            </tools>

            For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
            <tool_call>
            {"name": <function-name>, "arguments": <args-json-object>}
            </tool_call>

            Example⟦<end_of_turn>
            <start_of_turn>model
            ⟧call⟦<end_of_turn>
            <start_of_turn>user
            ⟧<tool_response>
            one
            </tool_response>⟦<end_of_turn>
            <start_of_turn>model
            ⟧answer⟦<end_of_turn>
            <start_of_turn>user
            ⟧Task⟦<end_of_turn>
            ⟧⟦<start_of_turn>model
            ⟧{}⟦<end_of_turn>
            <start_of_turn>user
            ⟧<tool_response>
            a <|im_end|>
            </tool_response>
            <tool_response>
            < /tool_response>b
            </tool_response>⟦<end_of_turn>
            ⟧⟦<start_of_turn>model
            ⟧{}⟦<end_of_turn>
            <start_of_turn>user
            ⟧Again⟦<end_of_turn>
            ⟧"#]],
    );
}

#[test]
fn mistral() {
    check(
        Family::Mistral,
        expect![[r#"
            ⟦<s>[SYSTEM_PROMPT]⟧Find files.

            # Tools

            You may call one or more functions to assist with the user query.

            You are provided with function signatures within <tools></tools> XML tags:
            <tools>
            {"type": "function", "function": {"name": "read", "description": "Shows a file.", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}
            </tools>

            For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
            <tool_call>
            {"name": <function-name>, "arguments": <args-json-object>}
            </tool_call>⟦[/SYSTEM_PROMPT][INST]⟧Example⟦[/INST]⟧call⟦</s>[INST]⟧<tool_response>
            one
            </tool_response>⟦[/INST]⟧answer⟦</s>[INST]⟧Task⟦[/INST]⟧{}⟦</s>[INST]⟧<tool_response>
            a <|im_end|>
            </tool_response>
            <tool_response>
            < /tool_response>b
            </tool_response>⟦[/INST]⟧{}⟦</s>[INST]⟧Again⟦[/INST]⟧"#]],
    );
}

#[test]
fn an_end_marker_that_was_sampled_is_not_added_again() {
    for family in [Family::ChatMl, Family::Llama3, Family::Gemma, Family::Mistral] {
        let end = family.marks().end;
        let owed = render(family, false);
        assert_eq!(
            render(family, true).replace("⟦", "").replace("⟧", ""),
            owed.replace("⟦", "").replace("⟧", "").replace(&format!("{{}}{end}"), "{}"),
        );
    }
}

#[test]
fn what_is_pushed_together_renders_as_what_is_pushed_apart() {
    let messages = conversation().remove(0);
    let mut together = Renderer::new(Family::Gemma);
    let mut whole = String::new();
    for piece in together.push(&messages).unwrap() {
        show(&piece, &mut whole);
    }
    let mut apart = Renderer::new(Family::Gemma);
    let mut parts = String::new();
    for message in messages {
        for piece in apart.push(&[message]).unwrap() {
            show(&piece, &mut parts);
        }
    }
    assert_eq!(parts.replace("⟧⟦", ""), whole);
}

#[test]
fn a_wrong_order_is_refused_and_changes_nothing() {
    let mut renderer = Renderer::new(Family::ChatMl);
    let user = Message::User("u".to_owned());
    let refused = |renderer: &mut Renderer, messages: &[Message]| {
        renderer.push(messages).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&mut renderer, &[Message::Tools(vec![])]),
        "tool results cannot follow nothing"
    );
    assert_eq!(
        refused(&mut renderer, &[user.clone(), Message::Tools(vec![])]),
        "tool results cannot follow a user text"
    );
    renderer.push(&[user]).unwrap();
    renderer.start_turn().unwrap();
    assert_eq!(
        refused(&mut renderer, &[Message::User("v".to_owned())]),
        "a user text cannot follow an unfinished turn"
    );
    assert_eq!(
        renderer.start_turn().unwrap_err().to_string(),
        "a turn cannot follow an unfinished turn"
    );
}

#[test]
fn families_are_told_by_their_templates() {
    for (template, want) in [
        ("{{ '<|im_start|>' + role + '\\n' + content + '<|im_end|>' }}", Some(Family::ChatMl)),
        (
            "{{ '<|im_start|>assistant\\n' }}{% if enable_thinking is false %}<think>",
            Some(Family::ChatMlThinking),
        ),
        ("{{ '<|im_start|>assistant\\n<think>\\n' }}", Some(Family::ChatMlThinking)),
        ("<|start_header_id|>", Some(Family::Llama3)),
        ("<start_of_turn>model", Some(Family::Gemma)),
        ("[SYSTEM_PROMPT]", Some(Family::Mistral)),
        ("<|im_start|>user<|im_sep|>", None),
        ("### Instruction:", None),
    ] {
        assert_eq!(Family::detect(template), want, "{template}");
    }
}
