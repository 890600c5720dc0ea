//! The examples of the protocol's description, and what readers must tolerate or refuse.

use codegrep_plugin_sdk::{RetrieveParams, RetrieveResponse, Stop};
use expect_test::expect;
use serde_json::{Value, json};

#[test]
fn a_full_request_survives() {
    let wire = json!({
        "text": "…", "roots": ["/abs/path"],
        "openFiles": [{"path": "/abs/path/src/a.rs", "text": "…"}],
        "budgetMs": 20000, "maxFiles": 3, "gate": "on",
        "profile": "codegrep", "model": "auto", "adapter": "a",
        "context": "candidates", "sessionId": "…", "progressToken": "p1"
    });
    let params: RetrieveParams = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(serde_json::to_value(&params).unwrap(), wire);
}

#[test]
fn a_full_result_survives() {
    let wire = json!({
        "files": [{"root": "/abs/path", "path": "src/a.rs", "lineRanges": [[10, 42]],
                   "probability": 0.83, "source": "agent",
                   "evidence": [{"line": 12, "text": "fn read_tool(…", "kind": "definition"}]}],
        "verdict": {"kind": "inject", "reason": "1 of 3 files at or above 0.61"},
        "injection": "\n\n<candidate_files>\n- src/a.rs\n</candidate_files>\n",
        "engine": {"kind": "agent", "model": "qwen2.5-coder-0.5b", "adapter": null,
                   "profile": "codegrep", "rulesHash": "…"},
        "stop": "answered", "turns": 3, "toolCalls": 9, "tokens": {"in": 2310, "out": 214},
        "ms": {"index": 3, "rank": 9, "model": 4120, "total": 4160},
        "index": {"state": "ready", "files": 6712, "gitSignals": true},
        "reproducible": true, "warnings": []
    });
    let response: RetrieveResponse = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(serde_json::to_value(&response).unwrap(), wire);
}

#[test]
fn text_and_roots_are_enough_and_unknown_fields_are_ignored() {
    let wire = json!({"text": "t", "roots": ["/r"], "later": {"version": 2}});
    let params: RetrieveParams = serde_json::from_value(wire).unwrap();
    assert_eq!(params, RetrieveParams::new("t", "/r"));
}

#[test]
fn null_options_are_absent_options() {
    let wire = json!({"text": "t", "roots": ["/r"], "adapter": null, "budgetMs": null});
    let params: RetrieveParams = serde_json::from_value(wire).unwrap();
    assert_eq!(params, RetrieveParams::new("t", "/r"));
}

#[test]
fn unknown_enum_values_are_errors() {
    let error = |wire: Value| serde_json::from_value::<RetrieveParams>(wire).unwrap_err();
    expect!["unknown variant `maybe`, expected `on` or `off`"]
        .assert_eq(&error(json!({"text": "t", "roots": [], "gate": "maybe"})).to_string());
    expect!["unknown variant `all`, expected `none` or `candidates`"]
        .assert_eq(&error(json!({"text": "t", "roots": [], "context": "all"})).to_string());
    assert!(serde_json::from_value::<Stop>(json!("bored")).is_err());
}
