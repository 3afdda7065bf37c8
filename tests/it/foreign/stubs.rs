//! What a component imports and its profile does not grant is there, refuses when it is called, and
//! is reported; `imports = "strict"` refuses to load.

use super::{does_not_load, tool};

/// A tool that imports `backdoor:host/shell` and calls it when it is called.
fn shell(imports: &str) -> support::home::Home {
    tool("examples/unknown_import", "mounts = []", &format!("safety = \"read-only\"\n{imports}\n"))
}

#[test]
fn an_unknown_import_ends_the_guest_that_calls_it() {
    let said = "it called run of `backdoor:host/shell@0.1.0`, which is not granted to this tool";
    does_not_load(&shell(""), said);
}

#[test]
fn strict_refuses_to_load() {
    does_not_load(&shell("imports = \"strict\""), "it imports `backdoor:host/shell@0.1.0`");
}
