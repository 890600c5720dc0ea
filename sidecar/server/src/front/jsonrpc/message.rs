use std::borrow::Cow;
use std::fmt;
use std::mem::discriminant;

use codegrep_plugin_sdk::{ErrorKind, code};
use jsonrpsee::core::server::MethodResponse;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::failure::Failure;

/// A request or a notification.
pub struct Message<'a> {
    pub id: Id,
    pub method: Cow<'a, str>,
    pub params: Option<&'a RawValue>,
}

/// What a request gave as `id`.
#[derive(Debug, Clone)]
pub enum Id {
    /// Nothing: a notification, which is never answered.
    Absent,
    /// `null`, which is answered with `null`.
    Null,
    Text(String),
    /// As it was written: no type of number holds every number of JSON.
    Number(Box<RawValue>),
}

impl Id {
    /// The id written as `raw`; `None` when it cannot be one.
    pub fn of(raw: &RawValue) -> Option<Self> {
        match raw.get().as_bytes().first()? {
            b'n' => Some(Self::Null),
            b'"' => serde_json::from_str(raw.get()).ok().map(Self::Text),
            b'-' | b'0'..=b'9' => Some(Self::Number(raw.to_owned())),
            _ => None,
        }
    }

    /// The answer to this id.
    pub fn answer(&self, answer: MethodResponse) -> Box<RawValue> {
        let answer = answer.into_json();
        let Self::Number(number) = self else { return answer };
        if plain(number).is_some() {
            return answer;
        }
        // The library's own answer has another id: its type holds no such number.
        let readdressed = serde_json::from_str::<Answer<'_>>(answer.get())
            .and_then(|answer| serde_json::value::to_raw_value(&Answer { id: number, ..answer }));
        readdressed.unwrap_or(answer)
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Number(one), Self::Number(other)) => one.get() == other.get(),
            _ => discriminant(self) == discriminant(other),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent | Self::Null => f.write_str("null"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Number(number) => f.write_str(number.get()),
        }
    }
}

impl From<&Id> for jsonrpsee::types::Id<'static> {
    fn from(id: &Id) -> Self {
        match id {
            Id::Text(text) => Self::Str(text.clone().into()),
            // See [`Id::answer`] for other numbers.
            Id::Number(number) => plain(number).map_or(Self::Null, Self::Number),
            Id::Absent | Id::Null => Self::Null,
        }
    }
}

/// A number that comes back as it was written.
fn plain(number: &RawValue) -> Option<u64> {
    let parsed: u64 = number.get().parse().ok()?;
    (parsed.to_string() == number.get()).then_some(parsed)
}

#[derive(Serialize, Deserialize)]
struct Answer<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(
        borrow,
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    result: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    error: Option<&'a RawValue>,
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
    let id = match envelope.id {
        None => Id::Absent,
        Some(id) => {
            Id::of(id).ok_or_else(|| (Id::Null, invalid("an id must be a string or a number")))?
        }
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

/// The id of the request that a `$/cancelRequest` names.
pub fn id_to_cancel(raw: Option<&RawValue>) -> Result<Id, Failure> {
    /// [`codegrep_plugin_sdk::CancelParams`] with the id as it was written.
    #[derive(Deserialize)]
    struct Named {
        id: Box<RawValue>,
    }
    let Named { id } = params(raw.map(RawValue::get))?;
    match Id::of(&id) {
        Some(id @ (Id::Text(_) | Id::Number(_))) => Ok(id),
        _ => Err(Failure::usage("params: an id must be a string or a number")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use jsonrpsee::core::server::ResponsePayload;

    #[test]
    fn an_answer_bears_the_id_as_it_was_written() {
        for id in ["7", "-1", "1.50", "-0", "1e999", "123456789012345678901234567890", "\"a\\\"b\""]
        {
            let given = Id::of(serde_json::from_str(id).unwrap()).unwrap();
            let done = ResponsePayload::success(serde_json::Value::Null);
            let answer = given.answer(MethodResponse::response((&given).into(), done, usize::MAX));
            assert_eq!(
                answer.get(),
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":null}}")
            );
        }
    }
}
