//! The bot's messages: created, edited, deleted and listed by the real server's rules.

use serde_json::{Map, Value, json};

use super::bot::{self, BOT_ID};
use super::clock::timestamp;
use super::draft::Draft;
use super::error::RestError;
use super::message::{View, blank, render};
use super::params::{self, id_of};
use super::pings::{people, pings};
use super::sent::{SentFile, SentMessage};
use super::state::Inner;
use super::tell::{tell, tell_of_deletion};
use super::uploads::store_files;
use crate::exchange::multipart::Uploads;

/// For how long a nonce is remembered, in milliseconds: "a few minutes".
const NONCE_MS: u64 = 5 * 60 * 1000;
/// A message that says that an answer is to come.
pub(super) const LOADING: u64 = 1 << 7;
/// Flags of messages that are no answers to interactions: without previews, without a sound.
const SENDABLE: u64 = 1 << 2 | 1 << 12;
/// A message that one person sees.
pub(super) const EPHEMERAL: u64 = 1 << 6;

/// A nonce that was used: when, and for which message.
#[derive(Clone, Copy, Debug)]
pub(super) struct UsedNonce {
    at_ms: u64,
    channel: u64,
    message: u64,
}

/// `POST /channels/{id}/messages`.
pub(super) fn create(
    inner: &mut Inner,
    channel: u64,
    draft: &Draft,
    uploads: &Uploads,
) -> Result<Value, RestError> {
    inner.world.writable(channel)?;
    if draft.is_empty(uploads) {
        return Err(RestError::new(400, 50006, "Cannot send an empty message"));
    }
    let nonce = draft.nonce_text().filter(|_| draft.enforce_nonce);
    let now_ms = inner.clock.now_ms();
    if let Some(used) = nonce.as_ref().and_then(|nonce| inner.nonces.get(nonce))
        && used.at_ms + NONCE_MS > now_ms
    {
        let known = inner.world.message(used.channel, used.message)?;
        return Ok(render(inner, known, View::Rest, inner.bot.message_content));
    }
    let id = add(inner, channel, draft, uploads, None)?;
    if let Some(nonce) = nonce {
        inner.nonces.insert(nonce, UsedNonce { at_ms: now_ms, channel, message: id });
    }
    let mut answer = shown(inner, channel, id)?;
    if let Some(nonce) = &draft.nonce {
        answer["nonce"] = nonce.clone();
    }
    Ok(answer)
}

/// Adds a message of the bot, tells of it and returns its id.
pub(super) fn add(
    inner: &mut Inner,
    channel: u64,
    draft: &Draft,
    uploads: &Uploads,
    interaction: Option<u64>,
) -> Result<u64, RestError> {
    let reply_to = resolve(inner, channel, draft)?;
    let id = inner.clock.next_id();
    let mut message = blank(id, channel, bot::user());
    let content = trimmed(draft.content.as_deref());
    message["content"] = content.clone().into();
    message["flags"] = match interaction {
        Some(_) => draft.flags,
        // Nobody else may ask for what one person sees alone.
        None => draft.flags & SENDABLE,
    }
    .into();
    if let Some((channel, replied)) = reply_to {
        message["type"] = 19.into();
        let mut reference =
            json!({ "type": 0, "message_id": replied.to_string(), "channel_id": channel.to_string() });
        if let Some(guild) = inner.world.channels.get(&channel).and_then(|channel| channel.guild) {
            reference["guild_id"] = guild.to_string().into();
        }
        message["message_reference"] = reference;
    }
    for (name, value) in [("components", &draft.components), ("embeds", &draft.embeds)] {
        if let Some(value) = value.as_ref().filter(|value| value.is_array()) {
            message[name] = value.clone();
        }
    }
    if let Some(interaction) = interaction {
        message["webhook_id"] = BOT_ID.to_string().into();
        message["application_id"] = BOT_ID.to_string().into();
        if let Some(of) = inner.interactions.by_id.get(&interaction) {
            message["interaction_metadata"] = of.metadata();
            // What answers a command says so in its type; later messages are ordinary ones.
            if of.pressed.is_none() && of.acknowledged.is_none() {
                message["type"] = 20.into();
            }
        }
    }
    let files = store_files(inner, channel, draft, uploads, &mut message);
    let pings = pings(inner, &message, draft);
    message["mentions"] = people(inner, &pings);
    message["mention_everyone"] =
        pings.iter().any(|ping| ping.starts_with("@everyone") || ping == "@here").into();
    inner.sent.push(SentMessage {
        channel_id: channel,
        message_id: id,
        content,
        earlier_contents: Vec::new(),
        reply_to: reply_to.map(|(_, message)| message),
        nonce: draft.nonce_text(),
        enforce_nonce: draft.enforce_nonce,
        allowed_mentions: draft.allowed_mentions.clone(),
        pings,
        files,
        interaction,
        deleted: false,
        requests: vec![draft.request.clone()],
        message: message.clone(),
    });
    let ephemeral = interaction.is_some() && draft.flags & EPHEMERAL != 0;
    let stored = inner.world.channels.get_mut(&channel).ok_or_else(RestError::unknown_channel)?;
    stored.messages.insert(id, message);
    if ephemeral {
        stored.ephemeral.insert(id);
    } else {
        tell(inner, "MESSAGE_CREATE", channel, id, draft.nonce.as_ref());
    }
    Ok(id)
}

/// Content as it is shown: without the blanks around it.
fn trimmed(content: Option<&str>) -> String {
    content.unwrap_or_default().trim().to_owned()
}

/// The message that this one replies to.
fn resolve(inner: &Inner, channel: u64, draft: &Draft) -> Result<Option<(u64, u64)>, RestError> {
    let Some(reference) = draft.reference else { return Ok(None) };
    let of = reference.channel.unwrap_or(channel);
    match inner.world.message(of, reference.message) {
        Ok(_) => Ok(Some((of, reference.message))),
        Err(_) if !reference.fail_if_not_exists => Ok(None),
        Err(_) => Err(RestError::field("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")),
    }
}

/// Changes a message of the bot.
pub(super) fn edit(
    inner: &mut Inner,
    channel: u64,
    id: u64,
    draft: &Draft,
    uploads: &Uploads,
) -> Result<Value, RestError> {
    let mut message = inner.world.message(channel, id)?.clone();
    if message["author"]["id"] != *BOT_ID.to_string() {
        return Err(RestError::new(403, 50005, "Cannot edit a message authored by another user"));
    }
    if let Some(listed) = &draft.attachments {
        let stays = |known: &Value| listed.iter().any(|listed| id_of(&listed["id"]) == id_of(&known["id"]));
        if let Some(list) = message["attachments"].as_array_mut() {
            list.retain(stays);
        }
    }
    let kept: Vec<u64> =
        message["attachments"].as_array().into_iter().flatten().filter_map(|a| id_of(&a["id"])).collect();
    if let Some(content) = &draft.content {
        message["content"] = trimmed(Some(content)).into();
    }
    for (name, value) in [("components", &draft.components), ("embeds", &draft.embeds)] {
        if let Some(value) = value {
            message[name] = if value.is_array() { value.clone() } else { json!([]) };
        }
    }
    let has = |name: &str| message[name].as_array().is_some_and(|list| !list.is_empty());
    let words = message["content"].as_str().unwrap_or_default().trim();
    if words.is_empty() && uploads.is_empty() && !["attachments", "components", "embeds"].into_iter().any(has)
    {
        return Err(RestError::new(400, 50006, "Cannot send an empty message"));
    }
    message["flags"] = (message["flags"].as_u64().unwrap_or_default() & !LOADING).into();
    message["edited_timestamp"] = timestamp(inner.clock.now_ms()).into();
    let files = store_files(inner, channel, draft, uploads, &mut message);
    let pings = if draft.content.is_some() { pings(inner, &message, draft) } else { Vec::new() };
    message["mentions"] = people(inner, &pings);
    note_edit(inner, &message, draft, kept, files);
    inner.world.store(channel, id, message);
    if !inner.world.channels.get(&channel).is_some_and(|channel| channel.ephemeral.contains(&id)) {
        tell(inner, "MESSAGE_UPDATE", channel, id, None);
    }
    shown(inner, channel, id)
}

fn note_edit(inner: &mut Inner, message: &Value, draft: &Draft, kept: Vec<u64>, files: Vec<SentFile>) {
    let id = id_of(&message["id"]).unwrap_or_default();
    let Some(sent) = inner.sent.iter_mut().rev().find(|sent| sent.message_id == id) else { return };
    let content = message["content"].as_str().unwrap_or_default().to_owned();
    if draft.content.is_some() {
        sent.earlier_contents.push(std::mem::replace(&mut sent.content, content));
    }
    sent.files.retain(|file| kept.contains(&file.id));
    sent.files.extend(files);
    sent.requests.push(draft.request.clone());
    sent.message = message.clone();
}

/// `DELETE /channels/{id}/messages/{id}`.
pub(super) fn delete(inner: &mut Inner, channel: u64, id: u64) -> Result<(), RestError> {
    let message = inner.world.message(channel, id)?;
    if message["author"]["id"] != *BOT_ID.to_string() {
        return Err(RestError::missing_permissions());
    }
    remove(inner, channel, id);
    Ok(())
}

/// Deletes any message, whoever does it, and tells of it; `false` if there is none.
pub(super) fn remove(inner: &mut Inner, channel: u64, id: u64) -> bool {
    let ephemeral = inner.world.channels.get(&channel).is_some_and(|of| of.ephemeral.contains(&id));
    let there = take_away(inner, channel, id);
    if there && !ephemeral {
        tell_of_deletion(inner, "MESSAGE_DELETE", channel, json!({ "id": id.to_string() }));
    }
    there
}

/// Deletes those of these messages that are there, and tells of them all at once.
pub(super) fn remove_all(inner: &mut Inner, channel: u64, ids: &[u64]) {
    let gone = ids.iter().filter(|id| take_away(inner, channel, **id)).map(u64::to_string);
    let gone: Vec<_> = gone.collect();
    tell_of_deletion(inner, "MESSAGE_DELETE_BULK", channel, json!({ "ids": gone }));
}

fn take_away(inner: &mut Inner, channel: u64, id: u64) -> bool {
    let Some(of) = inner.world.channels.get_mut(&channel) else { return false };
    of.ephemeral.remove(&id);
    if let Some(sent) = inner.sent.iter_mut().rev().find(|sent| sent.message_id == id) {
        sent.deleted = true;
    }
    of.messages.remove(&id).is_some()
}

/// `GET /channels/{id}/messages`: the newest first.
pub(super) fn list(inner: &Inner, channel: u64, call: &Map<String, Value>) -> Result<Value, RestError> {
    let of = inner.world.readable(channel)?;
    let (after, before) = (params::id(call, "after")?, params::id(call, "before")?);
    let limit = params::id(call, "limit")?.unwrap_or(50);
    if !(1..=100).contains(&limit) {
        let message = "int value should be between 1 and 100.";
        return Err(RestError::field("limit", "NUMBER_TYPE_RANGE", message));
    }
    let wanted = |id: &u64| {
        !of.ephemeral.contains(id)
            && after.is_none_or(|after| *id > after)
            && before.is_none_or(|before| *id < before)
    };
    let mut ids: Vec<u64> = of.messages.keys().copied().filter(wanted).collect();
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    // After an id: those that follow it at once. Otherwise the newest.
    match after {
        Some(_) => ids.truncate(limit),
        None => drop(ids.drain(..ids.len().saturating_sub(limit))),
    }
    let sees = inner.bot.message_content;
    Ok(ids.iter().rev().map(|id| render(inner, &of.messages[id], View::Rest, sees)).collect())
}

/// A message as REST shows it.
pub(super) fn shown(inner: &Inner, channel: u64, id: u64) -> Result<Value, RestError> {
    let message = inner.world.message(channel, id)?;
    Ok(render(inner, message, View::Rest, inner.bot.message_content))
}
