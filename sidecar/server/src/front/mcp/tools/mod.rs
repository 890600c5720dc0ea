//! The tools: one file each. A tool is a request of the wire in an agent's words.

mod find_files;
mod glob;
mod grep;
mod read;

use std::sync::{Arc, LazyLock};

use codegrep_plugin_sdk::Method;
use rmcp::model::{Tool as Listed, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use find_files::FindFiles;
pub use glob::Glob;
pub use grep::Grep;
pub use read::Read;

use super::roots::Roots;
use crate::core::Serve;
use crate::failure::Failure;

/// A tool's arguments, and the request that they stand for.
pub trait Tool: DeserializeOwned + JsonSchema + 'static {
    type Request: Serve;
    const NAME: &'static str;
    const TITLE: &'static str;
    /// Read by a model that decides whether to call it.
    const DESCRIPTION: &'static str;

    /// The request, about nothing outside of `roots`.
    fn request(self, roots: &Roots) -> Result<<Self::Request as Method>::Params, Failure>;

    /// The answer in as few words as will do.
    fn text(answer: &<Self::Request as Method>::Response) -> String;
}

/// What `tools/list` says. Every call looks its tool up here.
pub static LISTED: LazyLock<Vec<Listed>> =
    LazyLock::new(|| vec![of::<FindFiles>(), of::<Grep>(), of::<Glob>(), of::<Read>()]);

fn of<T: Tool>() -> Listed
where
    <T::Request as Method>::Response: 'static,
{
    let annotations = ToolAnnotations::with_title(T::TITLE)
        .read_only(true)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    Listed::new(T::NAME, T::DESCRIPTION, Arc::default())
        .with_title(T::TITLE)
        .with_input_schema::<T>()
        .with_output_schema::<<T::Request as Method>::Response>()
        .with_annotations(annotations)
}

/// How a file is shown: below its root, or whole where there are several roots.
fn shown(root: &str, path: &str, several: bool) -> String {
    if several { format!("{}/{path}", root.trim_end_matches(['/', '\\'])) } else { path.to_owned() }
}

/// Whether files of more than one root are among these.
fn several<'a>(mut roots: impl Iterator<Item = &'a str>) -> bool {
    let first = roots.next();
    roots.any(|root| Some(root) != first)
}
