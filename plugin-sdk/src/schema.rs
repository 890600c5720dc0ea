use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::*;

/// JSON Schema of every type on the wire, under `$defs`; `schema.json` is this, checked in.
pub fn json_schema() -> Value {
    let mut schemas = Schemas::new();
    each_method(&mut schemas);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("CodeGrep wire protocol, version {PROTOCOL_VERSION}"),
        "$defs": schemas.into_defs("#/$defs/"),
    })
}

/// OpenRPC description of the methods; `openrpc.json` is this, checked in.
pub fn openrpc() -> Value {
    let mut schemas = Schemas::new();
    let methods = each_method(&mut schemas);
    json!({
        "openrpc": "1.3.2",
        "info": { "title": "CodeGrep", "version": PROTOCOL_VERSION.to_string() },
        "methods": methods,
        "components": { "schemas": schemas.into_defs("#/components/schemas/") },
    })
}

/// Visits every type on the wire; returns the methods as OpenRPC describes them.
fn each_method(schemas: &mut Schemas) -> Vec<Value> {
    let methods = vec![
        schemas.method::<Initialize>(),
        schemas.method::<Retrieve>(),
        schemas.method::<FilesGrep>(),
        schemas.method::<FilesGlob>(),
        schemas.method::<FilesRead>(),
        schemas.method::<IndexStatus>(),
        schemas.method::<IndexRefresh>(),
        schemas.method::<ModelList>(),
        schemas.method::<ModelLoad>(),
        schemas.method::<AdapterLoad>(),
        schemas.method::<Feedback>(),
        schemas.method::<Health>(),
        schemas.method::<Shutdown>(),
    ];
    schemas.input.subschema_for::<CancelParams>();
    schemas.output.subschema_for::<RetrieveProgressNotification>();
    schemas.output.subschema_for::<RpcError>();
    methods
}

/// Parameters are described as they are read (a field with a default may be absent), results as
/// they are written (it never is).
struct Schemas {
    input: SchemaGenerator,
    output: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12();
        Self {
            input: settings.clone().for_deserialize().into_generator(),
            output: settings.for_serialize().into_generator(),
        }
    }

    fn method<M: Method>(&mut self) -> Value {
        let params = self.input.root_schema_for::<M::Params>().to_value();
        self.input.subschema_for::<M::Params>();
        let result = self.output.subschema_for::<M::Response>().to_value();
        let required = params["required"].as_array().cloned().unwrap_or_default();
        let fields = params["properties"].as_object().cloned().unwrap_or_default();
        let params: Vec<Value> = fields
            .into_iter()
            .map(|(name, schema)| {
                json!({ "required": required.contains(&json!(name)), "name": name, "schema": schema })
            })
            .collect();
        json!({
            "name": M::NAME,
            "summary": M::SUMMARY,
            "paramStructure": "by-name",
            "params": relink(json!(params)),
            "result": { "name": "result", "schema": relink(result) },
        })
    }

    fn into_defs(mut self, prefix: &str) -> Map<String, Value> {
        let mut defs = self.input.take_definitions(true);
        // What both sides use is one type with one form: params never hold a result.
        defs.extend(self.output.take_definitions(true));
        defs.sort_keys();
        match relink_to(Value::Object(defs), prefix) {
            Value::Object(defs) => defs,
            _ => Map::new(),
        }
    }
}

fn relink(schema: Value) -> Value {
    relink_to(schema, "#/components/schemas/")
}

/// Points every `$ref` at the place the definitions are put.
fn relink_to(schema: Value, prefix: &str) -> Value {
    match schema {
        Value::String(text) => match text.strip_prefix("#/$defs/") {
            Some(name) => Value::String(format!("{prefix}{name}")),
            None => Value::String(text),
        },
        Value::Array(items) => items.into_iter().map(|item| relink_to(item, prefix)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (key, relink_to(value, prefix))).collect()
        }
        other => other,
    }
}
