/// How much of the repository the index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// Every file of the walk was read.
    Ready,
    /// The deadline came first: every path is known, only some contents are.
    Partial,
}

/// What an answer says about the index behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexStatus {
    pub state: IndexState,
    /// Files whose content is in the index, or was looked at and skipped.
    pub files: usize,
    /// Files the walk named.
    pub total: usize,
    /// Whether co-change and recency from the history were at hand.
    pub git_signals: bool,
}
