//! Everything that this channel says in its own words.

/// To a message of a kind that nothing here uses, by its name in the API.
pub(super) fn unused_kind(kind: &str) -> String {
    format!("A message of this kind ({kind}) cannot be used here. Send text or a file.")
}

/// To a message whose JSON cannot be read.
pub(super) const UNREADABLE: &str =
    "This message could not be read. Send it again, as plain text or as a file.";

/// The one line that tells that the channel works; `served` says who is.
pub(super) fn polling(name: &str, served: &str) -> String {
    format!("polling as @{name} {served}")
}
