//! A tool for its author: what a component is and takes (`inspect`), what a case expects (`case`),
//! and what came of its call otherwise (`compare`). Nothing here runs a tool.

mod case;
mod compare;
mod inspect;

pub use case::{Case, CaseContent, Expectation, ExpectedFile};
pub use compare::{WorkspaceFiles, differences};
pub use inspect::Inspected;
