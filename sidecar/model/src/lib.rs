//! codegrep-model
