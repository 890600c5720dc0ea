//! What the binary says is what the checked-in schema says.

use codegrep_plugin_sdk::json_schema;
use serde_json::{Value, json};

use crate::support::Repo;

#[test]
fn the_binary_prints_the_schema() {
    let repo = Repo::shop();
    assert_eq!(repo.run(&["schema"]).json(), json_schema());
    assert_eq!(repo.run(&["schema", "--openrpc"]).json(), codegrep_plugin_sdk::openrpc());
}

#[test]
fn answers_keep_to_the_schema() {
    let repo = Repo::shop();
    let schema = json_schema();
    let check = |name: &str, value: &Value| {
        let mut faults = Vec::new();
        validate(&schema["$defs"][name], value, &schema, name, &mut faults);
        assert_eq!(faults, Vec::<String>::new(), "{value:#}");
    };
    check("RetrieveResponse", &repo.run(&["find", "--json", "total_price discount"]).json());
    check("RetrieveResponse", &repo.run(&["find", "--json", "--budget-ms", "1", "x"]).json());
    let mut server = repo.serve(&[]);
    let roots = json!([server.root()]);
    for (name, method, params) in [
        ("InitializeResponse", "initialize", json!({"protocolVersion": 1})),
        ("RetrieveResponse", "retrieve", json!({"text": "total_price", "roots": roots})),
        ("GrepResponse", "files/grep", json!({"pattern": "def", "roots": roots})),
        ("GlobResponse", "files/glob", json!({"pattern": "*", "roots": roots})),
        ("ReadResponse", "files/read", json!({"path": "src/cart.py", "root": server.root()})),
        ("IndexStatusResponse", "index/refresh", json!({"roots": roots})),
        ("ModelListResponse", "model/list", json!({})),
        ("HealthResponse", "health", json!({})),
        ("FeedbackResponse", "feedback", json!({})),
    ] {
        check(name, &server.result(method, params));
    }
    check("RpcError", &server.error("retrieve", json!({"text": "", "roots": roots})));
}

#[test]
fn the_validator_finds_faults() {
    let schema = json_schema();
    let faults = |name: &str, value: Value| {
        let mut faults = Vec::new();
        validate(&schema["$defs"][name], &value, &schema, name, &mut faults);
        faults
    };
    assert_eq!(faults("Evidence", json!({"line": 1, "text": "t", "kind": "match"})).len(), 0);
    assert_eq!(faults("Evidence", json!({"line": -1, "text": 1, "kind": "x"})).len(), 3);
    assert_eq!(faults("Evidence", json!({})).len(), 3);
}

/// As much of JSON Schema as our schema uses; a keyword it does not know is a fault of the test.
fn validate(schema: &Value, value: &Value, all: &Value, at: &str, faults: &mut Vec<String>) {
    let Value::Object(keywords) = schema else { panic!("{at}: {schema}") };
    for (keyword, want) in keywords {
        let holds = match keyword.as_str() {
            "description" | "format" | "default" => true,
            "$ref" => {
                let name = want.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                validate(&all["$defs"][name], value, all, at, faults);
                true
            }
            "type" => match want {
                Value::Array(types) => types.iter().any(|name| is(name, value)),
                name => is(name, value),
            },
            "enum" => want.as_array().unwrap().contains(value),
            "const" => want == value,
            "minimum" => value.as_f64().is_none_or(|number| number >= want.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= want.as_f64().unwrap()),
            "minItems" => value.as_array().is_none_or(|v| v.len() as u64 >= want.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|v| v.len() as u64 <= want.as_u64().unwrap()),
            "anyOf" | "oneOf" => {
                let fits = want.as_array().unwrap().iter().filter(|schema| {
                    let mut faults = Vec::new();
                    validate(schema, value, all, at, &mut faults);
                    faults.is_empty()
                });
                fits.count() >= 1
            }
            "required" => {
                let names = want.as_array().unwrap();
                for name in names.iter().filter(|name| value.get(name.as_str().unwrap()).is_none())
                {
                    faults.push(format!("{at}: {name} is missing"));
                }
                true
            }
            "properties" => {
                for (name, schema) in want.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        validate(schema, value, all, &format!("{at}.{name}"), faults);
                    }
                }
                // Ours have no others.
                value
                    .as_object()
                    .is_none_or(|fields| fields.keys().all(|name| want.get(name).is_some()))
            }
            "items" => {
                for (i, value) in value.as_array().into_iter().flatten().enumerate() {
                    validate(want, value, all, &format!("{at}[{i}]"), faults);
                }
                true
            }
            "prefixItems" => {
                let items = value.as_array().into_iter().flatten();
                for (schema, value) in want.as_array().unwrap().iter().zip(items) {
                    validate(schema, value, all, at, faults);
                }
                true
            }
            unknown => panic!("{at}: the keyword {unknown} is not known here"),
        };
        if !holds {
            faults.push(format!("{at}: {value} breaks {keyword} {want}"));
        }
    }
}

fn is(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        unknown => panic!("the type {unknown} is not known here"),
    }
}
