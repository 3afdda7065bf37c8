//! Everything that this channel says in its own words.

use super::send::TEXT_UNITS_MAX;
use crate::outbound::{Rich, markdown, split};
use crate::store::ApprovalState;
use crate::store::people::Waiting;
use crate::turn::Sight;
use cofferdam_core::limits::Span;

/// To a stranger in a private chat, once; once more with each code that they are given, up to a number in all.
pub(super) fn to_stranger(id: i64, code: Option<(&Waiting, Span)>) -> String {
    let code = code.map_or_else(String::new, |(Waiting { code, .. }, lasts)| {
        let minutes = lasts.0.as_secs() / 60;
        format!(
            "To be served, give the operator this code within {minutes} min: {code}\n\
             The operator runs: cofferdam allow {code}\n\
             Or "
        )
    });
    let ask = if code.is_empty() { "To be served, ask the operator to add it" } else { "they add your id" };
    format!(
        "This bot answers only people whom its operator has named, and does not know you.\n\
         Your Telegram user id is {id}. {code}{ask} to [channels.telegram] in cofferdam.toml:\n\
         allowed_users = [{id}]"
    )
}

/// To somebody whom the operator has let in.
pub(super) const LET_IN: &str =
    "The operator has let you in: you are served from now on. /help says what I can do.";

/// To a call that was to be approved, once whoever asked for it is not served any more.
pub(super) const ASKER_REMOVED: &str = "whoever asked for it is not served any more";

/// To a message of a kind that nothing here uses, by its name in the API.
pub(super) fn unused_kind(kind: &str) -> String {
    format!("A message of this kind ({kind}) cannot be used here. Send text or a file.")
}

/// To a message whose JSON cannot be read.
pub(super) const UNREADABLE: &str =
    "This message could not be read. Send it again, as plain text or as a file.";

/// Before the listing of an album's late part.
pub(super) const LATE_PART: &str = "This is a late part of the album above, whose turn had already begun.";

/// As [`LATE_PART`], where the late part carries the caption.
pub(super) const LATE_CAPTION: &str = "This is a late part of the album above, whose turn had already begun; \
    its caption was not run. Send the command as a reply to the message that it is meant for.";

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

/// To `/cancel` when no turn runs.
pub(super) fn nothing_runs(waiting: usize) -> String {
    format!("Nothing is running here.{}", waiting_too(waiting))
}

/// To `/cancel` of somebody who is served in an open group alone, while another person's message is worked on.
pub(super) const NOT_YOURS_TO_STOP: &str = "What is running here is another person's: it is stopped by whoever asked \
     for it, or by somebody whom the operator has named.";

/// To `/new` of somebody who is served in an open group alone.
pub(super) const NOT_YOURS_TO_FORGET: &str =
    "This conversation is everybody's here: it is begun anew by somebody whom the operator has named.";

/// After the answer of a turn that somebody stopped.
pub(super) fn waiting_too(waiting: usize) -> String {
    match waiting {
        0 => String::new(),
        1 => " 1 message is waiting and comes next.".into(),
        n => format!(" {n} messages are waiting and come next."),
    }
}

/// To `/steer` with nothing else.
pub(super) const STEER_WHAT: &str =
    "Write what to add to the message that is being worked on: /steer TEXT. A file may come with it.";

/// In place of an answer when somebody stopped the turn while its files came in.
pub(super) const CANCELLED: &str =
    "Cancelled: nothing had been done yet. Send the message again if it is needed.";

/// In place of an answer to a message that was begun too often.
pub(super) fn given_up(attempts: u32) -> String {
    format!(
        "internal: this message made the gateway fail {attempts} times and is not tried again; its operator finds \
         more in the log."
    )
}

/// In place of an answer when the gateway itself failed.
pub(super) const BROKEN: &str =
    "internal: the gateway failed while working on this message; its operator finds why in the log.";

/// To somebody who presses a button and is not served.
pub(super) const NOT_SERVED: &str = "Only people whom the operator has named can decide this.";

/// To a press that belongs to no approval of its chat.
pub(super) const NO_APPROVAL: &str = "There is nothing to decide here any more.";

/// To a call that must be approved, in a private chat where nobody may.
pub(super) const NOBODY_HERE: &str = "in this chat nobody may approve it; ask in a group with one of the people whom the operator has named for that";

/// To somebody who presses a button that is meant for others.
pub(super) fn for_others(approvers: &[i64]) -> String {
    match approvers {
        [one] => format!("Only {one} may decide this."),
        _ => "Only the people whom the operator has named for approvals may decide this.".to_owned(),
    }
}

/// What became of an approval, below the call and to whoever pressed.
pub(super) fn settled(state: ApprovalState, by: Option<&str>) -> String {
    match (state, by) {
        (ApprovalState::Approved, by) => format!("✅ Approved by {}.", by.unwrap_or("nobody")),
        (ApprovalState::Denied, by) => format!("❌ Denied by {}.", by.unwrap_or("nobody")),
        (ApprovalState::Expired, _) => "⌛ Expired: nobody decided in time. Nothing was changed.".to_owned(),
        (ApprovalState::Withdrawn, _) => "🚫 Withdrawn: this is not asked any more.".to_owned(),
        (ApprovalState::Asked, _) => "Not decided yet.".to_owned(),
    }
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
