use codegrep_plugin_sdk::{
    Capabilities, InitializeParams, InitializeResponse, MAX_MESSAGE_BYTES, PROTOCOL_VERSION,
    PeerInfo,
};

use crate::failure::Failure;

/// What this build can do beyond the usual.
pub const FEATURES: &[&str] = &[
    #[cfg(feature = "llama")]
    "llama",
    #[cfg(feature = "cuda")]
    "cuda",
    #[cfg(feature = "vulkan")]
    "vulkan",
    #[cfg(feature = "metal")]
    "metal",
];

/// `initialize`: the lower of the two versions is spoken; `methods` are those served.
pub fn initialize(
    params: &InitializeParams,
    methods: Vec<String>,
) -> Result<InitializeResponse, Failure> {
    if params.protocol_version == 0 {
        return Err(Failure::usage("there is no protocol version 0")
            .hint(format!("this server speaks version {PROTOCOL_VERSION}")));
    }
    if let Some(client) = &params.client_info {
        tracing::info!(name = client.name, version = client.version, "client");
    }
    Ok(InitializeResponse {
        protocol_version: params.protocol_version.min(PROTOCOL_VERSION),
        server_info: PeerInfo {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        capabilities: Capabilities {
            methods,
            profiles: super::PROFILES.iter().map(|&name| name.to_owned()).collect(),
            features: FEATURES.iter().map(|&name| name.to_owned()).collect(),
            max_message_bytes: MAX_MESSAGE_BYTES as u64,
        },
    })
}
