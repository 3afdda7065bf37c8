//! Long polling: persist a batch, then confirm it, for as long as the program runs. A failure is
//! waited out; only a refused token ends it.

use super::PULSE;
use super::admit::{Admission, admit};
use super::bot::{Bot, Bots};
use super::cursor::{Cursor, Cursored};
use super::failure::Failure;
use super::media::Media;
use super::people::CHANNEL;
use super::prepare::{concerns_us, queue_of};
use super::presses;
use super::rules::Rules;
use super::send::Target;
use super::wire::{ChatKind, Message, Update};
use cofferdam_chat::Trouble;
use cofferdam_chat::answering::{Channel, Flow, arrivals, hand_on};
use cofferdam_chat::lanes::Arrival;
use cofferdam_chat::pulse::goes_on_within;
use cofferdam_chat::runs::{files_of_run, reply_of_run};
use cofferdam_core::id::Caller;
use cofferdam_store::{Answers, Fate, Headers, NewUpdate, Persisted};
use cofferdam_warden::attachments::SentFile;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::time::Duration;
use teloxide_core::requests::Payload;
use tokio::sync::mpsc;

/// The pause after the first failure, and the longest that Telegram did not ask for.
const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// Telegram holds the poll; the request may take this much longer.
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
pub(super) async fn poll(bots: &Bots, lanes: &mpsc::Sender<Arrival>) -> Result<(), Failure> {
    PULSE.known();
    // The first poll comes back at once, and shows whether polling works: a later one lasts as long
    // as nobody writes.
    let mut hold = Duration::ZERO;
    let mut cursor = Cursor::default();
    let mut trouble = Trouble::new("polling", PAUSE_FIRST, PAUSE_MAX);
    loop {
        let bot = bots.borrow().clone();
        let polled = tokio::select! {
            biased;
            () = bot.base.stop.soon.cancelled() => return Ok(()),
            polled = ask(&bot, &cursor, hold) => polled,
        };
        // A poll lasts long: who sent what it brings is judged by what is configured now.
        let bot = bots.borrow().clone();
        let taken = match polled {
            Ok(batch) => {
                PULSE.answered(batch.len());
                hold = bot.timing.long_poll;
                take(&bot, batch, &mut cursor, lanes).await
            }
            Err(failure) => Err(failure),
        };
        let pause = match taken {
            Ok(Flow::Goes) => {
                trouble.over();
                continue;
            }
            Ok(Flow::Stops) => return Ok(()),
            Err(failure @ Failure::Unauthorized(_)) => return Err(failure),
            Err(failure) => {
                if let Failure::Unreadable(text) = &failure
                    && cursor.pass_over(text) == Cursored::Moved
                {
                    trouble.over();
                }
                let (said, asked) = said(&failure);
                trouble.pause(said, asked)
            }
        };
        goes_on_within(pause);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = bot.base.stop.soon.cancelled() => return Ok(()),
        }
    }
}

/// Why polling fails, in words, and the pause that Telegram asks for.
fn said(failure: &Failure) -> (String, Option<Duration>) {
    match failure {
        Failure::Conflict(why) if why.contains("webhook") => {
            ("a webhook is set for this bot, so it cannot be polled; remove it with the Bot API's deleteWebhook".to_owned(), None)
        }
        Failure::Conflict(_) => {
            ("another program polls with this bot's token; stop it, or give this one a bot of its own".to_owned(), None)
        }
        Failure::TooMany(asked) => ("Telegram asks for a pause".to_owned(), Some(*asked)),
        other => (other.to_string(), None),
    }
}

/// Asks for updates, which Telegram may hold so long if there are none.
async fn ask(bot: &Bot, cursor: &Cursor, hold: Duration) -> Result<Vec<Box<RawValue>>, Failure> {
    let request = GetUpdates {
        offset: cursor.offset(),
        limit: cursor.limit,
        timeout: hold.as_secs(),
        allowed_updates: &["message", "edited_message", "callback_query"],
    };
    goes_on_within(hold + OVERTIME);
    let result = bot.api.call(&request, hold + OVERTIME).await;
    goes_on_within(Duration::ZERO);
    let result = result?;
    bot.presence.polled(CHANNEL);
    serde_json::from_str(result.get()).map_err(|_| Failure::Unreachable("getUpdates brings no list".into()))
}

/// Persists a batch, hands the work on, which never waits for work to be done, then moves the
/// cursor.
async fn take(
    bot: &Bot,
    batch: Vec<Box<RawValue>>,
    cursor: &mut Cursor,
    lanes: &mpsc::Sender<Arrival>,
) -> Result<Flow, Failure> {
    let (mut updates, mut presses) = (Vec::with_capacity(batch.len()), Vec::new());
    for raw in &batch {
        match Update::read(raw.get()) {
            Some(mut update) => {
                presses.extend(update.press.take());
                if let Some(message) = &update.message
                    && bot.noted_move(message).await.is_none()
                {
                    return Ok(Flow::Stops);
                }
                updates.push(judged(bot, update, raw.get()).await);
            }
            None => tracing::error!("an update without an id was passed over"),
        }
    }
    if updates.is_empty() && !batch.is_empty() {
        return Err(Failure::Unreachable("getUpdates brings updates without ids".into()));
    }
    if presses::take(bot, presses).await == Flow::Stops {
        return Ok(Flow::Stops);
    }
    let last = updates.iter().map(|update| update.update_id).max();
    let base = &bot.base;
    let persist = || base.store.persist(&base.channel, updates.clone());
    let persisted = if updates.is_empty() {
        Some(Persisted::default())
    } else {
        base.stored("persist updates", persist).await
    };
    let Some(persisted) = persisted else { return Ok(Flow::Stops) };
    for arrival in arrivals::of_batch(bot, &updates, persisted) {
        if hand_on(&bot.base, lanes, arrival).await == Flow::Stops {
            return Ok(Flow::Stops);
        }
    }
    // Work begins while the disk takes them in; what the next poll confirms has to outlast the
    // power as well.
    if last.is_some() && base.stored("settle updates", || base.store.settle()).await.is_none() {
        return Ok(Flow::Stops);
    }
    let again = last.is_some() && last < cursor.offset();
    cursor.advance(last);
    if again {
        // A server that ignores the offset must not keep this loop busy.
        return Err(Failure::Unreachable("getUpdates repeats what was confirmed".into()));
    }
    Ok(Flow::Goes)
}

/// What a message of a person replies to, where a run may wait for that.
fn answers(message: &Message, sender: i64, rules: &Rules) -> Option<Answers> {
    let replied = message.reply_to.as_ref().filter(|_| message.chat.kind == ChatKind::Private)?;
    if replied.from?.id != rules.me.id || message.besides.forwarded.is_some() {
        return None;
    }
    let file = |media: &Media| {
        let declared = media.declared();
        json!({ "name": declared.name, "mime_type": declared.mime_type, "bytes": declared.size })
    };
    let files: Vec<_> = message.media.iter().map(file).collect();
    let from = Caller { channel: CHANNEL.to_owned(), sender: sender.to_string() };
    let own = message.message_id?.to_string();
    Some(Answers {
        message: replied.message_id?.to_string(),
        text: replied.text.clone(),
        reply: reply_of_run(&from, &message.text, &own, &files),
        files: files_of_run(message.media.as_slice()),
    })
}

/// An update with its fate, which its sender decides before anything else.
async fn judged(bot: &Bot, update: Update, raw: &str) -> NewUpdate {
    let update_id = update.update_id;
    let ignored = |why: &str, chat: Option<i64>| {
        tracing::debug!(update_id, why, chat, "an update is ignored");
        NewUpdate { update_id, album: None, message: None, raw: String::new(), fate: Fate::Ignored }
    };
    let rules = bot.rules();
    let (message, edited) = match (update.message, update.edited) {
        (Some(message), _) => (message, false),
        (None, Some(message)) => (message, true),
        (None, None) => return ignored("no message", None),
    };
    let chat = Some(message.chat.id);
    match admit(&message, &rules.allowed, rules.group(&message).members) {
        Admission::Ignore(why) => ignored(why, chat),
        // They were told when they wrote it.
        Admission::Tell(_) if edited => ignored("an edit of a stranger", chat),
        Admission::Tell(sender) => {
            let fate = Fate::Stranger(bot.stranger(&message, sender).await);
            NewUpdate { update_id, album: None, message: None, raw: String::new(), fate }
        }
        // It changes what waits; what ran, or was not meant for this bot, stays as it is.
        Admission::Serve(_) if edited => match Update::as_sent(raw) {
            Some(raw) => {
                let message = message.name();
                NewUpdate { update_id, album: None, message, raw, fate: Fate::Edited }
            }
            None => ignored("an edit that cannot be read", chat),
        },
        Admission::Serve(_) if !concerns_us(&message, &rules) => ignored("not meant for this bot", chat),
        Admission::Serve(sender) => {
            tracing::debug!(update_id, chat, "an update waits for its turn");
            let headers = Headers {
                session: bot.session(&Target::answering(&message)),
                sender: sender.to_string(),
                queue: queue_of(&message, &rules),
                answers: answers(&message, sender, &rules),
            };
            let (album, raw, fate) = (message.album(), raw.to_owned(), Fate::Pending(headers));
            NewUpdate { update_id, album, message: message.name(), raw, fate }
        }
    }
}
