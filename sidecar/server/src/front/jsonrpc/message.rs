use std::borrow::Cow;

use codegrep_plugin_sdk::{ErrorKind, RequestId, code};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::failure::Failure;

/// A request or a notification.
pub struct Message<'a> {
    pub id: Id,
    pub method: Cow<'a, str>,
    pub params: Option<&'a RawValue>,
}

/// What a request gave as `id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Id {
    /// Nothing: a notification, which is never answered.
    Absent,
    /// `null`, which is answered with `null`.
    Null,
    Given(RequestId),
}

impl From<Id> for jsonrpsee::types::Id<'static> {
    /// The id an answer carries.
    fn from(id: Id) -> Self {
        match id {
            Id::Absent | Id::Null => Self::Null,
            Id::Given(RequestId::Number(number)) => Self::Number(number),
            Id::Given(RequestId::Text(text)) => Self::Str(text.into()),
        }
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Tells `null` from nothing.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Reads a message. `Ok(None)`: it asks for nothing. The error goes to the id beside it.
pub fn read(raw: &RawValue) -> Result<Option<Message<'_>>, (Id, Failure)> {
    let envelope: Envelope<'_> = serde_json::from_str(raw.get())
        .map_err(|error| (Id::Null, invalid(format!("not a request: {}", place_off(&error)))))?;
    let id = match envelope.id.map(RawValue::get) {
        None => Id::Absent,
        Some("null") => Id::Null,
        Some(id) => serde_json::from_str(id)
            .map(Id::Given)
            .map_err(|_| (Id::Null, invalid("an id must be a string or a non-negative integer")))?,
    };
    // An error has to go somewhere, even where there was no id to answer to.
    let to = |id: &Id| if *id == Id::Absent { Id::Null } else { id.clone() };
    if envelope.jsonrpc.map(RawValue::get) != Some(r#""2.0""#) {
        return Err((to(&id), invalid(r#"`jsonrpc` must be "2.0""#)));
    }
    let Some(method) = envelope.method else {
        if envelope.result.is_some() || envelope.error.is_some() {
            // An answer; this server asks nothing.
            return Ok(None);
        }
        return Err((to(&id), invalid("`method` is missing")));
    };
    let method = serde_json::from_str::<String>(method.get())
        .map_err(|_| (to(&id), invalid("`method` must be a string")))?;
    Ok(Some(Message { id, method: method.into(), params: envelope.params }))
}

/// The parameters as their type; absent ones are an empty object.
pub fn params<T: for<'de> Deserialize<'de>>(raw: Option<&str>) -> Result<T, Failure> {
    let raw = raw.unwrap_or("{}");
    if !raw.trim_start().starts_with('{') {
        return Err(Failure::usage("params must be an object, with parameters by name"));
    }
    serde_json::from_str(raw).map_err(|error| {
        Failure::usage(format!("params: {}", place_off(&error)))
            .hint("`codegrep schema` prints what each method takes")
    })
}

fn invalid(message: impl Into<String>) -> Failure {
    Failure::wire(ErrorKind::User, code::INVALID_REQUEST, message)
}

/// Without ` at line 1 column 17`: a message is one line, and its columns help nobody.
fn place_off(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}
