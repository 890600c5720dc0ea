//! One process per user that holds indexes and models for all of the user's clients.
//!
//! `codegrep serve` is thin where it can be: it meets the daemon at a socket that only its user can
//! open ([`socket`]), says what it was given ([`hello`]), and from then on passes bytes
//! ([`relay`]). The daemon ([`host`]) serves the front that was asked for over that socket, with
//! the settings of the client. Where no daemon can be had, the caller serves alone.

#[cfg(unix)]
mod hello;
#[cfg(unix)]
mod host;
#[cfg(unix)]
mod hubs;
#[cfg(unix)]
mod relay;
#[cfg(unix)]
mod socket;

#[cfg(unix)]
pub use hello::{Ask, Reply, Status};
#[cfg(unix)]
pub use host::run;
#[cfg(unix)]
pub use relay::{ask, attach, pass};
