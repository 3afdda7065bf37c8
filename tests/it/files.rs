//! Files as people meet them: what is saved, read and refused, and what a full disk, a crash, a
//! second process or somebody with a shell beside the gateway can do to them.
//!
//! Every test runs the real program on a folder of its own. What needs root, mounts or a tracer
//! says so through `support::needs`.

mod any_fault;
mod changing;
mod check;
mod copy;
mod crash;
mod delete;
mod disk;
mod download;
mod each_tool;
mod each_worker;
mod edit;
mod faults;
mod flipping;
mod info;
mod layout;
mod list;
mod modes;
mod mounts;
mod move_;
mod namespace;
mod oddities;
mod parallel;
mod paused;
mod power;
mod quota;
mod races;
mod read;
mod read_faults;
mod read_lines;
mod refusals;
mod reply;
mod save;
mod scenario;
mod search;
mod start;
mod targets;
mod tool_change;
mod torn;
pub(crate) mod tracer;
mod write;
mod write_bytes;
