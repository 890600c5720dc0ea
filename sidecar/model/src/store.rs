//! The models on this machine: list, verify, add, pull.
