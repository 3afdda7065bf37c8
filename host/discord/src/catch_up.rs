//! What was said while nobody listened: after a session is lost, each place where somebody was
//! answered is asked for the messages from a while before the last known one on. Those meant for
//! the bot are answered once, as all others are known already.

use super::api::RequestBody;
use super::bot::DiscordBot;
use super::events::{judge_message, keep, place_read};
use super::failure::ApiFailure;
use super::route::{self, Route};
use super::target::{first_id_of, made_at};
use super::wire::{Snowflake, id};
use cofferdam_agent::server::Backoff;
use cofferdam_chat::handler::CurrentChannel;
use cofferdam_chat::session_queue::Arrival;
use cofferdam_core::lock::lock;
use cofferdam_store::ReplyPlace;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// Messages that are older are not asked for.
const AGE_MAX_MS: i64 = 24 * 60 * 60 * 1000;
/// Messages so much older than the last known one are asked for: events need not come in the order
/// of their messages, so of an older one none may have come.
const OVERLAP_MS: i64 = 60 * 1000;
/// By so much no clock is behind Discord's.
const SKEW_MAX_MS: i64 = 60 * 1000;
/// Messages of one page; Discord gives no more.
const PAGE: usize = 100;
/// Pages of one place; of more messages the latest are left out, and told in the log.
pub(super) const PAGES_MAX: usize = 50;
/// Events of a session wait so long in all for what was said before: a press among them is to be
/// acknowledged within 3 s.
const WAITED_MAX: Duration = Duration::from_secs(2);

/// What was said before a session began, as far as nobody has asked for it yet.
pub(super) struct MissedMessages {
    bots: CurrentChannel<DiscordBot>,
    arrivals: mpsc::Sender<Arrival>,
    session: String,
    /// Places that are to be asked, the latest first, and the last message known of each.
    open: watch::Sender<Vec<ReplyPlace>>,
    /// How long events may still wait in all.
    patience: Mutex<Duration>,
}

impl MissedMessages {
    /// Begins to ask, before anything of this session is kept; `None` once the program stops.
    pub(super) async fn begin(
        bots: &CurrentChannel<DiscordBot>,
        arrivals: &mpsc::Sender<Arrival>,
        session: String,
        asking: &mut JoinSet<()>,
    ) -> Option<Arc<Self>> {
        let base = bots.borrow().base.clone();
        let look = || base.store.places(&base.channel);
        let places = base.store_until_done("look up places", look).await?;
        if !places.is_empty() {
            tracing::info!(places = places.len(), "a session was lost: asking for what was said meanwhile");
        }
        let (open, patience) = (watch::Sender::new(places), Mutex::new(WAITED_MAX));
        let (bots, arrivals) = (bots.clone(), arrivals.clone());
        let missed = Arc::new(Self { bots, arrivals, session, open, patience });
        // Those that have ended take no memory.
        while asking.try_join_next().is_some() {}
        asking.spawn(missed.clone().ask_all());
        Some(missed)
    }

    /// Asks each place, then notes that it was done for this session. What it is cut off at the
    /// next start asks again.
    async fn ask_all(self: Arc<Self>) {
        let base = self.bots.borrow().base.clone();
        let mut known = Vec::new();
        let next = || self.open.borrow().first().cloned();
        while let Some(ReplyPlace { place, last, unasked }) = next() {
            if let Some(at) = place_read(&place) {
                let look = || base.store.known_since();
                let since = base.store_until_done("look up since when updates are known", look).await;
                let Some(since) = since else { return };
                let now = self.bots.borrow().api.platform_now_ms();
                let after = asked_after((last, unasked), since, now);
                match ask_place(&self.bots, &self.arrivals, at, after).await {
                    Ok(last) => known.push(ReplyPlace { place: place.clone(), last, unasked: false }),
                    Err(Unasked::Refused(failure)) => {
                        let note = || base.store.note_unasked(&base.channel, &place);
                        let noted = base.store_until_done("note that a place cannot be asked", note).await;
                        let Some(is_new) = noted else { return };
                        tell_unasked(&place, &failure, is_new);
                    }
                    Err(Unasked::Stops) => return,
                }
            }
            self.open.send_modify(|open| open.retain(|one| one.place != place));
        }
        let done = || base.store.mark_caught_up(&base.channel, &self.session, known.clone());
        base.store_until_done("note that all was asked for", done).await;
    }

    /// Has a place be asked next and waits for that, so that what is said there now is kept after
    /// what was said before; not for long, since presses wait behind it.
    pub(super) async fn wait_for(&self, place: &str) {
        let mut open = self.open.subscribe();
        self.open.send_modify(|open| {
            if let Some(at) = open.iter().position(|one| one.place == place) {
                open[..=at].rotate_right(1);
            }
        });
        let (since, patience) = (Instant::now(), *lock(&self.patience));
        let asked = open.wait_for(|open| open.iter().all(|one| one.place != place));
        let _ = timeout(patience, asked).await;
        *lock(&self.patience) = patience.saturating_sub(since.elapsed());
    }
}

/// The message after which a place is asked whose last known one this is. What came before
/// `known_since` may have been answered and forgotten since: of that nothing is asked for again.
/// But what came after the last known one is new, except where that is `unasked`.
fn asked_after((last, unasked): (Snowflake, bool), known_since: Option<i64>, now: i64) -> Snowflake {
    let known_since = known_since.map_or(i64::MIN, |at| at.saturating_add(SKEW_MAX_MS));
    let since = first_id_of((made_at(last) - OVERLAP_MS).max(known_since));
    let since = if unasked { since } else { since.min(last) };
    since.max(oldest_asked_for(now))
}

/// Messages up to this one are not asked for: if they have not come, they never do.
pub(super) fn oldest_asked_for(now: i64) -> Snowflake {
    first_id_of(now - AGE_MAX_MS)
}

/// Why a place is not asked to its end.
enum Unasked {
    /// The bot cannot look there now.
    Refused(ApiFailure),
    Stops,
}

/// Tells the operator once, and not with each session that finds the same.
fn tell_unasked(place: &str, failure: &ApiFailure, is_new: bool) {
    if is_new {
        tracing::warn!(
            place,
            %failure,
            "what was said in a place meanwhile cannot be read; it is asked for again when another session begins"
        );
    } else {
        tracing::debug!(place, %failure, "a place still cannot be asked for what was said meanwhile");
    }
}

/// Asks a place; all up to the message that comes back are known then.
async fn ask_place(
    bots: &CurrentChannel<DiscordBot>,
    arrivals: &mpsc::Sender<Arrival>,
    (guild, channel): (Option<Snowflake>, Snowflake),
    mut after: Snowflake,
) -> Result<Snowflake, Unasked> {
    for _ in 0..PAGES_MAX {
        let bot = bots.borrow().clone();
        let mut page = page(&bot, channel, after).await?;
        page.sort_by_key(|message| id(&message["id"]));
        for message in &mut page {
            let Some(number) = id(&message["id"]).filter(|number| *number > after) else { continue };
            after = number;
            // Of messages that were asked for Discord does not say it.
            if let Some(guild) = guild {
                message["guild_id"] = guild.to_string().into();
            }
            if let Some(judged) = judge_message(&bot, message).await {
                keep(&bot, arrivals, judged, None).await.ok_or(Unasked::Stops)?;
            }
        }
        if page.len() < PAGE {
            return Ok(after);
        }
    }
    tracing::warn!(channel, "too many messages were missed; the latest are not looked at");
    Ok(after)
}

/// Messages after one; waits for a network that is down, or brings something else.
async fn page(bot: &DiscordBot, channel: Snowflake, after: Snowflake) -> Result<Vec<Value>, Unasked> {
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
    let query = [("after", after.to_string()), ("limit", PAGE.to_string())];
    loop {
        match bot.api.call(&Route::bot(route::MESSAGES, &[channel]), RequestBody::Query(&query)).await {
            Ok(Value::Array(page)) => return Ok(page),
            // Of somebody on the way: what was said there is not known by it.
            Ok(_) => tracing::debug!(channel, "what was said meanwhile cannot be read"),
            Err(failure @ ApiFailure::Refused { .. }) => return Err(Unasked::Refused(failure)),
            Err(ApiFailure::Unauthorized) => return Err(Unasked::Stops),
            Err(_) => {}
        }
        let pause = tokio::time::sleep(backoff.pause());
        bot.base.stop.soon.run_until_cancelled(pause).await.ok_or(Unasked::Stops)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_while_before_the_last_known_message_is_asked_for_unless_it_may_be_forgotten() {
        const MINUTE: i64 = 60 * 1000;
        let now = 1_800_000_000_000;
        let last = first_id_of(now - 10 * MINUTE) + 5;
        let after = |known_since| asked_after((last, false), known_since, now);
        assert_eq!(after(None), first_id_of(now - 11 * MINUTE));
        assert_eq!(after(Some(now - 12 * MINUTE)), first_id_of(now - 11 * MINUTE));
        // What came within the minute before the last one is known in part.
        assert_eq!(after(Some(now - 11 * MINUTE - 1)), first_id_of(now - 10 * MINUTE - 1));
        assert_eq!(after(Some(now - 10 * MINUTE)), last);
        assert_eq!(after(Some(now + MINUTE)), last);
        let old = first_id_of(now - 2 * AGE_MAX_MS);
        assert_eq!(asked_after((old, false), None, now), first_id_of(now - AGE_MAX_MS));
        let unasked = |known_since| asked_after((last, true), known_since, now);
        assert_eq!(unasked(None), first_id_of(now - 11 * MINUTE));
        assert_eq!(unasked(Some(now - 5 * MINUTE)), first_id_of(now - 4 * MINUTE), "it may be answered");
    }
}
