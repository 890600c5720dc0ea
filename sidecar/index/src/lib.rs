//! codegrep-index
