//! What tests stand on: a gateway in a folder of its own, the real program, guests that attack it, and
//! servers on loopback: Telegram's and a model's. Fakes are at the network's edge only.

pub mod guests;
pub mod home;
mod http;
pub mod kernel;
pub mod llm;
mod loopback;
pub mod needs;
pub mod program;
pub mod samples;
pub mod serving;
pub mod telegram;
pub mod workers;
