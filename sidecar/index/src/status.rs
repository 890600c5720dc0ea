/// How much of the repository the index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// Every file of the walk was looked at.
    Ready,
    /// The deadline came first: every path is known, only some contents are.
    Partial,
    /// Files changed since, or the deadline came before that was known.
    Stale,
}

/// What an answer says about the index behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexStatus {
    pub state: IndexState,
    /// Files that were looked at: indexed, or skipped for a reason.
    pub files: usize,
    /// Files that the walk named.
    pub total: usize,
    /// Whether co-change and recency from the history were at hand.
    pub git_signals: bool,
}
