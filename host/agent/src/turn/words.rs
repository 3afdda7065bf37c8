//! What a turn says in this program's own words.

use cofferdam_core::limits::{ByteSize, TimeSpan};
use cofferdam_core::tool::ErrorCode;
use std::collections::BTreeSet;

/// To `/new`.
pub(super) const FORGOTTEN: &str = "A new conversation begins here. What was said before is forgotten.";
/// To `/new` and `/retry` where nothing is remembered.
pub(super) const NO_CONVERSATION: &str = "There is no conversation here: each message stands alone.";
/// To `/retry` when the last request was answered.
pub(super) const NOTHING_TO_RETRY: &str =
    "There is nothing to retry: the last message was answered. Write what you want instead.";
/// To `/retry` when the last request is another person's.
pub(super) const NOT_YOURS: &str = "The last message here is not yours, so it is for whoever wrote it to retry. Write what you want instead.";
/// To `/retry` when the last request is from a release that did not keep whose it is.
pub(super) const NOBODYS: &str =
    "It was not kept who wrote the last message here, so it is not retried. Write it again.";
/// To `/new` with files.
pub(super) const FILES_UNUSED: &str = "The files that came with this message were not used.";
/// Of a file that a retried message had.
pub(super) const FILE_GONE: &str =
    "it came with the message that is retried and cannot be had again; send it anew";
/// After an answer that is cut off.
pub(super) const CUT_OFF: &str = "(The answer was cut off: the model came to the limit of its output.)";
/// In place of an answer, or after its beginning.
pub(super) const DECLINED: &str = "The model declined to go on.";
/// In the place of older messages that could not be summarized.
pub(super) const LEFT_OUT: &str = "Older messages of this conversation were left out to keep it short.";
/// In place of an answer when what a turn has read is too long for the model, however it is
/// shortened.
pub(super) const READ_TOO_MUCH: &str = "The turn was stopped: what its tool calls brought is too long for the model, even shortened. Ask for less at once, \
    or send /new to begin another conversation.";
/// In place of an answer when the model's words say nothing.
pub(super) const RETRY: &str = "Write /retry to go on from here.";
/// In place of an answer when what was said before cannot be had.
pub(super) const ANEW: &str = "Send /new to begin another conversation.";

/// The line of `/help` where somebody can speak to a turn that runs.
pub(super) const STEER_HELP: &str = "\n/steer TEXT adds to what is running, before its next step";

/// Characters of what `/help` says before the tools, where a model answers.
pub(crate) const HELP_CHARS_MAX: usize = 350;

/// To `/help` where a model answers, before its tools; `more` are lines for what is possible
/// besides.
pub(super) fn help(more: Option<&str>) -> String {
    let more = more.unwrap_or_default();
    format!(
        "Write what you want, and send files with it.\n\
         /new starts the conversation anew\n/retry runs the last message again if it failed{more}\n\
         /cancel stops what is running\nTools can be called without the model, too:"
    )
}

/// To `/cancel` when no turn runs.
pub fn nothing_runs(waiting: usize) -> String {
    format!("Nothing is running here.{}", waiting_too(waiting))
}

/// After the answer of a turn that somebody stopped.
pub fn waiting_too(waiting: usize) -> String {
    match waiting {
        0 => String::new(),
        1 => " 1 message is waiting and comes next.".into(),
        n => format!(" {n} messages are waiting and come next."),
    }
}

/// In place of an answer when somebody stopped the turn.
pub(super) fn cancelled(calls: usize) -> String {
    match calls {
        0 => format!("Cancelled: nothing had been done yet. {RETRY}"),
        1 => format!("Cancelled: 1 tool call had been made. {RETRY}"),
        n => format!("Cancelled: {n} tool calls had been made. {RETRY}"),
    }
}

/// The same where a call was cut off by that, with what it says: a message of it may go out yet.
pub(super) fn cancelled_within(calls: usize, tool: &str, why: &str) -> String {
    let made = match calls {
        0 => String::new(),
        1 => "1 tool call had been made. ".to_owned(),
        n => format!("{n} tool calls had been made. "),
    };
    format!("Cancelled: {made}{tool} was cut off: {why}. {RETRY}")
}

/// In place of an answer that took too long.
pub(super) fn too_slow(deadline: TimeSpan) -> String {
    format!("The turn took longer than {deadline} and was stopped. {RETRY}")
}

/// In place of an answer that took too many steps.
pub(super) fn too_many_rounds(most: usize) -> String {
    format!("The turn took more than {most} rounds and was stopped.")
}

/// In place of an answer that took too many calls.
pub(super) fn too_many_calls(most: usize) -> String {
    format!("The turn asked for more than {most} tool calls and was stopped.")
}

/// In place of an answer that cost too much.
pub(super) fn too_many_tokens(most: u64) -> String {
    format!("The turn used more than {most} tokens and was stopped.")
}

/// In place of an answer when a call is asked for again that cannot succeed.
pub(super) fn going_in_circles(tool: &str, code: ErrorCode) -> String {
    let tool = cofferdam_core::text::one_line(tool, 80);
    format!(
        "The turn was stopped: the model asked for the same call of {tool} again and again, which fails each \
         time ({code})."
    )
}

/// In place of an answer once somebody has used up the tokens of a day.
pub(super) fn no_tokens_today(budget: u64) -> String {
    format!("Today's budget of {budget} tokens is used up; it starts anew at 00:00 UTC. {RETRY}")
}

/// The error of a call of a tool that is not for this chat.
pub(super) fn not_here(tool: &str, profiles: &BTreeSet<String>) -> String {
    let tool = cofferdam_core::text::one_line(tool, 80);
    let profiles: Vec<&str> = profiles.iter().map(String::as_str).collect();
    let named = if profiles.is_empty() { "none".to_owned() } else { profiles.join(", ") };
    format!(
        "{tool} cannot be called from this chat: its operator allows tools of these profiles here: {named}; /help tells what there is"
    )
}

/// The error of a call that may write, once somebody has written what a day allows.
pub fn no_bytes_today(budget: ByteSize) -> String {
    format!("today's budget of {budget} written bytes is used up; it starts anew at 00:00 UTC")
}
