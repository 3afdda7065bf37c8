//! Everything that this channel says in its own words.

use super::send::TEXT_UNITS_MAX;
use cofferdam_chat::Sight;
use cofferdam_chat::outbound::{Rich, markdown, split};
use cofferdam_store::now_ms;
use cofferdam_store::people::Waiting;

/// To a stranger in a private chat, once.
pub(super) fn to_stranger(id: i64, code: Option<&Waiting>) -> String {
    let (code, ask) = match code {
        Some(code) => (format!("{}\nOr ", by_code(code)), "they add your id"),
        None => (String::new(), "To be served, ask the operator to add it"),
    };
    format!(
        "{UNKNOWN}\nYour Telegram user id is {id}. {code}{ask} to [channels.telegram] in cofferdam.toml:\n\
         allowed_users = [{id}]"
    )
}

/// To a stranger who was told the id before and is given another code, up to a number in all.
pub(super) fn another_code(code: &Waiting) -> String {
    format!("{UNKNOWN}\n{}", by_code(code))
}

const UNKNOWN: &str = "This bot answers only people whom its operator has named, and does not know you.";

/// One that waits already is good for what is left of its time.
fn by_code(waiting: &Waiting) -> String {
    let (code, left) = (&waiting.code, waiting.expires_at - now_ms());
    let minutes = ((left + 30_000) / 60_000).max(1);
    format!(
        "To be served, give the operator this code within {minutes} min: {code}\nThe operator runs: cofferdam allow {code}"
    )
}

/// To somebody whom the operator has let in.
pub(super) const LET_IN: &str =
    "The operator has let you in: you are served from now on. /help says what I can do.";

/// To a message of a kind that nothing here uses, by its name in the API.
pub(super) fn unused_kind(kind: &str) -> String {
    format!("A message of this kind ({kind}) cannot be used here. Send text or a file.")
}

/// To a message whose JSON cannot be read.
pub(super) const UNREADABLE: &str =
    "This message could not be read. Send it again, as plain text or as a file.";

/// In place of an answer that is not there yet: what is done, or what is said so far.
pub(super) fn seen(sight: &Sight) -> Rich {
    match sight {
        Sight::Doing(words) => Rich::plain(format!("⏳ {words}")),
        Sight::Saying(text) => so_far(text),
    }
}

/// As much of an answer as one message holds, and a sign that it goes on.
fn so_far(text: &str) -> Rich {
    const GOES_ON: &str = " …";
    let all = markdown(text);
    let first = split(&all.text, TEXT_UNITS_MAX - GOES_ON.len()).first().map_or(0, |piece| piece.len());
    let mut head = all.slice(0..first).bounded();
    head.push(Rich::plain(GOES_ON));
    head
}

/// The one line that tells that the channel works.
///
/// `let_in` are allowed by a code, `groups` what [`Groups::told`](super::groups::Groups::told) says.
pub(super) fn polling(name: &str, users: usize, let_in: usize, groups: &str) -> String {
    if users == 0 && let_in == 0 {
        return format!(
            "polling as @{name} (nobody is served yet: write to it, and it says what to do{groups})"
        );
    }
    let plural = if users == 1 { "" } else { "s" };
    let let_in = if let_in == 0 { String::new() } else { format!(", {let_in} let in by a code") };
    format!("polling as @{name} ({users} allowed user{plural}{let_in}{groups})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_so_far_fits_into_one_message_and_goes_on() {
        let check = |text: &str, shown: &str| assert_eq!(so_far(text).text, shown, "{text:?}");
        check("", " …");
        check("**a** b", "a b …");
        check("```\ncode", "code …");
        let long = so_far(&"**👍** ".repeat(5000));
        assert!(long.text.ends_with(" …") && long.text.encode_utf16().count() <= TEXT_UNITS_MAX);
        assert!(long.spans.iter().all(|span| long.text.get(span.start..span.end).is_some()));
    }
}
