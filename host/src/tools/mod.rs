//! Tools: which there are, and one call of one of them from the request to the audited outcome.

mod call;
mod fair;
mod ledger;
mod queue;
mod registry;
mod threads;

pub use call::{CallRequest, Toolbox};
pub use cofferdam_core::journal::{Earlier, Journal};
pub use registry::{Loaded, Registry, RegistryError, Sources, Tool};
pub use threads::{CallThreads, Handover};
