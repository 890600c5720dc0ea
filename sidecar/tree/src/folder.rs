use crate::path::is_git_dir;
use crate::{PathError, RepoPath};

/// One folder as it lies there, before any ignore rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folder {
    /// In no particular order; `.git` is never among them.
    pub items: Vec<Item>,
    /// Names that no [`RepoPath`] can hold, made printable, and why.
    pub unnamed: Vec<(String, PathError)>,
    /// Whether it is the top of a git repository: rules of folders above do not reach into it.
    pub is_repository: bool,
    /// `.gitignore` files from above the tree's root that hold here, outermost first.
    pub outer_rules: Vec<OuterRules>,
}

/// An entry of a [`Folder`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub name: String,
    pub kind: ItemKind,
}

/// What an [`Item`] is, links not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// `size` in bytes; `stamp` as in [`Entry`].
    File {
        size: u64,
        stamp: u64,
    },
    Dir,
    Link,
    /// A pipe, socket or device.
    Special,
}

/// A `.gitignore` that lies above a tree's root, in the git repository that holds the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OuterRules {
    /// From the folder that holds the `.gitignore` down to the tree's root, such as `packages/app`.
    pub below: String,
    pub text: Vec<u8>,
}

impl Folder {
    /// Puts an entry where it belongs: git's own folder and what no [`RepoPath`] can hold are kept
    /// apart.
    pub(crate) fn add(&mut self, name: &str, kind: ItemKind) {
        if is_git_dir(name) {
            self.is_repository = true;
            return;
        }
        match RepoPath::root().child(name) {
            Ok(_) => self.items.push(Item { name: name.to_owned(), kind }),
            Err(why) => self.unnamed.push((name.escape_debug().to_string(), why)),
        }
    }

    /// Keeps a name that is not UTF-8 apart.
    pub(crate) fn add_not_utf8(&mut self, name: &str) {
        let name = name.escape_debug().to_string();
        self.unnamed.push((name.clone(), PathError::NotUtf8(name)));
    }
}
