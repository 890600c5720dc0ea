//! The llama.cpp backend with a real model, SmolLM2-135M-Instruct.

mod adapter;
mod cancel;
mod common;
mod episode;
mod grammar;
mod score;
mod texts;
mod together;
mod turns;
