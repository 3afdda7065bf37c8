//! What was said while nobody listened: after a session is lost, each place where somebody was
//! answered is asked for the messages after the last known one. Those meant for the bot are
//! answered once, as all others are known already.

use super::api::RequestBody;
use super::bot::{Bots, DiscordBot};
use super::events::{judge_message, keep, place_read};
use super::failure::ApiFailure;
use super::route::{self, Route, Snowflake};
use super::target::first_id_of;
use super::wire::id;
use cofferdam_agent::server::Backoff;
use cofferdam_chat::session_queue::Arrival;
use cofferdam_store::{ReplyPlace, now_ms};
use serde_json::Value;
use std::time::Duration;
use tokio::sync::mpsc;

/// Messages that are older are not asked for.
const AGE_MAX_MS: i64 = 24 * 60 * 60 * 1000;
/// Messages of one page; Discord gives no more.
const PAGE: usize = 100;
/// Pages of one place; of more messages the latest are left out, and told in the log.
pub(super) const PAGES_MAX: usize = 50;

/// Asks each place, then notes that it was done for this session. What it is cut off at the next
/// start asks again.
pub(super) async fn catch_up(bots: Bots, arrivals: mpsc::Sender<Arrival>, session: String) {
    let base = bots.borrow().base.clone();
    let look = || base.store.places(&base.channel);
    let Some(places) = base.store_until_done("look up places", look).await else { return };
    if !places.is_empty() {
        tracing::info!(places = places.len(), "a session was lost: asking for what was said meanwhile");
    }
    let mut known = Vec::new();
    for ReplyPlace { place, last } in places {
        let Some((guild, channel)) = place_read(&place) else { continue };
        let after = last.max(first_id_of(now_ms() - AGE_MAX_MS));
        match ask_places(&bots, &arrivals, (guild, channel), after).await {
            CatchUp::Until(last) => known.push(ReplyPlace { place, last }),
            CatchUp::Gone => {}
            CatchUp::Stops => return,
        }
    }
    let done = || base.store.mark_caught_up(&base.channel, &session, known.clone());
    base.store_until_done("note that all was asked for", done).await;
}

/// What came of asking a place.
enum CatchUp {
    /// All up to this message are known.
    Until(Snowflake),
    /// The bot cannot look there any more.
    Gone,
    Stops,
}

async fn ask_places(
    bots: &Bots,
    arrivals: &mpsc::Sender<Arrival>,
    (guild, channel): (Option<Snowflake>, Snowflake),
    mut after: Snowflake,
) -> CatchUp {
    for _ in 0..PAGES_MAX {
        let bot = bots.borrow().clone();
        let mut page = match page(&bot, channel, after).await {
            Ok(page) => page,
            Err(asked) => return asked,
        };
        page.sort_by_key(|message| id(&message["id"]));
        for message in &mut page {
            let Some(number) = id(&message["id"]).filter(|number| *number > after) else { continue };
            after = number;
            // Of messages that were asked for Discord does not say it.
            if let Some(guild) = guild {
                message["guild_id"] = guild.to_string().into();
            }
            if let Some(judged) = judge_message(&bot, message).await
                && keep(&bot, arrivals, judged, None).await.is_none()
            {
                return CatchUp::Stops;
            }
        }
        if page.len() < PAGE {
            return CatchUp::Until(after);
        }
    }
    tracing::warn!(channel, "too many messages were missed; the latest are not looked at");
    CatchUp::Until(after)
}

/// Messages after one; waits for a network that is down.
async fn page(bot: &DiscordBot, channel: Snowflake, after: Snowflake) -> Result<Vec<Value>, CatchUp> {
    let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
    let query = [("after", after.to_string()), ("limit", PAGE.to_string())];
    loop {
        match bot.api.call(&Route::bot(route::MESSAGES, &[channel]), RequestBody::Query(&query)).await {
            Ok(Value::Array(page)) => return Ok(page),
            Ok(_) => return Ok(Vec::new()),
            Err(failure @ ApiFailure::Refused { .. }) => {
                tracing::info!(channel, %failure, "a place cannot be asked for what was said meanwhile");
                return Err(CatchUp::Gone);
            }
            Err(ApiFailure::Unauthorized) => return Err(CatchUp::Stops),
            Err(_) => {}
        }
        let pause = tokio::time::sleep(backoff.pause());
        bot.base.stop.soon.run_until_cancelled(pause).await.ok_or(CatchUp::Stops)?;
    }
}
