//! Long polling: persist a batch, then confirm it, for as long as the program runs. A failure is
//! waited out; only a refused token ends it.

use super::PULSE;
use super::admission::admit;
use super::bot::TelegramBot;
use super::cursor::Cursor;
use super::failure::ApiFailure;
use super::people::{AccessRules, CHANNEL};
use super::prepare::{is_for_bot, queue_of};
use super::presses;
use super::send::ReplyTarget;
use super::wire::{ChatKind, Message, Update};
use cofferdam_chat::RetryPauses;
use cofferdam_chat::handler::{Channel, CurrentChannel, hand_on, incoming};
use cofferdam_chat::loop_health::note_next_within;
use cofferdam_chat::people::SenderReply;
use cofferdam_chat::runs::wait_reply;
use cofferdam_chat::session_queue::Arrival;
use cofferdam_core::id::Caller;
use cofferdam_store::{Headers, NewUpdate, PersistResult, UpdateFate, WaitReply};
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::Duration;
use teloxide_core::requests::Payload;
use tokio::sync::mpsc;
use tokio::time::sleep;

/// The pause after the first failure, and the longest that Telegram did not ask for.
const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// How long Telegram holds a poll without updates; whole seconds.
const LONG_POLL: Duration = Duration::from_secs(30);
/// The request may take this much longer.
const OVERTIME: Duration = Duration::from_secs(15);

/// `getUpdates` with updates as they are: an update that teloxide's types cannot hold is not lost.
#[derive(Serialize)]
struct GetUpdates {
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<i64>,
    limit: u8,
    timeout: u64,
    allowed_updates: &'static [&'static str],
}

impl Payload for GetUpdates {
    type Output = Vec<Box<RawValue>>;
    const NAME: &'static str = "GetUpdates";
}

/// Polls until the stop; the error is a refused token.
pub(super) async fn poll(
    bots: &CurrentChannel<TelegramBot>,
    arrivals: &mpsc::Sender<Arrival>,
) -> Result<(), ApiFailure> {
    PULSE.note_known();
    // The first poll comes back at once, and shows whether polling works: a later one lasts as long
    // as nobody writes.
    let mut hold = Duration::ZERO;
    let mut cursor = Cursor::default();
    let mut trouble = RetryPauses::new("polling", PAUSE_FIRST, PAUSE_MAX);
    loop {
        let bot = bots.borrow().clone();
        let polled = bot.base.stop.soon.run_until_cancelled(ask(&bot, &cursor, hold)).await;
        let Some(polled) = polled else { return Ok(()) };
        // A poll lasts long: who sent what it brings is judged by what is configured now.
        let bot = bots.borrow().clone();
        let taken = match polled {
            Ok(batch) => {
                PULSE.note_answer(batch.len());
                hold = LONG_POLL;
                take(&bot, batch, &mut cursor, arrivals).await
            }
            Err(failure) => Some(Err(failure)),
        };
        let pause = match taken {
            None => return Ok(()),
            Some(Ok(())) => {
                trouble.clear();
                continue;
            }
            Some(Err(failure @ ApiFailure::Unauthorized(_))) => return Err(failure),
            Some(Err(failure)) => {
                if let ApiFailure::Unreadable(text) = &failure
                    && cursor.pass_over(text)
                {
                    trouble.clear();
                }
                let (said, asked) = describe_failure(&failure);
                trouble.pause(said, asked)
            }
        };
        note_next_within(pause);
        let Some(()) = bot.base.stop.soon.run_until_cancelled(sleep(pause)).await else { return Ok(()) };
    }
}

/// Why polling fails, in words, and the pause that Telegram asks for.
fn describe_failure(failure: &ApiFailure) -> (String, Option<Duration>) {
    match failure {
        ApiFailure::Conflict(why) if why.contains("webhook") => {
            ("a webhook is set for this bot, so it cannot be polled; remove it with the Bot API's deleteWebhook".to_owned(), None)
        }
        ApiFailure::Conflict(_) => {
            ("another program polls with this bot's token; stop it, or give this one a bot of its own".to_owned(), None)
        }
        ApiFailure::TooMany(asked) => ("Telegram asks for a pause".to_owned(), Some(*asked)),
        other => (other.to_string(), None),
    }
}

/// Asks for updates, which Telegram may hold so long if there are none.
async fn ask(bot: &TelegramBot, cursor: &Cursor, hold: Duration) -> Result<Vec<Box<RawValue>>, ApiFailure> {
    let request = GetUpdates {
        offset: cursor.offset(),
        limit: cursor.limit,
        timeout: hold.as_secs(),
        allowed_updates: &["message", "edited_message", "callback_query"],
    };
    note_next_within(hold + OVERTIME);
    let result = bot.api.call(&request, hold + OVERTIME).await;
    note_next_within(Duration::ZERO);
    let result = result?;
    bot.presence.note_poll(CHANNEL);
    serde_json::from_str(result.get())
        .map_err(|_| ApiFailure::Unreachable("getUpdates brings no list".into()))
}

/// Persists a batch, hands the work on, which never waits for work to be done, then moves the
/// cursor; `None` once the bot stops.
async fn take(
    bot: &TelegramBot,
    batch: Vec<Box<RawValue>>,
    cursor: &mut Cursor,
    arrivals: &mpsc::Sender<Arrival>,
) -> Option<Result<(), ApiFailure>> {
    let (mut updates, mut presses) = (Vec::with_capacity(batch.len()), Vec::new());
    for raw in &batch {
        match Update::read(raw.get()) {
            Some(mut update) => {
                presses.extend(update.press.take());
                // Only Telegram makes such messages: nobody can write one.
                if let Some((from, to)) = update.message.as_ref().and_then(|message| message.moved) {
                    bot.moved(from, to).await?;
                }
                updates.push(judge_update(bot, update, raw.get()).await);
            }
            None => tracing::error!("an update without an id was passed over"),
        }
    }
    if updates.is_empty() && !batch.is_empty() {
        return Some(Err(ApiFailure::Unreachable("getUpdates brings updates without ids".into())));
    }
    presses::take(bot, presses).await?;
    let last = updates.iter().map(|update| update.update_id).max();
    let base = &bot.base;
    let persist = || base.store.persist(&base.channel, updates.clone());
    let persisted = match updates.is_empty() {
        true => PersistResult::default(),
        false => base.store_until_done("persist updates", persist).await?,
    };
    hand_on(base, arrivals, incoming::from_batch(bot, &updates, persisted)).await?;
    // Work begins while the disk takes them in; what the next poll confirms has to outlast the
    // power as well.
    if last.is_some() {
        base.store_until_done("settle updates", || base.store.settle()).await?;
    }
    let again = last.is_some() && last < cursor.offset();
    cursor.advance(last);
    if again {
        // A server that ignores the offset must not keep this loop busy.
        return Some(Err(ApiFailure::Unreachable("getUpdates repeats what was confirmed".into())));
    }
    Some(Ok(()))
}

/// What a message of a person replies to, where a run may wait for that.
fn answers(message: &Message, sender: i64, rules: &AccessRules) -> Option<WaitReply> {
    let replied = message.reply_to.as_ref().filter(|_| message.chat.kind == ChatKind::Private)?;
    if replied.from?.id != rules.me.id || message.besides.forwarded.is_some() {
        return None;
    }
    let from = Caller { channel: CHANNEL.to_owned(), sender: sender.to_string() };
    let own = (&*message.message_id?.to_string(), &*message.text);
    let replied = (replied.message_id?.to_string(), &*replied.text);
    wait_reply(&from, own, replied, message.media.as_slice())
}

/// An update with its fate, which its sender decides before anything else.
async fn judge_update(bot: &TelegramBot, update: Update, raw: &str) -> NewUpdate {
    let update_id = update.update_id;
    let bare = |fate| NewUpdate { update_id, album: None, message: None, raw: String::new(), fate };
    let ignored = |why: &str, chat: Option<i64>| {
        tracing::debug!(update_id, why, chat, "an update is ignored");
        bare(UpdateFate::Ignored)
    };
    let rules = bot.rules();
    let (message, edited) = match (update.message, update.edited) {
        (Some(message), _) => (message, false),
        (None, Some(message)) => (message, true),
        (None, None) => return ignored("no message", None),
    };
    let chat = Some(message.chat.id);
    match admit(&message, &rules.people.allowed, rules.group(&message).members) {
        SenderReply::Ignore(why) => ignored(why, chat),
        // They were told when they wrote it.
        SenderReply::Tell(_) if edited => ignored("an edit of a stranger", chat),
        SenderReply::Tell(sender) => bare(UpdateFate::Stranger(bot.stranger(&message, sender).await)),
        // It changes what waits; what ran, or was not meant for this bot, stays as it is.
        SenderReply::Serve(_) if edited => match Update::as_sent(raw) {
            Some(raw) => NewUpdate { message: message.name(), raw, ..bare(UpdateFate::Edited) },
            None => ignored("an edit that cannot be read", chat),
        },
        SenderReply::Serve(_) if !is_for_bot(&message, &rules) => ignored("not meant for this bot", chat),
        SenderReply::Serve(sender) => {
            tracing::debug!(update_id, chat, "an update waits for its turn");
            let headers = Headers {
                session: bot.session(&ReplyTarget::new(&message)),
                sender: sender.to_string(),
                queue: queue_of(&message, &rules),
                answers: answers(&message, sender, &rules),
            };
            let (album, message, raw) = (message.album(), message.name(), raw.to_owned());
            NewUpdate { album, message, raw, ..bare(UpdateFate::Pending(headers)) }
        }
    }
}
