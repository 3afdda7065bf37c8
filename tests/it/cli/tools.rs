//! `tools`: what can be called and what each is granted, for people and for programs.

use super::put;
use serde_json::{Value, json};
use support::guests;
use support::home::{Home, Ran, builtin_tools};

fn listed(home: &Home) -> Vec<Value> {
    let ran = home.run(&["tools", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let Value::Array(tools) = super::line(&ran) else { panic!("a list: {ran:?}") };
    tools
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn programs_find_the_same_fields_in_every_tool() {
    let home = Home::new();
    let tools = listed(&home);
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
    assert_eq!(names, builtin_tools(), "one for each policy, by name");
    for tool in &tools {
        assert_eq!(
            keys(tool),
            [
                "name",
                "available",
                "summary",
                "profile",
                "safety",
                "grants",
                "limits",
                "why",
                "component_sha256",
                "policy_sha256",
                "arguments",
                "result"
            ]
        );
        assert_eq!(tool["available"], true);
        assert_eq!(
            keys(&tool["limits"]),
            ["memory", "deadline", "written_bytes", "changes", "arguments", "result"]
        );
        assert_eq!(tool["arguments"]["additionalProperties"], false);
        for property in tool["arguments"]["properties"].as_object().expect("arguments").values() {
            assert!(property["description"].is_string(), "every argument is explained: {property}");
        }
        for sha256 in ["component_sha256", "policy_sha256"] {
            assert!(tool[sha256].as_str().is_some_and(|hex| hex.len() == 64), "{tool}");
        }
    }
}

#[test]
fn what_is_listed_is_what_the_policies_say() {
    let home = Home::new();
    let tools = listed(&home);
    let writing = json!([{ "guest": "/shared", "access": "atomic-write" }, { "guest": "/tmp", "access": "atomic-write" }]);
    let reading =
        json!([{ "guest": "/shared", "access": "read-only" }, { "guest": "/tmp", "access": "read-only" }]);
    let expected = [
        (
            "attachment_save",
            json!(["index", "path"]),
            json!({ "profile": "file-read-write", "safety": "side-effecting",
                "grants": { "mounts": writing, "interfaces": ["turn-attachments"] },
                "limits": { "memory": "32 MiB", "deadline": "1m", "written_bytes": "50 MiB", "changes": 16, "arguments": "1 MiB", "result": "4 MiB" } }),
        ),
        (
            "file_read",
            json!(["path"]),
            json!({ "profile": "file-read-only", "safety": "read-only",
                "grants": { "mounts": reading, "interfaces": [] },
                "limits": { "memory": "32 MiB", "deadline": "30s", "written_bytes": "50 MiB", "changes": 16, "arguments": "1 MiB", "result": "4 MiB" } }),
        ),
        (
            "file_write_bytes",
            json!(["path", "content_base64"]),
            json!({ "profile": "file-read-write", "safety": "side-effecting",
                "grants": { "mounts": writing, "interfaces": ["turn-attachments"] },
                "limits": { "memory": "64 MiB", "deadline": "1m", "written_bytes": "8 MiB", "changes": 16, "arguments": "12 MiB", "result": "4 MiB" } }),
        ),
    ];
    for (name, required, expected) in &expected {
        let tool = tools.iter().find(|tool| tool["name"] == *name).expect("listed");
        for key in keys(expected) {
            assert_eq!(tool[key], expected[key], "{name} {key}");
        }
        assert_eq!(tool["arguments"]["required"], *required, "{name}");
    }
}

#[test]
fn the_hashes_are_those_of_the_component_and_of_the_two_policy_files() {
    let policy = "safety = \"read-only\"\n[arguments]\nname = \"value\"\n";
    let home = Home::new().tool("hello", "file-read-only", "minimal", policy);
    let tools = listed(&home);
    let hello = tools.iter().find(|tool| tool["name"] == "hello").expect("listed");
    assert_eq!(hello["component_sha256"], guests::sha256(&guests::bytes("minimal")));
    let hash = |file: &str| guests::sha256(&std::fs::read(home.policies_dir().join(file)).expect("there"));
    let both = hash("profiles/file-read-only.toml") + &hash("tools/hello.toml");
    assert_eq!(hello["policy_sha256"], guests::sha256(both.as_bytes()));

    // The audit names the very same.
    assert_eq!(home.call(&["hello", "name=you"]).code, Some(0));
    let record = home.audit().pop().expect("one");
    assert_eq!(record["component_sha256"], hello["component_sha256"]);
    assert_eq!(record["policy_sha256"], hello["policy_sha256"]);
    assert_eq!(record["profile"], hello["profile"]);
}

#[test]
fn people_read_profile_grants_and_limits() {
    let home = Home::new();
    let ran = home.run(&["tools"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let plain: String = ran
        .stdout
        .lines()
        .map(|line| match line.trim().strip_prefix("component ") {
            Some(hex) => {
                assert!(hex.len() == 12 && hex.bytes().all(|b| b.is_ascii_hexdigit()), "{line}");
                "    component HASH\n".to_owned()
            }
            None => format!("{line}\n"),
        })
        .collect();
    super::help::compare("tools", &plain);
}

/// No file may grow beyond 4 KiB, in memory either: the system ends who writes more.
const SMALL: [&str; 4] = ["sh", "-c", "ulimit -f 8; exec \"$@\"", "sh"];

#[test]
fn who_only_looks_unpacks_no_worker() {
    let home = Home::new();
    put(&home, "/shared/a", b"x");
    for (words, code) in [
        (&["tools"][..], Some(0)),
        (&["policy", "check"], Some(0)),
        (&["policy", "explain", "file_read", "path=/shared/a"], Some(0)),
        (&["call", "file_read", "path=/shared/a"], None),
    ] {
        let ran = Ran::from(home.command_under(&SMALL, words).output().expect("the program starts"));
        assert_eq!(ran.code, code, "{words:?}: {ran:?}");
    }
}

#[test]
fn a_tool_that_does_not_load_keeps_its_place_and_its_reason() {
    let wrong = format!(
        "schema = 1\ntool = \"hello\"\nprofile = \"file-read-only\"\nwhy = \"a test\"\nsafety = \"read-only\"\n\
         component = {{ file = \"hello.wasm\", sha256 = \"{}\" }}\n[arguments]\nname = \"value\"\n",
        "0".repeat(64)
    );
    let found = guests::sha256(&guests::bytes("minimal"));
    for (policy, guest, said) in [
        (wrong.as_str(), Some("minimal"), &*format!("has sha256 {found}, the policy pins 000")),
        (&wrong, None, "cannot read component hello.wasm"),
        (&wrong.replace("\"hello.wasm\"", "\"../hello.wasm\""), None, "cannot read component ../hello.wasm"),
        (&wrong.replace("{ file", "\"builtin\" # { file"), None, "no builtin component hello"),
        (
            &wrong.replace(&"0".repeat(64), &found).replace("tool = \"hello\"", "tool = \"hallo\""),
            Some("minimal"),
            "calls itself hello",
        ),
        (
            &wrong.replace(&"0".repeat(64), &found).replace("name = ", "nome = "),
            Some("minimal"),
            "\"name\" can hold text and is not classified",
        ),
    ] {
        let home = Home::new().policy("tools/hello.toml", policy);
        if let Some(guest) = guest {
            std::fs::write(home.policies_dir().join("tools/hello.wasm"), guests::bytes(guest))
                .expect("writable");
        }
        let name = if policy.contains("hallo") { "hallo" } else { "hello" };
        let tools = listed(&home);
        let tool = tools.iter().find(|tool| tool["name"] == name).expect("listed");
        assert_eq!(keys(tool), ["name", "available", "why"]);
        assert_eq!(tool["available"], false);
        for place in ["tools/hello.toml:", said] {
            assert!(tool["why"].as_str().is_some_and(|why| why.contains(place)), "{place}: {tool}");
        }
        let text = home.run(&["tools"]);
        assert!(
            text.code == Some(0) && text.stdout.contains(&format!("{name}  UNAVAILABLE: tools/hello.toml")),
            "{text:?}"
        );
        let check = home.run(&["policy", "check"]);
        assert!(check.code == Some(3) && check.stdout.contains(said), "{check:?}");
        let call = home.call(&[name, "name=you"]);
        assert_eq!((call.code, call.error().as_str()), (Some(1), "tool_unavailable"), "{call:?}");
        // The others are served.
        put(&home, "/shared/a", b"x");
        assert_eq!(home.call(&["file_read", "path=/shared/a"]).code, Some(0));
    }
}
