//! Long polling: persist a batch, then confirm it, for as long as the program runs. Whatever goes wrong
//! is waited out; only a refused token ends it.

use super::admit::{Admission, admit};
use super::bot::Bot;
use super::dispatch::Arrival;
use super::failure::Failure;
use super::prepare::concerns_us;
use super::send::Target;
use super::wire::{Update, find_update_id};
use super::{Flow, hand_on, words};
use crate::outbound::Backoff;
use crate::store::{Fate, NewPart, NewReply, NewUpdate, PartKind, Persisted, Stranger};
use serde::Serialize;
use serde_json::value::RawValue;
use std::time::Duration;
use teloxide_core::requests::Payload;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Updates of one answer.
const BATCH_MAX: u8 = 100;
/// Telegram holds the poll; the request may take this much longer.
const OVERTIME: Duration = Duration::from_secs(15);
/// After a quiet week update ids start anew at a random number: an offset this old is not sent.
const OFFSET_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// So often an answer may be unreadable before its updates are fetched one by one, and before one alone
/// is passed over.
const UNREADABLE_MAX: u32 = 2;

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
pub(super) async fn poll(bot: &Bot, arrivals: &mpsc::Sender<Arrival>) -> Result<(), Failure> {
    let mut cursor = Cursor::default();
    let mut trouble = Trouble::default();
    loop {
        let polled = tokio::select! {
            biased;
            () = bot.stop.soon.cancelled() => return Ok(()),
            polled = ask(bot, &cursor) => polled,
        };
        let taken = match polled {
            Ok(batch) => take(bot, batch, &mut cursor, arrivals).await,
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
                if let Failure::Unreadable(text) = &failure {
                    cursor.pass_over(text);
                }
                trouble.pause(&failure)
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = bot.stop.soon.cancelled() => return Ok(()),
        }
    }
}

async fn ask(bot: &Bot, cursor: &Cursor) -> Result<Vec<Box<RawValue>>, Failure> {
    let request = GetUpdates {
        offset: cursor.offset(),
        limit: cursor.limit,
        timeout: bot.timing.long_poll.as_secs(),
        // Edits change nothing that ran, so they are not asked for.
        allowed_updates: &["message"],
    };
    let result = bot.api.call(&request, bot.timing.long_poll + OVERTIME).await?;
    serde_json::from_str(result.get()).map_err(|_| Failure::Unreachable("getUpdates brings no list".into()))
}

/// Persists a batch, then moves the cursor, then hands the work on; waits where there is too much of it.
async fn take(
    bot: &Bot,
    batch: Vec<Box<RawValue>>,
    cursor: &mut Cursor,
    arrivals: &mpsc::Sender<Arrival>,
) -> Result<Flow, Failure> {
    let mut updates = Vec::with_capacity(batch.len());
    for raw in &batch {
        match Update::read(raw.get()) {
            Some(update) => updates.push(judged(bot, update, raw.get())),
            None => tracing::error!("an update without an id was passed over"),
        }
    }
    if updates.is_empty() && !batch.is_empty() {
        return Err(Failure::Unreachable("getUpdates brings updates without ids".into()));
    }
    let last = updates.iter().map(|update| update.update_id).max();
    let persist = || bot.store.persist(&bot.channel, updates.clone());
    let persisted = if updates.is_empty() {
        Some(Persisted::default())
    } else {
        bot.stored("persist updates", persist).await
    };
    let Some(Persisted { pending, replies }) = persisted else { return Ok(Flow::Stops) };
    cursor.advance(last);
    let replies = replies.into_iter().map(Arrival::Reply);
    for arrival in replies.chain(pending.into_iter().map(Arrival::Update)) {
        if hand_on(bot, arrivals, arrival).await == Flow::Stops {
            return Ok(Flow::Stops);
        }
    }
    Ok(Flow::Goes)
}

/// An update with its fate, which its sender decides before anything else.
fn judged(bot: &Bot, update: Update, raw: &str) -> NewUpdate {
    let update_id = update.update_id;
    let ignored = |why: &str| {
        tracing::debug!(update_id, why, "an update is ignored");
        NewUpdate { update_id, album: None, raw: String::new(), fate: Fate::Ignored }
    };
    let Some(message) = update.message else { return ignored("no message") };
    match admit(&message, &bot.allowed) {
        Admission::Ignore(why) => ignored(why),
        Admission::Tell(sender) => {
            let body = words::to_stranger(sender);
            let reply = NewReply {
                target: Target::answering(&message).to_text(),
                parts: vec![NewPart { kind: PartKind::Text, body }],
            };
            let stranger = Stranger { sender: sender.to_string(), reply };
            NewUpdate { update_id, album: None, raw: String::new(), fate: Fate::Stranger(stranger) }
        }
        Admission::Serve(_) if !concerns_us(&message, &bot.me) => ignored("not meant for this bot"),
        Admission::Serve(_) => {
            NewUpdate { update_id, album: message.album(), raw: raw.to_owned(), fate: Fate::Pending }
        }
    }
}

/// What has been confirmed, and how much is asked for.
struct Cursor {
    next: Option<(i64, Instant)>,
    limit: u8,
    unreadable: u32,
}

impl Default for Cursor {
    fn default() -> Self {
        Self { next: None, limit: BATCH_MAX, unreadable: 0 }
    }
}

impl Cursor {
    fn offset(&self) -> Option<i64> {
        self.next.filter(|(_, since)| since.elapsed() < OFFSET_AGE_MAX).map(|(offset, _)| offset)
    }

    /// Everything up to `last` is persisted.
    fn advance(&mut self, last: Option<i64>) {
        self.unreadable = 0;
        if last.is_none() {
            self.limit = BATCH_MAX;
        }
        if let Some(last) = last {
            let next = last.saturating_add(1);
            self.next = Some((self.offset().map_or(next, |offset| offset.max(next)), Instant::now()));
        }
    }

    /// An answer was not JSON. If it stays so, the updates are fetched one by one, and one that cannot
    /// be read even alone is passed over: it would block all others for ever.
    fn pass_over(&mut self, text: &str) {
        self.unreadable += 1;
        if self.unreadable < UNREADABLE_MAX {
            return;
        }
        if self.limit > 1 {
            (self.limit, self.unreadable) = (1, 0);
            return;
        }
        // Only the Bot API begins so. A portal's page must not move the cursor.
        if !text.starts_with(r#"{"ok":true,"result":["#) {
            return;
        }
        // With the queue confirmed below the offset, one more confirms at most this very update.
        let id = find_update_id(text).or(self.offset());
        if let Some(id) = id {
            tracing::error!(
                update_id = id,
                "an update that is not JSON is passed over; its sender is not answered"
            );
            self.next = Some((self.offset().unwrap_or(id).max(id).saturating_add(1), Instant::now()));
            (self.limit, self.unreadable) = (BATCH_MAX, 0);
        }
    }
}

/// Pauses, and one line in the log for each change for the worse or the better.
struct Trouble {
    backoff: Backoff,
    said: Option<String>,
}

impl Default for Trouble {
    fn default() -> Self {
        Self { backoff: Backoff::new(Duration::from_millis(500), Duration::from_secs(30)), said: None }
    }
}

impl Trouble {
    fn pause(&mut self, failure: &Failure) -> Duration {
        let pause = self.backoff.pause();
        let (said, pause) = match failure {
            Failure::Conflict(why) if why.contains("webhook") => {
                ("a webhook is set for this bot, so it cannot be polled; remove it with the Bot API's deleteWebhook".to_owned(), pause)
            }
            Failure::Conflict(_) => {
                ("another program polls with this bot's token; stop it, or give this one a bot of its own".to_owned(), pause)
            }
            Failure::TooMany(asked) => ("Telegram asks for a pause".to_owned(), pause.max(*asked)),
            other => (other.to_string(), pause),
        };
        if self.said.as_ref() != Some(&said) {
            tracing::warn!("polling fails: {said}");
            self.said = Some(said);
        }
        pause
    }

    fn over(&mut self) {
        if self.said.take().is_some() {
            tracing::info!("polling works again");
        }
        self.backoff.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_only_grows_and_is_forgotten_after_a_quiet_day() {
        let mut cursor = Cursor::default();
        assert_eq!(cursor.offset(), None);
        cursor.advance(Some(10));
        cursor.advance(None);
        cursor.advance(Some(3));
        assert_eq!(cursor.offset(), Some(11));
        cursor.next = Instant::now().checked_sub(OFFSET_AGE_MAX).map(|long_ago| (11, long_ago));
        if cursor.next.is_some() {
            assert_eq!(cursor.offset(), None);
            cursor.advance(Some(3));
            assert_eq!(cursor.offset(), Some(4), "ids may start anew at a lower number");
        }
    }

    #[test]
    fn only_a_real_answer_that_stays_unreadable_is_passed_over() {
        let mut cursor = Cursor::default();
        cursor.advance(Some(10));
        for _ in 0..20 {
            cursor.pass_over("<html>");
        }
        assert_eq!((cursor.offset(), cursor.limit), (Some(11), 1));
        cursor.advance(None);
        for _ in 0..3 {
            cursor.pass_over(r#"{"ok":true,"result":[{"update_id":15,"message":"#);
        }
        assert_eq!((cursor.offset(), cursor.limit), (Some(11), 1));
        cursor.pass_over(r#"{"ok":true,"result":[{"update_id":15,"message":"#);
        assert_eq!((cursor.offset(), cursor.limit), (Some(16), BATCH_MAX));
        for _ in 0..4 {
            cursor.pass_over(r#"{"ok":true,"result":[nonsense]}"#);
        }
        assert_eq!(cursor.offset(), Some(17), "one step at a time");
    }
}
