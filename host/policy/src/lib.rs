//! Policies: what they say (source, words, file, set), what holds for one tool (effective) and where that is
//! written (origin), what is added to arguments before they are judged (complete), when a person must agree
//! first (approval), which arguments a schema lets be strings (schema), what
//! holds at each place of the arguments (rulings), and what follows for one call (judge). For reviewers: why a
//! call is denied (explain) and what would permit it (mend, edit), and what two sets of policies differ in (diff); and what of arguments the audit holds (redact).
#![forbid(unsafe_code)]

pub mod approval;
mod complete;
pub mod diff;
mod edit;
mod effective;
pub mod explain;
mod file;
pub mod judge;
pub mod mend;
mod origin;
mod redact;
pub mod rulings;
pub mod schema;
mod set;
mod source;
mod spelling;
#[cfg(test)]
mod tests;
mod words;

pub use approval::{Approvals, Facts, Reason, Seen, When};
pub use cofferdam_core::path::{BadPath, GuestPath};
pub use complete::Completion;
pub use edit::{Action, Edit};
pub use effective::ToolPolicy;
pub use judge::{Ask, Call, Cause, Denial, Expected, Permit, Verdict, judge};
pub use origin::{Origins, Place};
pub use redact::{ARGUMENTS_BYTES_MAX, VALUE_BYTES_MAX, redact};
pub use set::PolicySet;
pub use source::PolicyProblem;
pub use spelling::Spelled;
pub use words::{ArgumentClass, ComponentSource, PathUse, Safety};
