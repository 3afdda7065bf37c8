//! What must hold for any bytes that reach the pure parts of the gateway: one file a fuzz target,
//! each a plain function that panics where its claim does not hold.
//!
//! They run in two ways: under libFuzzer (`fuzz/fuzz_targets`), and on the committed corpus with
//! mutations of it in `cargo test` ([`corpus`]). Nothing here is part of the gateway.
#![forbid(unsafe_code)]

mod addendum;
mod arguments;
mod argv;
mod audit_lines;
pub mod corpus;
mod guest_paths;
mod host_calls;
mod oracle;
mod policy_files;
mod recipients;
mod schemas;
mod tree;
mod wit_values;
mod workflow_files;
mod workflow_patterns;
mod workflow_templates;

pub use addendum::addendum;
pub use arguments::arguments;
pub use argv::argv;
pub use audit_lines::audit_lines;
pub use guest_paths::guest_paths;
pub use host_calls::host_calls;
pub use policy_files::policy_files;
pub use recipients::recipients;
pub use schemas::schemas;
pub use wit_values::wit_values;
pub use workflow_files::workflow_files;
pub use workflow_patterns::workflow_patterns;
pub use workflow_templates::workflow_templates;

/// A check: returns if its claims hold for these bytes.
pub type Check = fn(&[u8]);

/// Each target of this crate with its check.
pub const CHECKS: &[(&str, Check)] = &[
    ("addendum", addendum),
    ("arguments", arguments),
    ("argv", argv),
    ("audit_lines", audit_lines),
    ("guest_paths", guest_paths),
    ("host_calls", host_calls),
    ("policy_files", policy_files),
    ("recipients", recipients),
    ("schemas", schemas),
    ("wit_values", wit_values),
    ("workflow_files", workflow_files),
    ("workflow_patterns", workflow_patterns),
    ("workflow_templates", workflow_templates),
];

/// Targets whose checks live in the host crate, beside the types that never leave it; the targets
/// include its files.
pub const HOST_TARGETS: &[&str] =
    &["addresses", "discord_events", "mcp_messages", "telegram_updates", "worker_protocol"];

/// Text from outside that reached a message: one line without characters that move or hide the
/// rest.
fn assert_plain(said: &str) {
    assert!(!said.chars().any(cofferdam_core::text::is_deceptive), "not plain: {said:?}");
}
