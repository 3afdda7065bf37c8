//! Components that describe themselves in ways that must not load: each says why, the others still
//! work.

use super::chat::Chat;
use std::net::TcpListener;
use std::time::Instant;
use support::guests;
use support::home::Home;

const POLICY: &str = "safety = \"read-only\"\n";

/// A gateway with this odd component under a policy of that name.
fn odd(name: &str) -> Home {
    Home::new().tool(name, "file-read-only", &format!("examples/{name}"), POLICY)
}

/// The component does not load, `check` and `call` say so in these words, and another tool works.
pub(super) fn does_not_load(home: &Home, name: &str, place: &str, says: &str) {
    let started = Instant::now();
    let checked = home.run(&["policy", "check"]);
    assert_eq!(checked.code, Some(3), "{name}: {checked:?}");
    let problems: Vec<&str> = checked.stdout.lines().filter(|line| line.starts_with("problem: ")).collect();
    let [problem] = problems.as_slice() else { panic!("{name}: {checked:?}") };
    assert!(
        problem.contains(&format!("tools/{name}.toml{place}")) && problem.contains(says),
        "{name}: {problem}"
    );
    assert!(checked.stdout.contains("\n1 problem\n"), "{name}: {checked:?}");

    let ran = home.call(&[name]);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), "tool_unavailable"), "{name}: {ran:?}");
    assert!(ran.message().starts_with(&format!("{name} did not load: ")), "{name}: {ran:?}");
    assert!(ran.message().contains(says) && ran.message().len() <= 2048, "{name}: {ran:?}");
    assert_eq!(home.audit().pop().expect("a record")["code"], "tool_unavailable", "{name}");

    assert_eq!(
        home.call(&["file_read", "path=/shared/none"]).error(),
        "not_found",
        "{name}: the others work"
    );
    assert!(started.elapsed() < super::SOON, "{name} took {:?}", started.elapsed());
}

#[test]
fn descriptions_that_are_none() {
    for (name, place, says) in [
        ("bad_name", ": ", "\"Bad-Name; rm\" is not a tool name"),
        ("describe_traps", ": ", "does not describe a tool: the tool crashed"),
        ("not_json", ": ", "its arguments schema is not JSON"),
        ("huge_schema", ": ", "its arguments schema is longer than 65536 bytes"),
        ("describe_grows", ": ", "the tool wanted more memory than its limit of 128 MiB"),
        ("describe_talks", ": ", " bytes of itself; at most 256 KiB are taken"),
    ] {
        does_not_load(&odd(name), name, place, says);
    }
}

#[test]
fn a_description_that_never_ends_is_ended() {
    let home = odd("describe_spins");
    let mut chat = Chat::start(&home);
    let said = chat.say("/describe_spins");
    assert!(said.starts_with("tool_unavailable: describe_spins did not load: "), "{said}");
    assert!(said.contains("did not finish within 10s"), "{said}");
    assert!(chat.say("/file_read path=/shared/none").starts_with("not_found: "), "the others work");
    chat.end();
}

#[test]
fn schemas_that_nobody_could_judge() {
    does_not_load(&odd("open_arguments"), "open_arguments", ":", "its root lets unnamed properties in");
    does_not_load(&odd("remote_ref"), "remote_ref", ":", "\"path\" has a $ref that ");
    does_not_load(&odd("hidden_ref"), "hidden_ref", ": ", "the tool's schema is not usable");
}

#[test]
fn the_line_to_change_is_named() {
    let policy = "safety = \"read-only\"\n\n[arguments]\nname = \"value\"\nage = \"value\"\n";
    let home = Home::new().tool("hello", "file-read-only", "minimal", policy);
    does_not_load(&home, "hello", ":10: ", "hello has no argument \"age\"; remove the line");
    let home = Home::new().tool("hello", "file-read-only", "minimal", POLICY);
    does_not_load(
        &home,
        "hello",
        ":1: ",
        "argument \"name\" can hold text and is not classified; add to [arguments]",
    );
}

#[test]
fn an_import_that_nobody_knows() {
    does_not_load(&odd("unknown_import"), "unknown_import", ": ", "`backdoor:host/shell@0.1.0`");
}

#[test]
fn a_component_under_another_name() {
    let home = Home::new().tool("goodbye", "file-read-only", "minimal", POLICY);
    does_not_load(&home, "goodbye", ": ", "the component calls itself hello; write tool = \"hello\"");
}

/// A gateway with this odd component, its reference `old` led to `new`: of the same length, so
/// nothing moves.
fn led(name: &str, old: &str, new: &str) -> Home {
    assert_eq!(new.len(), old.len(), "{new}");
    let mut bytes = guests::bytes(&format!("examples/{name}"));
    let at = bytes.windows(old.len()).position(|window| window == old.as_bytes()).expect("a reference");
    bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
    let home = Home::new().own_policies();
    std::fs::write(home.policies_dir().join("tools/odd.wasm"), &bytes).expect("ours");
    let policy = format!(
        "schema = 1\ntool = \"{name}\"\nprofile = \"file-read-only\"\nwhy = \"a test\"\n{POLICY}\
         component = {{ file = \"odd.wasm\", sha256 = {:?} }}\n",
        guests::sha256(&bytes)
    );
    home.policy(&format!("tools/{name}.toml"), &policy)
}

#[test]
fn no_schema_makes_the_host_ask_the_network() {
    let (remote, hidden) =
        ("https://example.com/schema.json".to_owned(), format!("file:///{}", "x".repeat(152)));
    for (name, old) in [("remote_ref", remote), ("hidden_ref", hidden)] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        listener.set_nonblocking(true).expect("a socket");
        let url = format!("http://127.0.0.1:{}/", listener.local_addr().expect("bound").port());
        let home = led(name, &old, &format!("{url:x<width$}", width = old.len()));
        does_not_load(&home, name, ":", "");
        assert!(listener.accept().is_err(), "{name}: somebody came");
    }
}

#[test]
fn no_schema_makes_the_host_read_a_file() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    // With this in place of the reference the tool would load.
    std::fs::write(dir.path().join("s"), "true").expect("ours");
    let old = format!("file:///{}", "x".repeat(152));
    let folder = format!("file://{}", dir.path().display());
    let home = led("hidden_ref", &old, &format!("{folder:/<width$}s", width = old.len() - 1));
    does_not_load(&home, "hidden_ref", ": ", "the tool's schema is not usable");
}
