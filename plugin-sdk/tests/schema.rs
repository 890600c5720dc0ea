//! The checked-in descriptions of the wire are those of the types. When a type changed:
//! `UPDATE_EXPECT=1 cargo test -p codegrep-plugin-sdk --test schema`

use codegrep_plugin_sdk::{json_schema, openrpc};
use expect_test::{ExpectFile, expect_file};
use serde_json::Value;

fn check(generated: &Value, checked_in: ExpectFile) {
    checked_in.assert_eq(&format!("{generated:#}\n"));
}

#[test]
fn schema_json_is_fresh() {
    check(&json_schema(), expect_file!["../schema.json"]);
}

#[test]
fn openrpc_json_is_fresh() {
    check(&openrpc(), expect_file!["../openrpc.json"]);
}
