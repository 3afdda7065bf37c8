//! Events of the gateway, one after the other: what is meant for the bot is kept, with how far the
//! stream is read, before its number counts as seen.

use super::address;
use super::bot::{CHANNEL, DiscordBot};
use super::catch_up::{MissedMessages, oldest_asked_for};
use super::config::PLATFORM;
use super::payload::GatewayEvent;
use super::prepare::{is_for_us, queue_of};
use super::presses;
use super::target::ReplyTarget;
use super::wire::{ACKNOWLEDGED, ButtonPress, Interaction, Message, RepliedMessage, Snowflake, id};
use cofferdam_agent::server::ServerScope;
use cofferdam_chat::handler::{Channel, CurrentChannel, hand_on, incoming};
use cofferdam_chat::people::SenderReply;
use cofferdam_chat::runs::wait_reply;
use cofferdam_chat::session_queue::Arrival;
use cofferdam_core::audit::sha256_hex;
use cofferdam_core::id::Caller;
use cofferdam_store::{Headers, NewUpdate, ReplyPlace, Stream, StreamPosition, UpdateFate, WaitReply};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::mpsc;

/// So many events may pass of which nothing is kept, until it is noted how far they were read.
const NOTED_EVERY: i64 = 250;

/// Takes events.
pub(super) struct EventReader<'a> {
    pub(super) bots: &'a CurrentChannel<DiscordBot>,
    pub(super) arrivals: &'a mpsc::Sender<Arrival>,
    pub(super) api: ServerScope,
    /// The stream that they are of.
    pub(super) stream: Option<Stream>,
    /// What was said before it began.
    pub(super) missed: Option<Arc<MissedMessages>>,
}

impl EventReader<'_> {
    /// Takes one; `None` once the program stops. When it returns, what it brought is on the disk.
    pub(super) async fn take(&mut self, event: GatewayEvent) -> Option<()> {
        let bot = self.bots.borrow().clone();
        let GatewayEvent { number, kind, data } = event;
        if data.is_empty() {
            return self.skip_event(&bot, number).await;
        }
        let value: Value = serde_json::from_str(&data).unwrap_or_default();
        let judged = match kind.as_str() {
            "READY" => return self.begin_session(&bot, number, &value).await,
            "MESSAGE_CREATE" => {
                let judged = judge_message(&bot, &value).await;
                let place = judged.as_ref().and_then(|judged| judged.place.as_ref());
                if let (Some(missed), Some(at)) = (&self.missed, place) {
                    missed.wait_for(&at.place).await;
                }
                judged
            }
            "MESSAGE_UPDATE" => judge_edit(&bot, &value),
            "MESSAGE_DELETE" => {
                judge_deletion(&value, std::slice::from_ref(&value["id"]), bot.api.platform_now_ms())
            }
            "MESSAGE_DELETE_BULK" => {
                let ids = value["ids"].as_array().map(Vec::as_slice).unwrap_or_default();
                judge_deletion(&value, ids, bot.api.platform_now_ms())
            }
            "INTERACTION_CREATE" => judge_interaction(&bot, number, value).await?,
            _ => None,
        };
        let Some(judged) = judged else { return self.skip_event(&bot, number).await };
        // With how far events were read; before there is a session nothing says that.
        let position = self.stream.as_mut().map(|stream| {
            stream.position.number = number;
            stream.position.clone()
        });
        keep(&bot, self.arrivals, judged, position).await
    }

    /// Another session begins.
    async fn begin_session(&mut self, bot: &DiscordBot, number: i64, ready: &Value) -> Option<()> {
        let resumed_at = ready["resume_gateway_url"].as_str().unwrap_or_default();
        if address::gateway(resumed_at, self.api).is_none() {
            tracing::warn!(
                "the gateway names no address to resume at that is taken; the first one takes its place"
            );
        }
        let session = ready["session_id"].as_str().unwrap_or_default().to_owned();
        let position = StreamPosition { session, address: resumed_at.to_owned(), number };
        let begin = || bot.base.store.begin_stream(&bot.base.channel, position.clone());
        bot.base.store_until_done("note a session", begin).await?;
        self.stream = Some(Stream { position, behind: true });
        Some(())
    }

    /// Nothing of it is kept.
    async fn skip_event(&mut self, bot: &DiscordBot, number: i64) -> Option<()> {
        let Some(stream) = self.stream.as_mut() else { return Some(()) };
        if number - stream.position.number >= NOTED_EVERY {
            stream.position.number = number;
            let moves = || bot.base.store.advance_stream(&bot.base.channel, stream.position.clone());
            bot.base.store_until_done("note how far events were read", moves).await?;
        }
        Some(())
    }
}

/// The messages of a channel that are gone: kept together, since after the first of them nothing
/// of the event comes again.
fn judge_deletion(event: &Value, ids: &[Value], now: i64) -> Option<AcceptedUpdate> {
    let (channel, oldest) = (id(&event["channel_id"])?, oldest_asked_for(now));
    let gone = |message| {
        let name = Some(Message::name(channel, message));
        update(message, name, String::new(), UpdateFate::Deleted { may_come: message > oldest })
    };
    let updates: Vec<_> = ids.iter().filter_map(id).map(gone).collect();
    (!updates.is_empty()).then_some(AcceptedUpdate { updates, place: None, command: None })
}

/// What becomes of an interaction: a press is decided, and nothing of it is kept, nor of a command
/// of somebody who is not served. `None` once the program stops.
async fn judge_interaction(
    bot: &DiscordBot,
    number: i64,
    mut event: Value,
) -> Option<Option<AcceptedUpdate>> {
    if let Some(press) = ButtonPress::read(&event) {
        // Decided at once: the turn that waits for it holds its queue.
        return presses::take(bot, press).await.map(|()| None);
    }
    let Some(command) = Message::from_command(&event) else {
        tracing::debug!(number, "an interaction of an unknown shape was passed over");
        return Some(None);
    };
    let interaction = command.command.as_ref()?.interaction.clone();
    let rules = bot.rules();
    match rules.admit(&command) {
        SenderReply::Serve(_) => {}
        SenderReply::Tell(sender) => {
            presses::tell_stranger(bot, interaction, (sender, &rules.people));
            return Some(None);
        }
        SenderReply::Ignore(why) => {
            tracing::debug!(why, "a command is ignored");
            return Some(None);
        }
    }
    let judged = pending(bot, &command, event.to_string());
    event[ACKNOWLEDGED] = true.into();
    let name = Some(Message::name(command.channel, command.id));
    let noted = update(-command.id, name, event.to_string(), UpdateFate::Edited);
    Some(Some(AcceptedUpdate { command: Some((interaction, noted)), ..judged }))
}

/// Something to be kept.
pub(super) struct AcceptedUpdate {
    /// One, but of messages that are gone together.
    updates: Vec<NewUpdate>,
    /// Where it was said, if somebody is answered.
    place: Option<ReplyPlace>,
    /// A command that is to be acknowledged, and how it is kept once it is.
    command: Option<(Interaction, NewUpdate)>,
}

impl From<NewUpdate> for AcceptedUpdate {
    fn from(update: NewUpdate) -> Self {
        Self { updates: vec![update], place: None, command: None }
    }
}

/// Keeps what was judged, hands the work on, and has the disk take it in; `None` once the program
/// stops.
pub(super) async fn keep(
    bot: &DiscordBot,
    arrivals: &mpsc::Sender<Arrival>,
    judged: AcceptedUpdate,
    position: Option<StreamPosition>,
) -> Option<()> {
    let (base, AcceptedUpdate { updates: batch, place, command }) = (&bot.base, judged);
    let places = place.into_iter().collect::<Vec<_>>();
    let persist = || async {
        match position.clone() {
            Some(at) => base.store.persist_at(&base.channel, batch.clone(), at, places.clone()).await,
            None => base.store.persist(&base.channel, batch.clone()).await,
        }
    };
    let persisted = base.store_until_done("persist updates", persist).await?;
    // Durable before it is acknowledged, and acknowledged before it runs. One that comes again was
    // acknowledged. So is one that another node answers: that one may be at something for longer than
    // Discord waits.
    if let Some((interaction, noted)) = command.filter(|_| persisted.kept > 0) {
        base.store_until_done("settle updates", || base.store.settle()).await?;
        bot.acks.begin(bot, interaction, noted);
    }
    hand_on(base, arrivals, incoming::from_batch(bot, &batch, persisted)).await?;
    base.store_until_done("settle updates", || base.store.settle()).await
}

/// What becomes of a message, which its sender decides before anything else; `None` where nothing
/// of it is kept.
pub(super) async fn judge_message(bot: &DiscordBot, value: &Value) -> Option<AcceptedUpdate> {
    let Some(message) = Message::read(value) else {
        tracing::warn!("a message of an unknown shape was passed over");
        return None;
    };
    let (id, rules) = (message.id, bot.rules());
    match rules.admit(&message) {
        SenderReply::Ignore(why) => {
            tracing::debug!(id, why, guild = message.guild, "a message is ignored");
            None
        }
        SenderReply::Tell(sender) => {
            let (sender, target) = ((sender, &*message.author.name), ReplyTarget::new(&message));
            let stranger = bot.base.door.stranger(&bot.base, PLATFORM, sender, target.to_text()).await;
            Some(update(id, None, String::new(), UpdateFate::Stranger(stranger)).into())
        }
        SenderReply::Serve(_) if !is_for_us(&message, &rules) => {
            tracing::debug!(id, guild = message.guild, "a message is not meant for this bot");
            None
        }
        SenderReply::Serve(_) => {
            tracing::debug!(id, guild = message.guild, "a message waits for its turn");
            Some(pending(bot, &message, value.to_string()))
        }
    }
}

/// A message or command that a turn will answer.
fn pending(bot: &DiscordBot, message: &Message, raw: String) -> AcceptedUpdate {
    let headers = Headers {
        session: bot.session(&ReplyTarget::new(message)),
        sender: message.author.id.to_string(),
        queue: queue_of(message, &bot.rules()),
        answers: answers(bot, message),
    };
    let name = Some(Message::name(message.channel, message.id));
    let update = update(message.id, name, raw, UpdateFate::Pending(headers));
    let place = place_of(message.guild, message.channel);
    let place = ReplyPlace { place, last: message.id, unasked: false };
    AcceptedUpdate { updates: vec![update], place: Some(place), command: None }
}

/// What a message of a person replies to, where a run may wait for that.
fn answers(bot: &DiscordBot, message: &Message) -> Option<WaitReply> {
    let RepliedMessage::Message(replied) = &message.replied else { return None };
    if message.guild.is_some() || replied.author.id != bot.me.id || message.forwarded.is_some() {
        return None;
    }
    let from = Caller { channel: CHANNEL.to_owned(), sender: message.author.id.to_string() };
    let own = (&*message.id.to_string(), message.words());
    wait_reply(&from, own, (replied.id.to_string(), replied.words()), &message.files)
}

/// How a message reads now, if that is said and it is of somebody who is served: it changes what
/// waits.
fn judge_edit(bot: &DiscordBot, value: &Value) -> Option<AcceptedUpdate> {
    let message = Message::read(value).filter(|message| message.text.is_some())?;
    if !matches!(bot.rules().admit(&message), SenderReply::Serve(_)) {
        return None;
    }
    let raw = value.to_string();
    // Of its own, and the same when it comes again.
    let digest = sha256_hex(raw.as_bytes());
    let update_id = -i64::from_str_radix(&digest[..15], 16).unwrap_or(1);
    Some(update(update_id, Some(Message::name(message.channel, message.id)), raw, UpdateFate::Edited).into())
}

/// Of Discord nothing is an album.
fn update(update_id: Snowflake, message: Option<String>, raw: String, fate: UpdateFate) -> NewUpdate {
    NewUpdate { update_id, album: None, message, raw, fate }
}

/// A place as it is kept: `guild/channel`, or a channel in private.
fn place_of(guild: Option<Snowflake>, channel: Snowflake) -> String {
    guild.map_or_else(|| channel.to_string(), |guild| format!("{guild}/{channel}"))
}

/// The guild and channel of a place that was kept.
pub(super) fn place_read(place: &str) -> Option<(Option<Snowflake>, Snowflake)> {
    match place.split_once('/') {
        Some((guild, channel)) => Some((Some(guild.parse().ok()?), channel.parse().ok()?)),
        None => Some((None, place.parse().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::target::first_id_of;
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_that_are_gone_together_are_kept_together() {
        let gone = |event: Value| {
            let ids = event["ids"].as_array().expect("a list");
            let judged = judge_deletion(&event, ids, 0)?;
            Some(judged.updates.into_iter().filter_map(|update| update.message).collect::<Vec<_>>())
        };
        let names = ["5/7", "5/8"].map(str::to_owned).to_vec();
        assert_eq!(gone(json!({ "channel_id": "5", "ids": ["7", "x", "8"] })), Some(names));
        assert_eq!(gone(json!({ "channel_id": "5", "ids": [] })), None);
        assert_eq!(gone(json!({ "ids": ["7"] })), None);
    }

    #[test]
    fn a_deletion_is_remembered_only_of_a_message_that_may_come() {
        let (now, day) = (1_800_000_000_000, 24 * 60 * 60 * 1000);
        let [old, new] = [now - day - 1, now - day + 1].map(first_id_of);
        let event = json!({ "channel_id": "5", "ids": [old.to_string(), new.to_string()] });
        let ids = event["ids"].as_array().expect("a list");
        let judged = judge_deletion(&event, ids, now).expect("messages");
        let fates: Vec<_> = judged.updates.iter().map(|update| &update.fate).collect();
        assert!(
            matches!(
                fates[..],
                [UpdateFate::Deleted { may_come: false }, UpdateFate::Deleted { may_come: true }]
            ),
            "{fates:?}"
        );
    }
}
