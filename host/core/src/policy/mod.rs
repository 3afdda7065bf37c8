//! Policies: what they say (source, words, file, set), what holds for one tool (effective), what is added to
//! arguments before they are judged (complete), what paths
//! may look like (path), which arguments a schema lets be strings (schema), and what follows for one call
//! (judge).

mod complete;
mod effective;
mod file;
pub mod judge;
pub mod path;
pub mod schema;
mod set;
mod source;
#[cfg(test)]
mod tests;
mod words;

pub use complete::Completion;
pub use effective::ToolPolicy;
pub use judge::{Call, Denial, Permit, Verdict, judge};
pub use path::{BadPath, GuestPath};
pub use set::PolicySet;
pub use source::PolicyProblem;
pub use words::{ArgumentClass, ComponentSource, PathUse, Safety};
