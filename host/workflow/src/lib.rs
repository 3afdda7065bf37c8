//! Workflow files: read strictly, their templates rendered in two phases, their attachments merged.
//!
//! Pure: no file is opened here, no time is asked, nothing is sent. Files named by a file are read
//! by a function that the caller gives. `docs/workflows.md` is the operator's page.
//!
//! ```text
//! text ─► node ─► file ─► plan (phase one) ─► ready (phase two, before each task)
//! YAML    places  typed   what needs no tasks   the rest
//! ```
#![forbid(unsafe_code)]

pub mod attachment;
pub mod file;
mod graph;
mod node;
mod plan;
mod problem;
pub mod schedule;
mod schema;
pub mod template;
#[cfg(test)]
mod tests;

pub use file::{AGENT_FILES_MAX, TASKS_MAX};
pub use file::{Action, Agent, Input, SourceFile, Task, Workflow, WorkflowTrigger};
pub use file::{ApproveWork, SendWork, WaitWork};
pub use graph::mermaid;
pub use node::{FILE_BYTES_MAX, NODE_DEPTH_MAX, NODES_MAX};
pub use plan::{AgentWork, Context, PlannedArguments, RunPlan};
pub use plan::{PlannedAttachment, PlannedWork, ReadyAgent, ReadyAttachment};
pub use plan::{ReadyApprove, ReadySend, ReadyWait};
pub use problem::FileProblem;
pub use schema::schema;
