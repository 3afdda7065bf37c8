//! ripgrep as a tool, with the policy of `docs/writing-a-tool.md`. Its component is built apart, since that
//! takes minutes: `cargo install ripgrep --target wasm32-wasip2 --no-default-features --root DIR`, then
//! `RIPGREP_WASM=DIR/bin/rg.wasm`.

use serde_json::{Value, json};
use std::path::Path;
use support::guests;
use support::home::Home;
use support::needs;

/// The policy of the guide, for the component at hand.
fn policy(sha256: &str) -> String {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/writing-a-tool.md");
    let guide = std::fs::read_to_string(guide).expect("there");
    let policies = guide.split("```toml\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let policy = policies.into_iter().find(|text| text.contains("tool = \"rg\"")).expect("the guide has it");
    assert!(policy.contains("sha256 = \"…\""), "{policy}");
    policy.replace("sha256 = \"…\"", &format!("sha256 = \"{sha256}\""))
}

#[test]
fn the_policy_of_the_guide_is_sound() {
    let home = Home::new().policy("tools/rg.toml", &policy(&"0".repeat(64)));
    let checked = home.run(&["policy", "check"]);
    let said = checked.stdout.lines().find(|line| line.contains("tools/rg.toml")).expect("it is told");
    assert!(said.contains("cannot read component rg.wasm"), "nothing else is wrong: {said}");
}

#[test]
fn ripgrep_finds_lines() {
    let Some(file) = std::env::var_os("RIPGREP_WASM") else {
        if std::env::var_os("CI").is_none() {
            needs::available("foreign::ripgrep", "RIPGREP_WASM, a component of ripgrep", false);
        }
        return;
    };
    let bytes = std::fs::read(&file).expect("RIPGREP_WASM is a file");
    let home = Home::new().policy("tools/rg.toml", &policy(&guests::sha256(&bytes)));
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
