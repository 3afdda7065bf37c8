//! What tests stand on: a gateway in a folder of its own, the real program, guests that attack it, and
//! a Telegram server on loopback. Fakes are at the network's edge only.

pub mod guests;
pub mod home;
pub mod kernel;
pub mod needs;
pub mod program;
pub mod samples;
pub mod serving;
pub mod telegram;
pub mod workers;
