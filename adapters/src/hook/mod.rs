//! The prompt hook: an agent hands over what its user wrote, and takes a block of files in the one
//! form it accepts.

mod clients;
mod emit;
mod input;
mod sessions;
mod task;

pub use clients::{CLIENTS, Client, client};
pub use emit::{MOST_CHARS, emit};
pub use input::{InputError, Prompt};
pub use sessions::Sessions;
pub use task::is_task;
