//! The real binary, driven over its command line and its pipes.

mod agent;
mod cancel;
mod cli;
mod conversation;
#[cfg(unix)]
mod daemon;
mod doctor;
mod files;
mod hostile;
mod models;
mod overload;
#[cfg(unix)]
mod pipes;
mod roots;
mod schema;
mod sdk;
mod support;
mod terminal;
