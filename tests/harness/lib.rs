//! The end-to-end harness: fixtures and the real binary, driven as its users drive it.
