//! Workflows as this program runs them: local files opened beneath their folders, attachments
//! gathered, tasks carried out.
//!
//! What a file says is `cofferdam_workflow`'s; what a call may do is the judge's. Here is what lies
//! between.

mod began;
mod catalog;
mod clock;
mod download;
mod duty;
mod executor;
mod files;
mod gather;
mod going_on;
mod in_turn;
mod load;
mod lock;
mod noting;
mod serving;
mod shown;
mod starter;
mod tools;
mod types;

pub use began::{PreparedRun, TakeUpError, new_run, take_up, trigger_of};
pub use catalog::{Catalog, OFFERED_FILES_MAX, OfferedWorkflow};
pub use download::check_addresses;
pub(crate) use executor::describe_end;
pub use executor::people::{await_sent, keep_and_send, reach_person, retry_reach};
pub use executor::{ExecuteError, Executor, NO_MODEL};
pub use files::{AttachableFolder, ENTRIES_MAX, LocalError, LocalFile};
pub use gather::{ByteSource, Gather, GatheredAttachment, ITEMS_MAX};
pub use in_turn::{MESSAGE_TEXT_BYTES_MAX, SUMMARY_BYTES_MAX};
pub use load::{LoadError, Loaded, load};
pub use lock::{NoRuns, RunLock};
pub use noting::end_of;
pub use serving::WorkflowService;
pub use shown::TEXT_BYTES_MAX;
pub use types::{AllowedTypes, AttachmentLimits};
