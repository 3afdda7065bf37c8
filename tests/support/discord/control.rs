//! How the server is to behave: channels, permissions, time, limits, and the gateway.

use std::time::Duration;

use serde_json::{Value, json};

use super::clock::timestamp;
use super::error::RestError;
use super::gateway::{Control, Intent, StartLimit, close_reason, invalid_session};
use super::limits::Rate;
use super::server::DiscordServer;
use super::state::Inner;
use super::world::{ChannelKind, GUILD_ID};

/// Why the bot may not write in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 50013: it lacks the permission.
    MissingPermissions,
    /// 50001: it does not even see the channel.
    MissingAccess,
    /// 160005: the thread is locked.
    LockedThread,
    /// 50007: the person takes no messages from it.
    CannotSendToUser,
    /// 10003: the channel is not there any more.
    UnknownChannel,
}

impl DiscordServer {
    /// Opens a channel of the guild `GUILD_ID`.
    pub fn open_channel(&self, channel: u64) {
        self.open_channel_of(GUILD_ID, channel);
    }

    /// Opens a channel of a guild, which the bot joins if it is new.
    pub fn open_channel_of(&self, guild: u64, channel: u64) {
        self.state.change(|inner| inner.open_channel(channel, ChannelKind::Text, guild));
    }

    /// Opens a thread below a channel of the guild `GUILD_ID`.
    pub fn open_thread(&self, parent: u64, thread: u64) {
        self.state.change(|inner| {
            inner.open_channel(parent, ChannelKind::Text, GUILD_ID);
            inner.open_channel(thread, ChannelKind::Thread { parent }, GUILD_ID);
        });
    }

    /// The private channel of a person, opened if there is none.
    pub fn private_channel(&self, user: u64) -> u64 {
        self.state.change(|inner| {
            let id = inner.clock.next_id();
            inner.world.private_channel(user, id)
        })
    }

    /// From now on the bot may not write there; `None`: it may again.
    pub fn refuse(&self, channel: u64, refusal: Option<Refusal>) {
        let error = refusal.map(|refusal| match refusal {
            Refusal::MissingPermissions => RestError::missing_permissions(),
            Refusal::MissingAccess => RestError::new(403, 50001, "Missing Access"),
            Refusal::LockedThread => RestError::new(400, 160_005, "Thread is locked"),
            Refusal::CannotSendToUser => RestError::new(403, 50007, "Cannot send messages to this user"),
            Refusal::UnknownChannel => RestError::unknown_channel(),
        });
        self.state.change(|inner| {
            if let Some(channel) = inner.world.channels.get_mut(&channel) {
                channel.hidden = refusal == Some(Refusal::MissingAccess);
                channel.refusal = error;
            }
        });
    }

    /// Whether the Message Content intent is on in the Developer Portal; at first it is not.
    pub fn set_message_content(&self, on: bool) {
        self.state.change(|inner| inner.bot.message_content = on);
    }

    /// Further flags of the application, such as `1 << 18`.
    pub fn set_application_flags(&self, flags: u64) {
        self.state.change(|inner| inner.bot.flags = flags);
    }

    /// Moves the server's time on: links, nonces and the tokens of interactions grow older.
    pub fn advance(&self, by: Duration) {
        self.state.change(|inner| inner.clock.advance(by));
    }

    /// Has the server's time be so far behind the machine's, and told with each answer.
    pub fn set_back(&self, by: Duration) {
        self.state.change(|inner| inner.clock.set_back(by));
    }

    /// Every link so far is over; this second's, too.
    pub fn expire_links(&self) {
        self.state.change(|inner| {
            inner.cdn.expired_until = inner.clock.now_ms() / 1000;
            // So that the next links are of another second.
            inner.clock.advance(Duration::from_secs(1));
        });
    }

    /// The status of links that are over: 404 unless told otherwise.
    pub fn set_expired_status(&self, status: u16) {
        self.state.change(|inner| inner.cdn.refusal = status);
    }

    /// Takes a file away; messages still list it.
    pub fn remove_file(&self, attachment: u64) -> bool {
        self.state.change(|inner| inner.cdn.remove(attachment))
    }

    /// How much each bucket of a route takes from now on.
    pub fn set_rate(&self, route: &str, rate: Rate) {
        let _ = super::inject::checked(route);
        self.state.change(|inner| inner.limits.set_rate(route, rate));
    }

    /// How much is taken over all; `None`: without limit.
    pub fn set_global_rate(&self, rate: Option<Rate>) {
        self.state.change(|inner| inner.limits.set_global(rate));
    }

    /// `heartbeat_interval` of connections to come.
    pub fn set_heartbeat_interval(&self, interval: Duration) {
        self.state.change(|inner| inner.gateway.interval = interval);
    }

    /// Whether connections to come hear nothing at first, not even hello.
    pub fn withhold_hello(&self, withhold: bool) {
        self.state.change(|inner| inner.gateway.withholds_hello = withhold);
    }

    /// Whether identify and resume stay without an answer, also on open connections.
    pub fn withhold_sessions(&self, withhold: bool) {
        self.state.change(|inner| inner.gateway.withholds_sessions = withhold);
    }

    /// Whether heartbeats stay without acknowledgement, also on open connections.
    pub fn withhold_acks(&self, withhold: bool) {
        self.state.change(|inner| inner.gateway.withholds_acks = withhold);
    }

    /// The address of `GET /gateway/bot`.
    pub fn set_gateway_url(&self, url: &str) {
        self.state.change(|inner| inner.gateway.url = url.to_owned());
    }

    /// `resume_gateway_url` of READYs to come; `None` leaves it out.
    pub fn set_resume_url(&self, url: Option<&str>) {
        self.state.change(|inner| inner.gateway.resume_url = url.map(str::to_owned));
    }

    /// `session_start_limit`: how many identifies are left, and when it is full again. An identify
    /// beyond it gets op 9.
    pub fn set_start_limit(&self, remaining: u32, reset_after: Duration) {
        self.state.change(|inner| inner.gateway.limit = StartLimit { remaining, reset_after });
    }

    /// How far identifies must be apart; an earlier one gets op 9. `None`, as at first: not at all.
    pub fn set_identify_pace(&self, pace: Option<Duration>) {
        self.state.change(|inner| inner.gateway.pace = pace);
    }

    /// The next identify is answered by closing with this code; several of these take turns.
    pub fn refuse_identify(&self, code: u16) {
        self.state.change(|inner| inner.gateway.refusals.push(code));
    }

    /// Closes every open connection with this code.
    pub fn close_gateway(&self, code: u16) {
        self.control(&Control::Close(code, close_reason(code)));
    }

    /// Breaks every open connection, without a close frame.
    pub fn break_gateway(&self) {
        self.control(&Control::Drop);
    }

    /// Op 7: clients are to reconnect and resume. The connection stays open.
    pub fn request_reconnect(&self) {
        self.send_payload(&json!({ "op": 7, "d": null, "s": null, "t": null }));
    }

    /// Op 1: clients are to send a heartbeat now.
    pub fn request_heartbeat(&self) {
        self.send_payload(&json!({ "op": 1, "d": null, "s": null, "t": null }));
    }

    /// Op 9: open connections have no session any more; `resumable` tells whether the sessions are
    /// still there.
    pub fn invalidate_sessions(&self, resumable: bool) {
        self.state.change(|inner| {
            if !resumable {
                inner.gateway.sessions.clear();
            }
            inner.gateway.control(&invalid_session(resumable));
            inner.gateway.detach_all();
        });
    }

    /// Forgets every session in silence: whoever resumes gets op 9 `false`.
    pub fn forget_sessions(&self) {
        self.state.change(|inner| inner.gateway.sessions.clear());
    }

    /// Sends a payload on every open connection, outside of all numbering.
    pub fn send_payload(&self, payload: &Value) {
        self.send_text(&payload.to_string());
    }

    /// Sends any text in the place of a payload: not even JSON.
    pub fn send_text(&self, text: &str) {
        self.control(&Control::Text(text.to_owned()));
    }

    /// Discord is away: every connection ends, and so does every new one once it has asked for
    /// something. Requests are recorded without a status.
    pub fn set_away(&self, away: bool) {
        self.state.change(|inner| inner.exchanges.away = away);
        if away {
            self.break_gateway();
        }
    }

    fn control(&self, control: &Control) {
        self.state.change(|inner| inner.gateway.control(control));
    }

    /// The server's time as messages have it.
    pub fn now(&self) -> String {
        self.state.read(|inner| timestamp(inner.clock.now_ms()))
    }
}

impl Inner {
    /// Adds a channel and tells of it, and of its guild, where they are new.
    pub(super) fn open_channel(&mut self, id: u64, kind: ChannelKind, guild: u64) {
        let new_guild = !self.world.guilds.contains_key(&guild);
        if !self.world.add(id, kind, Some(guild), "test-channel") {
            return;
        }
        let (name, data) = match (new_guild, kind) {
            (true, _) => ("GUILD_CREATE", self.world.guild_create(guild)),
            (false, ChannelKind::Thread { .. }) => ("THREAD_CREATE", self.world.channels[&id].to_json()),
            (false, _) => ("CHANNEL_CREATE", self.world.channels[&id].to_json()),
        };
        self.gateway.dispatch(name, Intent::Guilds, &data);
    }
}
