//! What a channel says in the place of a turn, and of one that runs, in this program's own words.

/// Before the listing of an album's late part.
pub const LATE_PART: &str = "This is a late part of the album above, whose turn had already begun.";

/// As [`LATE_PART`], where the late part carries the caption.
pub const LATE_CAPTION: &str = "This is a late part of the album above, whose turn had already begun; \
    its caption was not run. Send the command as a reply to the message that it is meant for.";

/// To `/cancel` of somebody who is served in an open group alone, while another person's message is
/// worked on.
pub const NOT_YOURS_TO_STOP: &str = "What is running here is another person's: it is stopped by whoever asked \
     for it, or by somebody whom the operator has named.";

/// To `/cancel` where something stands that must be answered.
pub const STOPPED: &str = "Stopped: what had been done is in the answer to the message that was worked on.";

/// To `/new` of somebody who is served in an open group alone.
pub const NOT_YOURS_TO_FORGET: &str =
    "This conversation is everybody's here: it is begun anew by somebody whom the operator has named.";

/// To `/steer` with nothing else.
pub const STEER_WHAT: &str =
    "Write what to add to the message that is being worked on: /steer TEXT. A file may come with it.";

/// In place of an answer when somebody stopped the turn while its files came in.
pub const CANCELLED: &str = "Cancelled: nothing had been done yet. Send the message again if it is needed.";

/// In place of an answer to a message that was begun too often.
pub fn gave_up(attempts: u32) -> String {
    format!(
        "internal: this message made the gateway fail {attempts} times and is not tried again; its operator finds \
         more in the log."
    )
}

/// In place of an answer when the gateway itself failed.
pub const BROKEN: &str =
    "internal: the gateway failed while working on this message; its operator finds why in the log.";

/// While the files of a message come in, the number of the first that is not in.
pub(crate) fn fetching(number: usize, of: usize) -> String {
    format!("fetching {number} of {of}")
}

/// While several calls of a step run, the number of the first that has not ended.
pub(crate) fn calling(tool: &str, number: usize, of: usize) -> String {
    let doing = match tool {
        "attachment_save" => "saving".into(),
        "attachment_download" => "fetching".into(),
        "attachment_add" => "attaching".into(),
        "file_read" | "file_list" | "file_info" => "reading".into(),
        "file_search" => "searching".into(),
        "file_write" | "file_write_bytes" | "file_edit" => "writing".into(),
        "file_copy" | "vault_copyto" => "copying".into(),
        "file_move" => "moving".into(),
        "file_delete" => "deleting".into(),
        other => cofferdam_core::text::one_line(other, 80),
    };
    format!("{doing} {number} of {of}")
}

/// The line of `/help` where this gateway speaks.
pub(crate) const VOICE_HELP: &str =
    "/voice on has replies to your voice messages spoken, too; /voice off ends that";

/// Characters of what `/help` says besides the tools.
pub const HELP_CHARS_MAX: usize = 100;
