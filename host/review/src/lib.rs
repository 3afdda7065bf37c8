//! What reviewers read: why a call is denied (`explain`) and what would permit it (`mend`, `edit`),
//! what two sets of policies differ in (`diff`), a page about them all (`report`), findings for
//! code scanning (`sarif`), what was recorded (`audit`), and what authors try (`tool`). Nothing
//! here decides: what is told comes from the judge and the warden, or is tried on the judge.
#![forbid(unsafe_code)]

#[cfg(feature = "warden")]
pub mod audit;
pub mod diff;
pub mod edit;
pub mod explain;
pub mod mend;
pub mod report;
pub mod sarif;
#[cfg(test)]
mod tests;
#[cfg(feature = "warden")]
pub mod tool;
