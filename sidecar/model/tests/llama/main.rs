//! The llama.cpp backend with a real model, SmolLM2-135M-Instruct.

mod common;
mod turns;
