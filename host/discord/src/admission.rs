//! Who is answered at all: decided from numbers, before anything else of a message is used. Pure.

use super::wire::{Message, MessageKind, Snowflake};
use cofferdam_chat::people::SenderReply;

/// What is due to the sender of a message to the bot `me`; `is_served` says whether somebody is
/// served in a guild, or in private. Strangers in guilds get silence: an answer would invite abuse.
pub(super) fn admit(
    message: &Message,
    me: Snowflake,
    is_served: impl FnOnce(Snowflake, Option<Snowflake>) -> bool,
) -> SenderReply {
    match message.kind {
        _ if message.author.id == me => return SenderReply::Ignore("the bot itself"),
        _ if message.webhook => return SenderReply::Ignore("a webhook"),
        _ if message.author.bot => return SenderReply::Ignore("a bot"),
        MessageKind::Other(_) => return SenderReply::Ignore("nobody has written it"),
        MessageKind::Plain | MessageKind::Reply | MessageKind::Command => {}
    }
    match (is_served(message.author.id, message.guild), message.guild, message.kind) {
        (true, ..) => SenderReply::Serve(message.author.id),
        // A command is answered in guilds too: its answer is for its sender alone.
        (false, None, _) | (false, _, MessageKind::Command) => SenderReply::Tell(message.author.id),
        (false, Some(_), _) => SenderReply::Ignore("a stranger in a guild"),
    }
}
