use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lifecycle::NoParams;
use crate::method::method;

method!(ModelList, "model/list", NoParams => ModelListResponse, "The models on this machine.");
method!(
    ModelLoad, "model/load", ModelLoadParams => ModelLoadResponse,
    "Loads a model now instead of at the first request."
);
method!(
    AdapterLoad, "adapter/load", AdapterLoadParams => AdapterLoadResponse,
    "Loads an adapter beside a model."
);

/// The models on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelListResponse {
    /// By name.
    pub models: Vec<ListedModel>,
    /// What `auto` stands for now; null when the lexical engine answers alone.
    pub auto: Option<String>,
}

/// A model on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedModel {
    /// What a request gives as `model`.
    pub name: String,
    /// Where it lies; null for a remote one.
    pub path: Option<String>,
    /// Its size; null for a remote one.
    pub bytes: Option<u64>,
    /// Whether it is in memory.
    pub loaded: bool,
}

/// Which model to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelLoadParams {
    /// `auto` or a name of `model/list`.
    pub model: String,
}

/// The model that was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelLoadResponse {
    /// Its short name.
    pub model: String,
    /// SHA-256 of its weights; null for a remote one, or when the time ended before it was known.
    pub hash: Option<String>,
    /// Milliseconds the load took; 0 when it was in memory.
    pub ms: u64,
}

/// Which adapter to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdapterLoadParams {
    /// The model it was trained on: `auto` or a name of `model/list`.
    pub model: String,
    /// The name of an adapter among the user's models.
    pub adapter: String,
}

/// The adapter that was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdapterLoadResponse {
    /// What a request gives as `adapter`.
    pub adapter: String,
    /// The model it was loaded beside.
    pub model: String,
    /// SHA-256 of the adapter when it was added; null when it is no longer listed.
    pub hash: Option<String>,
}
