//! The one way this crate talks HTTP: rustls with ring, the system's certificates, no redirect
//! followed unseen.

use std::error::Error as _;
use std::io;
use std::sync::Once;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, Response, Url};

/// A client for requests to `url`'s host that take `connect` at most until they are accepted.
pub(crate) fn client(url: &Url, connect: Duration) -> Result<Client, reqwest::Error> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Refused only when the program chose a provider already, which then serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let mut builder = ClientBuilder::new()
        .user_agent(concat!("codegrep/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect)
        .redirect(reqwest::redirect::Policy::none());
    if url.scheme() == "http" {
        // Certificates are not needed, and a small container may have none to load.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(url) {
        // HTTP_PROXY is meant for the world outside.
        builder = builder.no_proxy();
    }
    builder.build()
}

/// Whether requests to it stay on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or("").trim_matches(['[', ']']);
    let name = host.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Scheme, host and port, as messages name a server.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The first `limit` bytes of the body as text; what could be read of it when it breaks off or
/// takes longer than `patience`.
pub(crate) async fn text(mut response: Response, limit: usize, patience: Duration) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < limit {
        match tokio::time::timeout(patience, response.chunk()).await {
            Ok(Ok(Some(chunk))) => bytes.extend_from_slice(&chunk),
            _ => break,
        }
    }
    bytes.truncate(limit);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Why a request got no response, or its body broke off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    Refused,
    NoSuchHost,
    ConnectTimeout,
    Certificate(String),
    NotTls,
    Tls(String),
    NoCertificates,
    Closed,
    Other(String),
}

impl Trouble {
    pub(crate) fn of(error: &reqwest::Error) -> Self {
        let mut deepest = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            deepest = cause.to_string();
            let known = match cause.downcast_ref::<io::Error>() {
                Some(io) => Self::of_io(io),
                None => cause.downcast_ref().map(Self::of_tls),
            };
            if let Some(known) = known {
                return known;
            }
            source = cause.source();
        }
        if error.is_builder() && deepest.contains("No CA certificates") {
            Self::NoCertificates
        } else if error.is_dns() {
            Self::NoSuchHost
        } else if error.is_timeout() {
            Self::ConnectTimeout
        } else if error.is_body() || deepest.contains("connection closed") {
            Self::Closed
        } else {
            Self::Other(deepest)
        }
    }

    /// An I/O error may wrap another one, or TLS's, without naming it as its source.
    fn of_io(error: &io::Error) -> Option<Self> {
        if let Some(inner) = error.get_ref() {
            return match inner.downcast_ref::<io::Error>() {
                Some(io) => Self::of_io(io),
                None => inner.downcast_ref().map(Self::of_tls),
            }
            .or_else(|| Self::of_kind(error.kind()));
        }
        Self::of_kind(error.kind())
    }

    fn of_kind(kind: io::ErrorKind) -> Option<Self> {
        match kind {
            io::ErrorKind::ConnectionRefused => Some(Self::Refused),
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => Some(Self::Closed),
            _ => None,
        }
    }

    fn of_tls(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InvalidCertificate(reason) => Self::Certificate(reason.to_string()),
            rustls::Error::InvalidMessage(_) => Self::NotTls,
            other => Self::Tls(other.to_string()),
        }
    }

    /// What happened, for a person.
    pub(crate) fn text(&self, origin: &str) -> String {
        match self {
            Self::Refused => format!("{origin} refused the connection"),
            Self::NoSuchHost => format!("no address is known for {origin}"),
            Self::ConnectTimeout => format!("{origin} did not accept the connection in time"),
            Self::Certificate(reason) => {
                format!("the certificate of {origin} is not trusted ({reason})")
            }
            Self::NotTls => format!("{origin} does not speak TLS"),
            Self::Tls(reason) => format!("no secure connection to {origin}: {reason}"),
            Self::NoCertificates => format!(
                "no secure connection to {origin}: this machine has no certificate authorities"
            ),
            Self::Closed => format!("{origin} closed the connection"),
            Self::Other(reason) => format!("no answer from {origin}: {reason}"),
        }
    }

    /// What to do about it where that does not depend on who is asked.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Certificate(_) => Some(
                "add the authority that signed it to this machine, or set SSL_CERT_FILE to a \
                 file that holds it",
            ),
            Self::NotTls => Some("use http:// if the server is meant to speak plain HTTP"),
            Self::NoCertificates => {
                Some("install ca-certificates, or set SSL_CERT_FILE to a file that holds some")
            }
            _ => None,
        }
    }

    /// Whether trying again may help.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Refused | Self::NoSuchHost | Self::ConnectTimeout => true,
            Self::Closed | Self::Other(_) => true,
            Self::Certificate(_) | Self::NotTls | Self::Tls(_) | Self::NoCertificates => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_told_from_the_world() {
        for (url, want) in [
            ("http://localhost:1/v1", true),
            ("http://LOCALHOST./", true),
            ("http://127.8.0.1/", true),
            ("http://[::1]:8080/", true),
            ("http://box.localhost/", true),
            ("http://localhost.example/", false),
            ("https://10.0.0.1/", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), want, "{url}");
        }
    }
}
