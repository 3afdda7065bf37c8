//! The door: who is served besides those whom the configuration names, what strangers are told, and telling those
//! whom the operator lets in while the bot runs.

use super::bot::{Bot, Bots};
use super::config::Config;
use super::groups::Groups;
use super::moves::Moves;
use super::names::Names;
use super::rules::Rules;
use super::send::Target;
use super::start::{Flow, hand_on};
use super::wire::Message;
use super::words;
use cofferdam_chat::Guests;
use cofferdam_chat::answering::arrivals;
use cofferdam_chat::lanes::Arrival;
use cofferdam_core::id::TurnId;
use cofferdam_core::limits::Span;
use cofferdam_store::people::{Listed, Paired};
use cofferdam_store::{NewPart, NewReply, PartKind, STRANGER_TOLD_MAX, Stranger, now_ms};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// The name of this channel in the audit, in what a provider sees and in the file of people.
pub(super) const CHANNEL: &str = "telegram";
/// How often it is looked whether somebody was let in, to tell them so. Who is served is looked up for each message.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Who was let in longer ago is not told any more: the store has forgotten whether they were.
const TOLD_AGE_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Who comes in.
#[derive(Clone, Debug)]
pub(super) struct Door {
    /// Those whom the configuration names.
    pub(super) configured: BTreeSet<i64>,
    /// Those whom the operator lets in besides.
    pub(super) guests: Guests,
    /// How long a code is good; absent where strangers get none.
    pub(super) pairing: Option<Span>,
    pub(super) groups: Arc<Groups>,
    pub(super) moves: Moves,
    /// What those who come in are called.
    pub(super) names: Names,
}

impl Door {
    /// As a configuration has it.
    pub(super) fn new(config: &Config, guests: Guests, (moves, names): (Moves, Names)) -> Self {
        let (named, others) = (config.groups.clone(), config.other_groups);
        Self {
            configured: config.allowed_users.iter().copied().collect(),
            guests,
            pairing: config.pairing.then_some(config.pairing_expires),
            groups: Arc::new(Groups { named, others }),
            moves,
            names,
        }
    }

    /// How many were let in besides those whom the configuration names.
    pub(super) fn let_in(&self) -> usize {
        let here = self.guests.paired();
        here.iter().filter_map(number).filter(|id| !self.configured.contains(id)).count()
    }
}

fn number(one: &Paired) -> Option<i64> {
    one.sender.parse().ok().filter(|id| *id > 0)
}

impl Bot {
    /// What holds now.
    pub(super) fn rules(&self) -> Rules {
        let Door { configured, groups, moves, .. } = &self.door;
        let mut allowed = configured.clone();
        allowed.extend(self.door.guests.paired().iter().filter_map(number));
        let whose = self.base.runner.whose();
        Rules { allowed, groups: groups.clone(), moves: moves.clone(), me: self.me.clone(), whose }
    }

    /// What a stranger in private may be told. One who was told so often that nothing more is said gets no code either.
    pub(super) async fn stranger(&self, message: &Message, sender: i64) -> Stranger {
        let name = sender.to_string();
        let base = &self.base;
        let look = || base.store.times_told(&base.channel, &name);
        let times = base.stored("look up a stranger", look).await;
        let lasts = self.door.pairing.filter(|_| times.is_some_and(|times| times < STRANGER_TOLD_MAX));
        let code = match lasts {
            Some(lasts) => self.door.guests.code(&name, &message.besides.name, lasts).await,
            None => None,
        };
        let body = match (code.as_ref(), times) {
            (Some(code), Some(1..)) => words::another_code(code),
            (code, _) => words::to_stranger(sender, code),
        };
        let since = code.map_or(0, |code| code.issued_at);
        let target = Target::answering(message).to_text();
        let reply = NewReply { target, parts: vec![NewPart { kind: PartKind::Text, body }] };
        Stranger { sender: name, since, reply }
    }
}

/// Tells people that they were let in, takes out old codes, and wakes whoever waits for somebody who was removed;
/// until the bot stops.
pub(super) async fn watch(bots: Bots, lanes: mpsc::Sender<Arrival>) {
    let mut before: Arc<Listed> = Arc::default();
    loop {
        let bot = bots.borrow().clone();
        let listed = bot.door.guests.listed();
        if listed != before {
            bot.base.desk.look_again();
            for one in bot.door.guests.paired() {
                if welcome(&bot, &one, &lanes).await == Flow::Stops {
                    return;
                }
            }
            before = listed;
        }
        if before.waiting.iter().any(|one| !one.is_good(now_ms())) {
            bot.door.guests.forget_expired().await;
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = bot.base.stop.soon.cancelled() => return,
        }
    }
}

/// Tells somebody that they are served, once.
async fn welcome(bot: &Bot, one: &Paired, lanes: &mpsc::Sender<Arrival>) -> Flow {
    let Some(chat) = number(one).filter(|_| one.since > now_ms() - TOLD_AGE_MS) else { return Flow::Goes };
    let turn = TurnId::new(format!("{}-allowed-{chat}-{}", bot.base.channel, one.since));
    let target = Target { chat, thread: None, reply_to: None, stand_in: None }.to_text();
    let part = NewPart { kind: PartKind::Text, body: words::LET_IN.to_owned() };
    let reply = NewReply { target, parts: vec![part] };
    let tell = || bot.base.store.tell(&bot.base.channel, &turn, reply.clone());
    match bot.base.stored("tell somebody that they are served", tell).await {
        Some(Some(reply)) => hand_on(bot, lanes, arrivals::reply(bot, reply)).await,
        Some(None) => Flow::Goes,
        None => Flow::Stops,
    }
}
