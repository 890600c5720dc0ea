//! A model that plays a file of turns, for tests and demos. A real implementation: it keeps a
//! token stream, a context window and a cache, checks what it is sent, holds its own text to the
//! grammar it is asked to follow, and fails loudly when the script runs out.

mod chat;
pub mod gbnf;
mod script;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use codegrep_agent::{Chat, Model, ModelError, ModelInfo};
use codegrep_tree::{Watch, regular};

use script::{HINT, Script};

/// More than this is no script.
const MOST_BYTES: u64 = 16 << 20;

/// Opens a script.
///
/// ```text
/// # Settings, each optional, before the first turn.
/// name: demo
/// capacity: 4096
///
/// --- turn
/// expect: a text that must stand in what was sent since the turn before
/// refuse: a text that must not
/// asked: calls                  # or calls-or-answer, answer, free: the constraint it must be under
/// unconstrained                 # the text need not follow the grammar
/// delay: 200ms
/// fail: what an unavailable model says, instead of a text
///
/// <tool_call>
/// {"name": "grep", "arguments": {"pattern": "x"}}
/// </tool_call>
/// --- score
/// -1.5 -3
/// ```
///
/// A blank line ends a turn's directives; without directives the text begins at once. Every
/// conversation plays the script from its start; a turn that is stopped while it is delayed counts
/// as played. A token is up to four bytes.
pub fn open(path: &Path) -> Result<Arc<dyn Model>, ModelError> {
    let text = regular::read_text(path, MOST_BYTES).map_err(|error| ModelError::Unavailable {
        message: format!("{} cannot be read: {error}", path.display()),
        hint: HINT.to_owned(),
    })?;
    let name = path.file_stem().map_or_else(Default::default, |s| s.to_string_lossy().into_owned());
    Ok(Arc::new(Scripted::parse(&name, &text)?))
}

/// A script, ready to be played any number of times.
#[derive(Debug, Clone)]
pub struct Scripted {
    script: Arc<Script>,
}

impl Scripted {
    /// Reads the form described at [`open`]; `name` unless the script gives itself one.
    pub fn parse(name: &str, text: &str) -> Result<Self, ModelError> {
        Ok(Self { script: Arc::new(script::parse(name, text)?) })
    }
}

impl Model for Scripted {
    fn info(&self) -> ModelInfo {
        ModelInfo { name: self.script.name.clone(), hash: None, adapter: None }
    }

    fn open(&self, watch: &Watch) -> Result<Box<dyn Chat>, ModelError> {
        watch.check()?;
        Ok(Box::new(chat::Playing::new(self.script.clone())))
    }
}
