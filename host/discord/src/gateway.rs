//! The gateway's life: connections one after the other, each resumed where the last one ended,
//! until the stop. A failure is waited out; only one that would come again ends it.

use super::PULSE;
use super::address;
use super::api::{AGENT, BucketWait, REQUEST_MAX, RequestBody};
use super::bot::{CHANNEL, DiscordBot};
use super::catch_up::MissedMessages;
use super::connection::{Connection, ConnectionEnd, EVENTS_MAX, identify, resume};
use super::events::EventReader;
use super::failure::ApiFailure;
use super::route::{self, Route};
use super::socket::connect;
use cofferdam_agent::server::{ServerScope, client};
use cofferdam_chat::handler::CurrentChannel;
use cofferdam_chat::loop_health::note_next_within;
use cofferdam_chat::session_queue::Arrival;
use cofferdam_chat::setup::ServeError;
use cofferdam_chat::{ASKED_WAIT_MAX, RetryPauses};
use reqwest::Url;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The pause after the first failure, and the longest.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// A connection that lasted so long was a good one: the next is made at once.
const GOOD_AFTER: Duration = Duration::from_secs(10);
/// Heartbeats are at most so far apart, with some room: a loop that is silent for longer stands.
const SILENCE_MAX: Duration = Duration::from_secs(180);

/// What is asked for of Discord.
const GUILDS: u64 = 1;
const GUILD_MESSAGES: u64 = 1 << 9;
const DIRECT_MESSAGES: u64 = 1 << 12;
const MESSAGE_CONTENT: u64 = 1 << 15;

/// How the gateway is reached.
pub(super) struct GatewayAddress {
    pub(super) api: ServerScope,
    pub(super) message_content: bool,
    /// Where the token is, in words.
    pub(super) token_place: String,
}

impl GatewayAddress {
    /// Ends the program: the token is refused with HTTP status 401, or close code 4004.
    pub(super) fn token_error(&self, code: u16) -> ServeError {
        let place = &self.token_place;
        ServeError::Refused(format!(
            "Discord does not accept the bot's token in {place} ({code}); make another one in Discord's Developer Portal (Bot, Reset Token), and put it there"
        ))
    }
}

/// What comes next.
enum NextConnection {
    Again,
    Pause(String, Option<Duration>),
    Stops,
    /// It would fail again.
    Over(ServeError),
}

/// What lasts from one connection to the next.
struct GatewayState<'a> {
    /// Takes events, and knows the session that they are of.
    reader: EventReader<'a>,
    gateway: GatewayAddress,
    client: reqwest::Client,
    /// At the address to resume at nobody answers, or no session goes on: the first one takes its
    /// place.
    at_first: bool,
    /// Since when the last connection has a session, and whether that is one that was resumed.
    up: Option<(Instant, bool)>,
    taken: AtomicI64,
    /// What asks for what was said before the session.
    behind: JoinSet<()>,
}

/// Listens until the stop. `announce` is called once events come.
pub(super) async fn listen(
    bots: &CurrentChannel<DiscordBot>,
    gateway: GatewayAddress,
    arrivals: &mpsc::Sender<Arrival>,
    announce: impl FnOnce() + Send,
) -> Result<(), ServeError> {
    let bot = bots.borrow().clone();
    let client = client(gateway.api, AGENT)
        .http1_only()
        .build()
        .map_err(|error| ServeError::Client(error.without_url().to_string()))?;
    let stream = bot.base.store.stream(&bot.base.channel).await?;
    let taken = AtomicI64::new(stream.as_ref().map_or(-1, |stream| stream.position.number));
    let reader = EventReader { bots, arrivals, api: gateway.api, stream, missed: None };
    let (at_first, up, behind) = (false, None, JoinSet::new());
    let mut life = GatewayState { reader, gateway, client, at_first, up, taken, behind };
    // Of a session that is resumed not all may have been asked for.
    if let Some(stream) = life.reader.stream.as_ref().filter(|stream| stream.behind) {
        let session = stream.position.session.clone();
        life.reader.missed = MissedMessages::begin(bots, arrivals, session, &mut life.behind).await;
    }
    let mut trouble = RetryPauses::new("the gateway", PAUSE_FIRST, PAUSE_MAX);
    let mut announce = Some(announce);
    let stop = bot.base.stop.soon.clone();
    let unauthorized = bot.api.unauthorized.clone();
    let ended = loop {
        let next = tokio::select! {
            biased;
            () = unauthorized.cancelled() => NextConnection::Over(life.gateway.token_error(401)),
            next = life.connection(&mut announce) => next,
        };
        let (said, asked) = match next {
            NextConnection::Stops => break Ok(()),
            NextConnection::Again => continue,
            NextConnection::Pause(said, asked) => (said, asked),
            NextConnection::Over(error) => break Err(error),
        };
        let lasted = life.up.is_some_and(|(since, _)| since.elapsed() >= GOOD_AFTER);
        // One that was resumed was no failure. New sessions are: there are so many a day.
        if lasted || life.up.is_some_and(|(_, resumed)| resumed) {
            trouble.clear();
        }
        if lasted {
            tracing::info!("connecting to the gateway again: {said}");
            continue;
        }
        let pause = trouble.pause(said, asked);
        note_next_within(pause + SILENCE_MAX);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => break Ok(()),
            () = unauthorized.cancelled() => break Err(life.gateway.token_error(401)),
        }
    };
    // With what is known of it the next start asks again.
    life.behind.shutdown().await;
    ended
}

impl GatewayState<'_> {
    /// One connection, from its address to its end.
    async fn connection(&mut self, announce: &mut Option<impl FnOnce()>) -> NextConnection {
        let bot = self.reader.bots.borrow().clone();
        self.up = None;
        note_next_within(SILENCE_MAX);
        let url = match self.address(&bot).await {
            Ok(url) => url,
            Err(next) => return next,
        };
        let stop = &bot.base.stop.soon;
        let socket = match stop.run_until_cancelled(connect(&self.client, &url)).await {
            None => return NextConnection::Stops,
            Some(Ok(socket)) => socket,
            Some(Err(said)) => {
                // The first address stands in for one that does not answer.
                let again = self.reader.stream.is_some() && !self.at_first;
                self.at_first = !self.at_first;
                return if again { NextConnection::Again } else { NextConnection::Pause(said, None) };
            }
        };
        let ended = self.speak(&bot, socket, announce).await;
        self.note(&bot).await;
        match ended {
            ConnectionEnd::Stopped => NextConnection::Stops,
            ConnectionEnd::Resume(said) => NextConnection::Pause(said, None),
            ConnectionEnd::Anew(said) => {
                self.reader.stream = None;
                NextConnection::Pause(said, None)
            }
            ConnectionEnd::Fatal(4004) => NextConnection::Over(self.gateway.token_error(4004)),
            ConnectionEnd::Fatal(code) => {
                let why = describe_close_code(code);
                let said = format!("Discord closes the connection ({code}): {why}");
                NextConnection::Over(ServeError::Refused(said))
            }
        }
    }

    /// Where to connect to now.
    async fn address(&mut self, bot: &DiscordBot) -> Result<Url, NextConnection> {
        let resumed = self.reader.stream.as_ref().filter(|_| !self.at_first);
        if let Some(url) =
            resumed.and_then(|stream| address::gateway(&stream.position.address, self.gateway.api))
        {
            return Ok(url);
        }
        let route = Route::bot(route::GATEWAY, &[]);
        // A pause that is asked for is one of this loop, which tells of it.
        let at_once = (REQUEST_MAX, BucketWait::Now);
        let asked = bot.api.call_within(&route, RequestBody::Nothing, at_once);
        let answer = match bot.base.stop.soon.run_until_cancelled(asked).await {
            None => return Err(NextConnection::Stops),
            Some(Ok(answer)) => answer,
            Some(Err(ApiFailure::Unauthorized)) => {
                return Err(NextConnection::Over(self.gateway.token_error(401)));
            }
            Some(Err(failure)) => {
                let said = failure.to_string();
                let asked = match failure {
                    ApiFailure::TooMany(wait) => Some(wait),
                    _ => None,
                };
                return Err(NextConnection::Pause(said, asked));
            }
        };
        if let Some(wait) =
            wait_for_sessions(&answer["session_start_limit"]).filter(|_| self.reader.stream.is_none())
        {
            let said = format!("no session can be begun for {} s more", wait.as_secs());
            return Err(NextConnection::Pause(said, Some(wait)));
        }
        let url = address::gateway(answer["url"].as_str().unwrap_or_default(), self.gateway.api);
        url.ok_or_else(|| {
            NextConnection::Pause("GET /gateway/bot tells no address of Discord's".into(), None)
        })
    }

    /// Speaks over a connection, and keeps what comes until the last of it is kept.
    async fn speak(
        &mut self,
        bot: &DiscordBot,
        socket: super::socket::Socket,
        announce: &mut Option<impl FnOnce()>,
    ) -> ConnectionEnd {
        let (events, mut came) = mpsc::channel(EVENTS_MAX);
        let intents = GUILDS | GUILD_MESSAGES | DIRECT_MESSAGES;
        let intents = intents | if self.gateway.message_content { MESSAGE_CONTENT } else { 0 };
        let first = match &self.reader.stream {
            Some(stream) => resume(bot.api.token(), &stream.position),
            None => {
                self.taken.store(-1, Ordering::Release);
                identify(bot.api.token(), intents)
            }
        };
        let connection = Connection { socket, taken: &self.taken, events, stop: &bot.base.stop.soon };
        let (presence, heard) = (bot.presence.clone(), bot.presence.clone());
        // Who says hello and begins no session brings nothing.
        let has_begun = AtomicBool::new(false);
        let speaking = connection.run(first, || {
            if has_begun.load(Ordering::Relaxed) {
                PULSE.note_known();
                presence.note_poll(CHANNEL);
            }
            note_next_within(SILENCE_MAX);
        });
        let (taken, behind, up, reader) = (&self.taken, &mut self.behind, &mut self.up, &mut self.reader);
        let taking = async {
            while let Some(event) = came.recv().await {
                let number = event.number;
                let (resumed, begun) = (event.kind == "RESUMED", event.has_begun_session());
                if begun {
                    *up = Some((Instant::now(), resumed));
                    has_begun.store(true, Ordering::Relaxed);
                    heard.note_poll(CHANNEL);
                }
                if reader.take(event).await.is_none() {
                    break;
                }
                taken.store(number, Ordering::Release);
                // A store that failed has had a shorter time noted.
                note_next_within(SILENCE_MAX);
                PULSE.note_answer(usize::from(!begun));
                let Some(stream) = reader.stream.as_ref().filter(|_| begun) else { continue };
                if !resumed {
                    let session = stream.position.session.clone();
                    let asking = MissedMessages::begin(reader.bots, reader.arrivals, session, behind);
                    let Some(missed) = asking.await else { break };
                    reader.missed = Some(missed);
                }
                if let Some(announce) = announce.take() {
                    announce();
                }
            }
        };
        let (ended, ()) = tokio::join!(speaking, taking);
        self.at_first = self.up.is_none() && !self.at_first;
        ended
    }

    /// Notes how far the stream was read, so that less comes again.
    async fn note(&mut self, bot: &DiscordBot) {
        let number = self.taken.load(Ordering::Acquire);
        let Some(stream) = self.reader.stream.as_mut().filter(|stream| stream.position.number < number)
        else {
            return;
        };
        stream.position.number = number;
        if let Err(error) = bot.base.store.advance_stream(&bot.base.channel, stream.position.clone()).await {
            tracing::debug!(%error, "how far the gateway was read is not noted");
        }
    }
}

/// What a close code means that would come again.
fn describe_close_code(code: u16) -> &'static str {
    match code {
        4010 => "the shard is not valid; run one gateway for this bot, or a newer release",
        4011 => {
            "the bot is in so many guilds that it must be sharded, which this program does not do; leave some"
        }
        4012 => "this version of the gateway is not served any more; run a newer release",
        4014 => {
            "the Message Content intent is off; switch it on in Discord's Developer Portal under Bot, or set message_content = false in [channels.discord]"
        }
        4013 => "an intent is unknown to it; run a newer release",
        _ => "it would close it again; run a newer release",
    }
}

/// How long no session can be begun, if none can; at most [`ASKED_WAIT_MAX`].
pub(super) fn wait_for_sessions(limit: &Value) -> Option<Duration> {
    let after = Duration::from_millis(limit["reset_after"].as_u64().unwrap_or_default());
    (limit["remaining"] == 0).then_some(after.clamp(PAUSE_FIRST, ASKED_WAIT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_at_most_a_second_to_at_most_thirty_and_vary() {
        let row = || {
            let mut trouble = RetryPauses::new("the gateway", PAUSE_FIRST, PAUSE_MAX);
            (0..12).map(|_| trouble.pause("away".into(), None)).collect::<Vec<_>>()
        };
        let all = row();
        assert!(all[0] <= Duration::from_secs(1) && all[0] < all[3] && all[3] < all[6], "{all:?}");
        assert!(all.iter().all(|pause| *pause <= Duration::from_secs(30)), "{all:?}");
        assert!(all[11] >= Duration::from_secs(15) && row() != all, "{all:?}");
    }

    #[test]
    fn what_discord_says_of_sessions_is_waited_for() {
        let wait = |remaining: u64, after: u64| {
            wait_for_sessions(&serde_json::json!({ "remaining": remaining, "reset_after": after }))
        };
        assert_eq!((wait(1, 5000), wait_for_sessions(&Value::Null)), (None, None));
        assert_eq!(wait(0, 5000), Some(Duration::from_secs(5)));
        assert_eq!(wait(0, 0), Some(PAUSE_FIRST), "never at once");
        assert_eq!(wait(0, u64::MAX), Some(ASKED_WAIT_MAX), "then it is asked again");
    }
}
