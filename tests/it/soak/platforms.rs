//! How each platform fails, and what of that nobody hears.

use super::faults::Random;
use serde_json::Value;
use std::time::Duration;
use support::discord::{Incoming as DiscordMessage, Scope};
use support::platform::{Discord, Message, Platform, Telegram, Written};
use support::telegram::Incoming as TelegramMessage;
pub(super) use support::telegram::{Effect, RequestRecord};
use support::telegram::{Fault, Target};

/// A platform that fails.
pub(super) trait Soaked: Platform {
    /// Requests at whose moments the gateway is killed.
    const REQUESTS: &'static [&'static str];
    /// Tasks of a gateway that nobody asks for anything, connections apart: the monitor and its
    /// answer, two that wait for signals, those that reload, take a reload over, stop, look for
    /// people who are let in, prune and note, and one for each pool of connections; and those of
    /// this channel.
    const TASKS_MAX: u64;
    /// The clock jumps by at most so many seconds, to and fro: less than anything is forgotten
    /// after.
    const JUMP_MAX: u64;

    /// The variables that hold the bot's tokens, and those.
    fn tokens(&self) -> Vec<(&'static str, String)> {
        vec![(Self::TOKEN, self.token().to_owned())]
    }
    /// What is logged when the bot hears.
    fn readies() -> Vec<&'static str> {
        vec![Self::READY]
    }
    /// Whether what is said again in this place is there once.
    fn sends_once(_: i64) -> bool {
        Self::SENDS_ONCE
    }

    /// One request goes wrong, or a connection; says what. Some take effect all the same, and
    /// nobody hears of it.
    fn fail(&self, random: &mut Random) -> String;
    /// Takes back what did not happen.
    fn clear_faults(&self);
    /// People write, and the events come in another order than their numbers say.
    fn write_reordered(&self, messages: Vec<Message>, random: &mut Random) -> Vec<Written>;
    /// Where a request says something, to which message, and what; none when it is no message.
    fn said(request: &RequestRecord) -> Option<(i64, i64, String)>;
    /// How many requests from this number on are of this kind.
    fn request_count(&self, kind: &str, since: u64) -> usize;
}

impl Soaked for Telegram {
    const REQUESTS: &'static [&'static str] = &["getUpdates", "getFile", "sendChatAction", "sendMessage"];
    const TASKS_MAX: u64 = 12;
    const JUMP_MAX: u64 = 2 * 24 * 60 * 60;

    fn fail(&self, random: &mut Random) -> String {
        let unheard = [Fault::close_in_head(), Fault::truncated(9), Fault::internal_error().after_effect()];
        let refused = [
            Fault::internal_error(),
            Fault::bad_gateway(),
            Fault::close(),
            Fault::too_many_requests(1),
            Fault::garbage(),
            Fault::empty_body(),
            Fault::refused_with_200(500, "Internal Server Error"),
        ];
        let fault = random.one_of(&refused);
        let (which, told) = (random.below(8), format!("{fault:?}"));
        match which {
            0 => self.0.fault("sendMessage", 1, random.one_of(&unheard)),
            1 | 2 => self.0.fault("sendMessage", 1, fault),
            3 => self.0.fault("getUpdates", 1, fault),
            4 => self.0.fault("getUpdates", 1, random.one_of(&unheard)),
            5 => self.0.fault("getFile", 1, fault),
            6 => self.0.fault(Target::download(), 1, Fault::truncated(random.below(40))),
            _ => self.0.fault("sendChatAction", 2, fault),
        }
        format!("{which}: {told}")
    }

    fn clear_faults(&self) {
        self.0.clear_faults();
    }

    fn write_reordered(&self, messages: Vec<Message>, random: &mut Random) -> Vec<Written> {
        let incoming: Vec<TelegramMessage> = messages.into_iter().map(Self::incoming).collect();
        let base = 800_000_000 + i64::try_from(self.next_request()).expect("few") * 100;
        let ids: Vec<i64> = (base..).take(incoming.len()).collect();
        let shift = random.below(incoming.len() as u64) as usize;
        let shifted = ids.iter().cycle().skip(shift);
        // What a message says of its time is as odd as its number.
        let mut odd = |one: TelegramMessage, id: i64| match random.once_in(5) {
            true => one.update_id(id).field("date", 1_700_000_000 + random.below(1 << 31) as i64 - (1 << 30)),
            false => one.update_id(id),
        };
        let incoming: Vec<_> = incoming.into_iter().zip(shifted).map(|(one, id)| odd(one, *id)).collect();
        self.0.push_all(incoming).iter().map(Self::written).collect()
    }

    fn said(request: &RequestRecord) -> Option<(i64, i64, String)> {
        let params = &request.params;
        let to = params.get("reply_parameters")?["message_id"].as_i64()?;
        let text = params.get("text").and_then(Value::as_str).unwrap_or_default();
        Some((params.get("chat_id")?.as_i64()?, to, text.to_owned()))
    }

    fn request_count(&self, kind: &str, since: u64) -> usize {
        self.0.request_count(kind, since)
    }
}

impl Soaked for Discord {
    const REQUESTS: &'static [&'static str] = &["typing", "create_message", "edit_message", "gateway"];
    const TASKS_MAX: u64 = 12;
    /// After a lost session the messages of the last 24 h are asked for.
    const JUMP_MAX: u64 = 20 * 60 * 60;

    fn fail(&self, random: &mut Random) -> String {
        let unheard = [Fault::close_in_head(), Fault::truncated(9), Fault::server_error(500).after_effect()];
        let pause = Duration::from_millis(200);
        let refused = [
            Fault::server_error(500),
            Fault::server_error(503),
            Fault::bad_gateway(),
            Fault::close(),
            Fault::garbage(),
            Fault::empty_body(),
            Fault::rate_limited(pause, Scope::User),
            Fault::rate_limited(pause, Scope::Shared),
            Fault::rate_limited(pause, Scope::Global),
        ];
        let fault = random.one_of(&refused);
        let (which, resumable, told) = (random.below(10), random.once_in(2), format!("{fault:?}"));
        match which {
            0 | 1 => self.0.fault("create_message", 1, random.one_of(&unheard)),
            2 | 3 => self.0.fault("create_message", 1, fault),
            4 => self.0.fault(Target::download(), 1, Fault::truncated(random.below(40))),
            5 => self.0.fault("typing", 2, fault),
            6 => self.0.break_gateway(),
            7 => self.0.close_gateway(random.one_of(&[4000, 4008, 4009, 1001])),
            8 => self.0.request_reconnect(),
            _ => self.0.invalidate_sessions(resumable),
        }
        format!("{which}: {told}, or resumable: {resumable}")
    }

    fn clear_faults(&self) {
        self.0.clear_faults();
    }

    fn write_reordered(&self, messages: Vec<Message>, random: &mut Random) -> Vec<Written> {
        let incoming: Vec<DiscordMessage> = messages.into_iter().map(Self::incoming).collect();
        let pushed = self.0.push_all(incoming.into_iter().map(DiscordMessage::untold));
        let shift = random.below(pushed.len() as u64) as usize;
        for one in pushed.iter().cycle().skip(shift).take(pushed.len()) {
            self.0.push_event("MESSAGE_CREATE", &one.message);
        }
        pushed.iter().map(Self::written).collect()
    }

    fn said(request: &RequestRecord) -> Option<(i64, i64, String)> {
        let params = &request.params;
        let number = |value: &Value| value.as_str()?.parse().ok();
        let to = number(&params.get("message_reference")?["message_id"])?;
        let text = params.get("content").and_then(Value::as_str).unwrap_or_default();
        Some((number(params.get("channel_id")?)?, to, text.to_owned()))
    }

    fn request_count(&self, kind: &str, since: u64) -> usize {
        self.0.request_count(kind, since)
    }
}
