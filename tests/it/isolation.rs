//! What the kernel holds a gateway and its workers to: tried for real, required or told to be
//! missing, and shown by `doctor`.

mod confined;
mod doctor;
mod killed;
mod live;
mod memory_files;
mod require;
mod trials;

use serde_json::Value;
use support::home::{Home, Ran};

/// `doctor --json`, whatever it found.
fn doctor(home: &Home) -> (Ran, Value) {
    let ran = home.run(&["doctor", "--json"]);
    let value = ran.json();
    (ran, value)
}

/// The findings as `section: what`.
fn findings(value: &Value) -> Vec<String> {
    let all = value["findings"].as_array().expect("a list").iter();
    all.map(|finding| format!("{}: {}", text(&finding["section"]), text(&finding["what"]))).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("text: {value}"))
}
