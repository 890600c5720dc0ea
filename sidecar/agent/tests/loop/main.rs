//! The loop on real folders, with the scripted model: every way a run can go and end.

mod given;

mod answers;
mod cancel;
mod episode;
mod example;
mod hostile;
mod limits;
mod pipeline;
mod stops;
mod transcript;
