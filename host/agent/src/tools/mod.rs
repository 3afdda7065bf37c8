//! Tools: which there are, and one call of one of them from the request to the audited outcome.

mod approval;
mod call;
mod fair;
mod following;
mod judging;
mod queue;
mod reading;
mod registry;
mod sources;
mod threads;

pub use approval::{ApprovalRequest, Approver, Config, Decision, EXPIRES_MAX, SHOWN_UNITS_MAX, person};
pub use call::{CallRequest, Toolbox};
pub use cofferdam_core::journal::{Journal, JournalState};
pub use cofferdam_warden::calls::OutputKeeper;
pub use following::follow_work;
pub use reading::{POLICY_BYTES_MAX, read_bounded, read_component, read_policy};
pub use registry::{LoadFault, Loaded, RegisteredTool, Registry, RegistryError, check_granted, reason_off};
pub use sources::{FetchedComponents, Sources, component_bytes};
pub use threads::{CallThreads, Handover};
