//! JSON-RPC 2.0 over a pair of pipes, one message a line.

mod connection;
mod input;
mod message;
mod methods;
mod outbox;

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use crate::core::{Engines, Event};
use crate::failure::Failure;

/// Lines read ahead.
const AHEAD: usize = 4;
/// How long a client may take to read the last answers.
const GOODBYE: Duration = Duration::from_secs(2);

/// Serves one client until it says `shutdown`, its input ends, or it stops taking answers.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    events: Sender<Event>,
    engines: Arc<Engines>,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::environment(format!("cannot serve: {error}"));
    let (sender, lines) = tokio::sync::mpsc::channel(AHEAD);
    // Blocks in a read until the process ends: nothing waits for it.
    thread::Builder::new()
        .name("read".into())
        .spawn(move || input::read_lines(input, &sender))
        .map_err(failed)?;
    let (outbox, writer) = outbox::Outbox::new();
    thread::Builder::new()
        .name("write".into())
        .spawn(move || writer.run(output))
        .map_err(failed)?;
    let client = methods::Client { events, engines, outbox: outbox.clone() };
    let module = methods::module(client.clone())
        .map_err(|error| Failure::internal(format!("a method is named twice: {error}")))?;
    // One thread: messages are taken in order, and all they do here is to put jobs on the queue.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(failed)?;
    runtime.block_on(connection::Connection::new(module, client).run(lines));
    outbox.flush(GOODBYE);
    Ok(())
}
