use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

/// A request: its name and the types of its parameters and result.
pub trait Method {
    /// The name on the wire, such as `files/grep`.
    const NAME: &'static str;
    /// What it does, in a line.
    const SUMMARY: &'static str;
    /// `params` of the request.
    type Params: Serialize + DeserializeOwned + JsonSchema;
    /// `result` of the response.
    type Response: Serialize + DeserializeOwned + JsonSchema;
}

/// A message that nobody answers.
pub trait Notification {
    /// The name on the wire, such as `retrieve/progress`.
    const NAME: &'static str;
    /// `params` of the notification.
    type Params: Serialize + DeserializeOwned + JsonSchema;
}

/// Declares a request's marker type.
macro_rules! method {
    ($(#[$doc:meta])* $marker:ident, $name:literal, $params:ty => $response:ty, $summary:literal) => {
        #[doc = concat!("`", $name, "`: ", $summary)]
        #[derive(Debug, Clone, Copy)]
        pub enum $marker {}

        impl $crate::Method for $marker {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
            type Params = $params;
            type Response = $response;
        }
    };
}
pub(crate) use method;

/// Takes `null` for an optional parameter that is left out, as every other one does.
pub(crate) fn null_as_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}
