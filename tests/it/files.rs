//! Files as people meet them: what is saved, read and refused, and what a full disk, a crash, a second
//! process or somebody with a shell beside the gateway can do to them.
//!
//! Every test runs the real program on a folder of its own. What needs root, mounts or a tracer says so
//! through `support::needs`.

mod any_fault;
mod check;
mod crash;
mod disk;
mod download;
mod faults;
mod layout;
mod modes;
mod mounts;
mod namespace;
mod oddities;
mod parallel;
mod paused;
mod power;
mod quota;
mod races;
mod read;
mod read_faults;
mod refusals;
mod save;
mod scenario;
mod start;
mod targets;
mod torn;
mod tracer;
mod write_bytes;
