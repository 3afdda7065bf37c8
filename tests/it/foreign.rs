//! Components that nobody made for this gateway: WASI commands, functions of other people's
//! interfaces, imports that nobody grants. Each is a tool by a policy file alone.

mod commands;
mod functions;
mod inspect;
mod languages;
mod ripgrep;
mod scratch;
mod stubs;

pub(crate) use functions::ECHOED;
use serde_json::Value;
use support::guests;
use support::home::{Home, Ran};

/// A tool with this policy after its component, under a profile with these lines.
pub(crate) fn tool(guest: &str, profile: &str, policy: &str) -> Home {
    let profile = format!("schema = 1\nprofile = \"foreign\"\nwhy = \"a test\"\n{profile}\n");
    Home::new().policy("profiles/foreign.toml", &profile).tool("foreign", "foreign", guest, policy)
}

/// Calls it: the audit has the code that is told, and nothing half-made is left.
#[track_caller]
pub(crate) fn ran(home: &Home, arguments: &Value) -> Ran {
    ran_as(home, "foreign", arguments)
}

/// The same of a tool with a name of its own.
#[track_caller]
pub(crate) fn ran_as(home: &Home, tool: &str, arguments: &Value) -> Ran {
    // A command line would not take every length.
    let file = home.file("arguments.json", arguments.to_string().as_bytes());
    let ran = home.call(&[tool, "--args", &format!("@{file}")]);
    let outcome = home.audit().pop().expect("the audit has records");
    assert_eq!(outcome["code"].as_str().unwrap_or_default(), ran.error(), "{outcome}");
    assert_eq!(home.leftovers(), Vec::<std::path::PathBuf>::new());
    ran
}

/// The call succeeds with this result.
#[track_caller]
pub(crate) fn answers(home: &Home, arguments: Value, expected: Value) {
    let ran = ran(home, &arguments);
    assert_eq!((ran.code, ran.json()), (Some(0), expected), "{arguments}: {ran:?}");
}

/// The call fails with this code and a message of one line that has this.
#[track_caller]
pub(crate) fn refused(home: &Home, arguments: Value, code: &str, says: &str) {
    let ran = ran(home, &arguments);
    assert_eq!((ran.code, ran.error().as_str()), (Some(1), code), "{arguments}: {ran:?}");
    let message = ran.message();
    assert!(message.contains(says), "{arguments} does not say {says:?}: {message}");
    assert!(message.len() <= 2048 && !message.contains(char::is_control), "{message:?}");
}

/// What `policy check` says of the tool's file: problems and warnings, in order.
pub(crate) fn told(home: &Home) -> Vec<String> {
    let checked = home.run(&["policy", "check"]);
    let lines = checked.stdout.lines().filter(|line| line.contains("tools/foreign.toml"));
    lines.map(str::to_owned).collect()
}

/// The tool does not load, and this is said.
pub(crate) fn does_not_load(home: &Home, says: &str) {
    let told = told(home);
    assert!(told.iter().any(|line| line.starts_with("problem: ") && line.contains(says)), "{says}: {told:?}");
    assert_eq!(home.run(&["policy", "check"]).code, Some(3));
}

/// SHA-256 of a guest's component.
pub(crate) fn sha256(guest: &str) -> String {
    guests::sha256(&guests::bytes(guest))
}
