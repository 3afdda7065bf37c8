//! What people are told who are not served, or are from now on; and the line that says who is.

use crate::setup::PlatformNames;
use cofferdam_store::machine_now_ms;
use cofferdam_store::people::WaitingStranger;

const UNKNOWN: &str = "This bot answers only people whom its operator has named, and does not know you.";

/// To somebody whom the operator has let in.
pub const LET_IN: &str = "The operator has let you in: you are served from now on. /help says what I can do.";

/// To a stranger in a private chat, once.
pub fn to_stranger(platform: PlatformNames, id: i64, code: Option<&WaitingStranger>) -> String {
    let PlatformNames { name, section, .. } = platform;
    let (code, ask) = match code {
        Some(code) => (format!("{}\nOr ", by_code(code)), "they add your id"),
        None => (String::new(), "To be served, ask the operator to add it"),
    };
    format!(
        "{UNKNOWN}\nYour {name} user id is {id}. {code}{ask} to [{section}] in cofferdam.toml:\n\
         allowed_users = [{id}]"
    )
}

/// To a stranger who was told the id before and is given another code, up to a number in all.
pub fn new_code(code: &WaitingStranger) -> String {
    format!("{UNKNOWN}\n{}", by_code(code))
}

/// One that waits already is good for what is left of its time.
fn by_code(waiting: &WaitingStranger) -> String {
    let (code, left) = (&waiting.code, waiting.expires_at - machine_now_ms());
    let minutes = ((left + 30_000) / 60_000).max(1);
    format!(
        "To be served, give the operator this code within {minutes} min: {code}\nThe operator runs: cofferdam allow {code}"
    )
}

/// Who is served, for the one line that tells that a channel works: behind the bot's name.
///
/// `let_in` are allowed by a code, `groups` what [`summarize`](super::Groups::summarize) says.
pub fn who_is_served(users: usize, let_in: usize, groups: &str) -> String {
    if users == 0 && let_in == 0 {
        return format!("(nobody is served yet: write to it, and it says what to do{groups})");
    }
    let plural = if users == 1 { "" } else { "s" };
    let let_in = if let_in == 0 { String::new() } else { format!(", {let_in} let in by a code") };
    format!("({users} allowed user{plural}{let_in}{groups})")
}
