//! Models from end to end: the real program against a model's server on loopback that speaks all
//! three APIs, checks every request, and misbehaves as told.
//!
//! Each test ends with [`world::World::end`], which holds what is true of every run: no request
//! that the real API would refuse, a sound audit, and the key nowhere but in the headers of
//! requests.

mod aimock;
mod answers;
mod configuration;
mod failures;
mod parts;
mod real;
mod recorded;
mod serving;
mod world;
