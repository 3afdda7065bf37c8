//! Components that nobody made for this gateway: WASI commands, functions of other people's
//! interfaces, imports that nobody grants. Each is a tool by a policy file alone.

mod commands;
mod functions;
mod inspect;
mod ripgrep;
mod scratch;
mod stubs;

use support::guests;
use support::home::Home;

/// A tool with this policy after its component, under a profile with these lines.
pub(crate) fn tool(guest: &str, profile: &str, policy: &str) -> Home {
    let profile = format!("schema = 1\nprofile = \"foreign\"\nwhy = \"a test\"\n{profile}\n");
    Home::new().policy("profiles/foreign.toml", &profile).tool("foreign", "foreign", guest, policy)
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
