//! Whatever keeps a tool from loading is told with the tool, the rule that is broken, and the line
//! that mends it: a table of mistakes, and each suggested line written down and tried.

use super::hello_policy;
use support::guests;
use support::home::Home;

/// A gateway with `hello` under this policy text and a profile `p` with this in it.
fn home(policy: &str, profile: &str) -> Home {
    let head = "schema = 1\nprofile = \"p\"\nwhy = \"a test\"\n";
    let home =
        Home::new().policy("profiles/p.toml", &format!("{head}{profile}")).policy("tools/hello.toml", policy);
    std::fs::write(home.policies_dir().join("tools/hello.wasm"), guests::bytes("minimal")).expect("ours");
    home
}

/// The one problem that `policy check` tells.
fn problem(home: &Home) -> String {
    let ran = home.run(&["policy", "check"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let problems: Vec<_> = ran.stdout.lines().filter_map(|line| line.strip_prefix("problem: ")).collect();
    assert_eq!(problems.len(), 1, "{ran:?}");
    problems[0].to_owned()
}

const READING: &str =
    "mounts = [ { guest = \"/shared\", access = \"read-only\" } ]\n[limits]\nmemory = \"16 MiB\"\n";
const NAME: &str = "[arguments]\nname = \"value\"\n";

#[test]
fn each_mistake_is_told_with_tool_rule_and_line() {
    let sound = hello_policy("p", NAME);
    let sha256 = guests::sha256(&guests::bytes("minimal"));
    let check = |from: &str, to: &str, said: &[&str]| {
        assert!(sound.contains(from), "{from}");
        let told = problem(&home(&sound.replacen(from, to, 1), READING));
        assert!(told.starts_with("tools/hello.toml:"), "{told}");
        for said in said {
            assert!(told.contains(said), "{to:?}: {said:?} in {told:?}");
        }
    };
    // What is wrong, the tool, the rule, the line.
    check(NAME, "", &["hello: ", "\"name\" can hold text and is not classified", "name = \"value\""]);
    check(
        "name = \"value\"",
        "name = \"value\"\nx = \"value\"",
        &["hello has no argument \"x\"", "remove the line"],
    );
    check(
        "name = \"value\"",
        "name = { path = \"write\" }",
        &[":8: hello: ", "grants no mount for writing", "{ path = \"read\" }"],
    );
    check(
        "profile = \"p\"",
        "profile = \"q\"",
        &[":3: hello: no profile \"q\"", "write one of ", "file-read-only, file-read-write, messaging, p"],
    );
    check("\"read-only\"", "\"harmless\"", &[":5: ", "`harmless`", "`read-only`"]);
    check(
        NAME,
        &format!("{NAME}[limits]\nmemory = \"17 MiB\"\n"),
        &["hello: memory = \"17 MiB\" is above profile p's 16 MiB", "write at most \"16 MiB\""],
    );
    check(
        &sha256,
        &"0".repeat(64),
        &[
            ": hello: component hello.wasm has sha256 ",
            "the policy pins 000",
            &format!("component = {{ file = \"hello.wasm\", sha256 = \"{sha256}\" }}"),
        ],
    );
    check(
        "hello.wasm",
        "other.wasm",
        &[": hello: cannot read component other.wasm", "component = { file = "],
    );
    check(
        "tool = \"hello\"",
        "tool = \"goodbye\"",
        &[": goodbye: the component calls itself hello", "tool = \"hello\""],
    );
    check("tool = \"hello\"", "tool = \"Hello\"", &[":2: Hello: \"Hello\" is not a tool name", "lower-case"]);
    check(
        "why = \"a test\"",
        "why = \"\"",
        &[":4: hello: why is empty", "why = \"saves what the user sent\""],
    );
    check("schema = 1", "schema = 7", &[":1: hello: ", "write that: schema = 1"]);
    for (field, line) in [
        ("schema = 1\n", "schema = 1"),
        ("why = \"a test\"\n", "why = \"saves what the user sent\""),
        ("safety = \"read-only\"\n", "safety = \"read-only\""),
        ("profile = \"p\"\n", "profile = \"file-read-only\""),
        ("tool = \"hello\"\n", "tool = \"my_tool\""),
    ] {
        check(field, "", &["missing field `", "add a line such as ", line]);
    }
    let (before, component) = sound.split_once("component = ").expect("a component");
    let component = format!("component = {}", component.lines().next().expect("a line"));
    assert!(before.contains("safety"));
    check(
        &component,
        "component = \"builtin\"",
        &[": hello: this binary has no builtin component", "component = { file = \"hello.wasm\""],
    );
    check(&component, "", &["missing field `component`", "component = \"builtin\""]);
}

#[test]
fn what_a_profile_lacks_is_told_and_the_told_line_works() {
    let policy =
        hello_policy("p", "[arguments]\nbehaviour = \"value\"\npath = \"value\"\nbytes = \"value\"\n")
            .replace("hello", "hostile")
            .replace("\"read-only\"", "\"side-effecting\"\nimports = \"strict\"");
    let sha256 = guests::sha256(&guests::bytes("minimal"));
    let policy = policy.replace(&sha256, &guests::sha256(&guests::bytes("hostile")));
    let with = |profile: &str| {
        let head = "schema = 1\nprofile = \"p\"\nwhy = \"a test\"\n";
        let home = Home::new()
            .policy("profiles/p.toml", &format!("{head}{profile}"))
            .policy("tools/hostile.toml", &policy);
        std::fs::write(home.policies_dir().join("tools/hostile.wasm"), guests::bytes("hostile"))
            .expect("ours");
        home
    };
    let told = problem(&with("mounts = []\n"));
    assert!(told.starts_with("tools/hostile.toml: hostile: the component does not load: "), "{told}");
    // Each import, with the line that grants it; written down as told, the tool loads.
    let lines: Vec<&str> = told.split("grant the interface in the profile p: ").skip(1).collect();
    let lines: Vec<&str> = lines.iter().map(|line| line.split("; ").next().unwrap_or(line)).collect();
    assert_eq!(lines.len(), 2, "{told}");
    let profile = lines.join("\n");
    assert!(profile.contains("interfaces = ") && profile.contains("mounts = "), "{profile}");
    let home = with(&profile);
    let ran = home.run(&["policy", "check"]);
    // What is left is its sockets, which nothing grants.
    let left = problem(&home);
    let imports: Vec<&str> = left.split("it imports `").skip(1).collect();
    assert!(!imports.is_empty() && imports.iter().all(|i| i.starts_with("wasi:sockets/")), "{ran:?}");
}
