//! Policies: what they say (source, classes, file, set), what holds for one tool (effective) and
//! where that is written (origin), what is added to arguments before they are judged (complete),
//! when a person must agree first (approval), which arguments a schema lets be strings (schema),
//! what holds at each place of the arguments (rulings), what a foreign command is run with
//! (command), which function is called (function), and what follows for one call (judge). Besides,
//! what of arguments the audit holds (redact). What reviewers read is made in `cofferdam-review`.
#![forbid(unsafe_code)]

pub mod approval;
mod classes;
mod command;
mod complete;
mod component;
mod effective;
mod file;
mod function;
pub mod grant;
pub mod judge;
mod limits_table;
mod origin;
mod outputs;
mod redact;
pub mod rulings;
pub mod schema;
mod set;
mod source;
#[cfg(test)]
mod tests;

pub use approval::{ApprovalCondition, Approvals, Facts, PathSnapshot, Reason};
pub use classes::{ArgumentClass, Imports, PathUse, Safety, UrlUse, spell_word};
pub use cofferdam_core::path::{BadPath, GuestPath};
pub use command::{CommandPolicy, Element};
pub use complete::Completion;
pub use component::ComponentSource;
pub use effective::{EntryPolicy, ToolPolicy, toml_key};
pub use function::FunctionPolicy;
pub use judge::{
    Cause, Denial, ExpectedEntry, JudgedCall, PendingPermit, Permit, PermittedCall, Verdict, judge,
};
pub use origin::{Origins, SourceLocation};
pub use redact::{ARGUMENTS_BYTES_MAX, VALUE_BYTES_MAX, digest_of, redact};
pub use set::PolicySet;
pub use source::PolicyProblem;
