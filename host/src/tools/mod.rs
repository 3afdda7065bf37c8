//! Tools: which there are, and one call of one of them from the request to the audited outcome.

mod call;
mod fair;
mod judging;
mod ledger;
mod queue;
mod registry;
mod threads;

pub use call::{CallRequest, Mechanisms, Toolbox};
pub use cofferdam_core::journal::{Earlier, Journal};
pub use judging::Refused;
pub use registry::{
    Loaded, Registry, RegistryError, Sources, Tool, component_bytes, not_granted, read_bounded,
};
pub use threads::{CallThreads, Handover};
