//! Whom a message of the bot pings: what it says, as far as it allows that.

use serde_json::Value;

use super::bot::BOT_ID;
use super::draft::Draft;
use super::message::mentioned;
use super::params::id_of;
use super::state::Inner;

/// The pings, each as it stands in the content; `reply` is the author of what the message replies
/// to.
pub(super) fn pings(inner: &Inner, message: &Value, draft: &Draft) -> Vec<String> {
    let content = message["content"].as_str().unwrap_or_default();
    let allowed = draft.allowed_mentions.as_ref();
    let parses = |kind: &str| {
        allowed.is_none_or(|allowed| {
            allowed["parse"].as_array().is_some_and(|kinds| kinds.iter().any(|k| k == kind))
        })
    };
    let listed = |kind: &str, id: u64| {
        allowed
            .and_then(|allowed| allowed[kind].as_array())
            .is_some_and(|ids| ids.iter().any(|i| id_of(i) == Some(id)))
    };
    let mut pings = Vec::new();
    for id in mentioned(content).into_iter().filter(|id| parses("users") || listed("users", *id)) {
        pings.push(format!("<@{id}>"));
    }
    for rest in content.split("<@&").skip(1) {
        if let Some(id) = rest.split_once('>').and_then(|(digits, _)| digits.parse().ok())
            && (parses("roles") || listed("roles", id))
        {
            pings.push(format!("<@&{id}>"));
        }
    }
    let everyone =
        ["@everyone", "@here"].into_iter().filter(|word| content.contains(word) && parses("everyone"));
    pings.extend(everyone.map(str::to_owned));
    let replied = allowed.is_none_or(|allowed| allowed["replied_user"].as_bool().unwrap_or_default());
    let reference = &message["message_reference"];
    let author = id_of(&reference["channel_id"])
        .zip(id_of(&reference["message_id"]))
        .and_then(|(channel, id)| inner.world.message(channel, id).ok())
        .is_some_and(|message| message["author"]["id"] != *BOT_ID.to_string());
    if replied && author {
        pings.push("reply".to_owned());
    }
    pings
}

/// The users whom the pings name.
pub(super) fn people(inner: &mut Inner, pings: &[String]) -> Value {
    let ids: Vec<_> = pings.iter().flat_map(|ping| mentioned(ping)).collect();
    ids.into_iter().map(|id| inner.world.user(id)).collect()
}
