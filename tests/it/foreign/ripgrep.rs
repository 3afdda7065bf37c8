//! ripgrep as a tool, with the policy of `docs/writing-a-tool.md`. Plain cargo builds its
//! component, once, before the tests: `cargo xtask tools`.

use serde_json::{Value, json};
use std::path::Path;
use support::guests::{policy_of_the_guide, sha256};
use support::home::Home;
use support::needs;

#[test]
fn the_policy_of_the_guide_is_sound() {
    let home = Home::new().policy("tools/rg.toml", &policy_of_the_guide("rg", &"0".repeat(64)));
    let checked = home.run(&["policy", "check"]);
    let said = checked.stdout.lines().find(|line| line.contains("tools/rg.toml")).expect("it is told");
    assert!(said.contains("cannot read component rg.wasm"), "nothing else is wrong: {said}");
}

#[test]
fn ripgrep_finds_lines() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/ripgrep/bin/rg.wasm");
    if !needs::available("foreign::ripgrep", "ripgrep of crates.io, by `cargo xtask tools`", file.exists()) {
        return;
    }
    let bytes = std::fs::read(&file).expect("readable");
    let home = Home::new().policy("tools/rg.toml", &policy_of_the_guide("rg", &sha256(&bytes)));
    std::fs::write(home.policies_dir().join("tools/rg.wasm"), bytes).expect("writable");
    std::fs::create_dir_all(home.host("/shared/notes")).expect("writable");
    std::fs::write(home.host("/shared/notes/a.txt"), "one\n--pre is an option\nTHREE\n").expect("writable");
    let found = |arguments: Value| {
        let ran = home.call(&["rg", "--args", &arguments.to_string()]);
        let json = ran.json();
        let lines = json["lines"].as_array().unwrap_or_else(|| panic!("{ran:?}")).clone();
        let matches = lines.iter().filter(|line| line["type"] == "match");
        matches
            .map(|line| line["data"]["lines"]["text"].as_str().expect("text").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(found(json!({ "pattern": "--pre", "paths": ["/shared"] })), ["--pre is an option\n"]);
    assert_eq!(found(json!({ "pattern": "three", "paths": ["/shared"], "ignore_case": true })), ["THREE\n"]);
    assert_eq!(found(json!({ "pattern": "nowhere", "paths": ["/shared"] })), Vec::<String>::new());
    let refused = |arguments: Value| home.call(&["rg", "--args", &arguments.to_string()]);
    assert_eq!(refused(json!({ "pattern": "(", "paths": ["/shared"] })).error(), "failed");
    assert_eq!(refused(json!({ "pattern": "x", "paths": ["/etc"] })).error(), "path_denied");
}
