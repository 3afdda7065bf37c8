//! The trusted core: takes a permit and a job, keeps the authority of the call, speaks with the
//! worker that runs it, publishes what was sealed, and appends to the audit.
//!
//! It knows no channel, no model, no network and no configuration file. Reviewers read the judge
//! (`cofferdam-policy`) first and this next.

pub mod attachments;
pub mod audit;
pub mod calls;
pub mod files;
pub mod messaging;
pub mod publish;
pub mod sandbox;
pub mod shell;
mod stop;
