//! Policies: what they say (file), what paths may look like (path), which arguments a schema lets be
//! strings (schema), and what follows for one call (judge).

pub mod file;
pub mod judge;
pub mod path;
pub mod schema;
#[cfg(test)]
mod tests;

pub use file::{ArgumentClass, ComponentSource, PathUse, PolicyProblem, PolicySet, Safety, ToolPolicy};
pub use judge::{Call, Denial, Permit, Verdict, judge};
pub use path::{BadPath, GuestPath};
