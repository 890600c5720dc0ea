//! codegrep-plugin-sdk
