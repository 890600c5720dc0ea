use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

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
