//! The door: who is served besides those whom the configuration names, what strangers are told, and telling those
//! whom the operator lets in while the bot runs.

use super::arrivals;
use super::bot::{Bot, Bots};
use super::config::Config;
use super::groups::Groups;
use super::moves::Moves;
use super::rules::Rules;
use super::send::Target;
use super::start::{Flow, hand_on};
use super::wire::Message;
use super::words;
use crate::store::people::{Listed, NewCode, Paired, People, PeopleError, Waiting};
use crate::store::{NewPart, NewReply, PartKind, STRANGER_TOLD_MAX, Stranger, now_ms};
use crate::turn::lanes::Arrival;
use cofferdam_core::id::TurnId;
use cofferdam_core::limits::Span;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// This channel in the file of people.
const CHANNEL: &str = "telegram";
/// How often it is looked whether somebody was let in, to tell them so. Who is served is looked up for each message.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Who was let in longer ago is not told any more: the store has forgotten whether they were.
const TOLD_AGE_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Who comes in.
#[derive(Clone, Debug)]
pub(super) struct Door {
    /// Those whom the configuration names.
    pub(super) configured: BTreeSet<i64>,
    pub(super) people: People,
    /// How long a code is good; absent where strangers get none.
    pub(super) pairing: Option<Span>,
    pub(super) groups: Arc<Groups>,
    pub(super) moves: Moves,
    /// Whether the file of people cannot be read, which is said once.
    failing: Arc<AtomicBool>,
}

impl Door {
    /// As a configuration has it.
    pub(super) fn new(config: &Config, people: People, moves: Moves) -> Self {
        let (named, others) = (config.groups.clone(), config.other_groups);
        Self {
            configured: config.allowed_users.iter().copied().collect(),
            people,
            pairing: config.pairing.then_some(config.pairing_expires),
            groups: Arc::new(Groups { named, others }),
            moves,
            failing: Arc::default(),
        }
    }

    /// Everybody in the file now; nobody, while it cannot be read.
    fn listed(&self) -> Arc<Listed> {
        match self.people.listed() {
            Ok(listed) => {
                self.failing.store(false, Ordering::Relaxed);
                listed
            }
            Err(error) => {
                if !self.failing.swap(true, Ordering::Relaxed) {
                    tracing::error!(%error, "only people whom the configuration names are served");
                }
                Arc::default()
            }
        }
    }

    /// Those who were let in here.
    fn paired(&self) -> Vec<Paired> {
        self.listed().paired.iter().filter(|one| one.channel == CHANNEL).cloned().collect()
    }

    /// How many were let in besides those whom the configuration names.
    pub(super) fn let_in(&self) -> usize {
        let here = self.paired();
        here.iter().filter_map(number).filter(|id| !self.configured.contains(id)).count()
    }
}

fn number(one: &Paired) -> Option<i64> {
    one.sender.parse().ok().filter(|id| *id > 0)
}

impl Bot {
    /// What holds now. The file of people is looked at each time, so that a removal holds from the next message on.
    pub(super) fn rules(&self) -> Rules {
        let Door { configured, groups, moves, .. } = &self.door;
        let mut allowed = configured.clone();
        allowed.extend(self.door.paired().iter().filter_map(number));
        let whose = self.runner.whose();
        Rules { allowed, groups: groups.clone(), moves: moves.clone(), me: self.me.clone(), whose }
    }

    /// What a stranger in private may be told. One who was told so often that nothing more is said gets no code either.
    pub(super) async fn stranger(&self, message: &Message, sender: i64) -> Stranger {
        let name = sender.to_string();
        let look = || self.store.times_told(&self.channel, &name);
        let times = self.stored("look up a stranger", look).await;
        let code = match times.is_some_and(|times| times < STRANGER_TOLD_MAX) {
            true => self.code(message, sender).await,
            false => None,
        };
        let body = words::to_stranger(sender, code.as_ref().zip(self.door.pairing));
        let since = code.map_or(0, |code| code.issued_at);
        let target = Target::answering(message).to_text();
        let reply = NewReply { target, parts: vec![NewPart { kind: PartKind::Text, body }] };
        Stranger { sender: name, since, reply }
    }

    /// The code of a stranger; none where it cannot be had.
    async fn code(&self, message: &Message, sender: i64) -> Option<Waiting> {
        let lasts = self.door.pairing?;
        let (now, sender) = (now_ms(), sender.to_string());
        let mine = |one: &&Waiting| one.channel == CHANNEL && one.sender == sender && one.expires_at > now;
        if let Some(mine) = self.door.listed().waiting.iter().find(mine) {
            return Some(mine.clone());
        }
        let expires_at = now.saturating_add(i64::try_from(lasts.0.as_millis()).unwrap_or(i64::MAX));
        let name = message.besides.name.clone();
        let new = NewCode { channel: CHANNEL.to_owned(), sender, name, expires_at };
        let people = self.door.people.clone();
        let made = tokio::task::spawn_blocking(move || {
            let mut edit = people.edit()?;
            let code = edit.code(new, now)?;
            edit.commit()?;
            Ok::<_, PeopleError>(code)
        });
        match made.await {
            Ok(Ok(Some(code))) => Some(code),
            Ok(Ok(None)) => {
                tracing::warn!("a stranger gets no code, since too many wait; see `cofferdam allow`");
                None
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "a stranger gets no code");
                None
            }
            Err(_) => None,
        }
    }
}

/// Tells people that they were let in, takes out old codes, and wakes whoever waits for somebody who was removed;
/// until the bot stops.
pub(super) async fn watch(bots: Bots, lanes: mpsc::Sender<Arrival>) {
    let mut before: Arc<Listed> = Arc::default();
    loop {
        let bot = bots.borrow().clone();
        let listed = bot.door.listed();
        if listed != before {
            bot.approvals.decided.send_replace(());
            for one in bot.door.paired() {
                if welcome(&bot, &one, &lanes).await == Flow::Stops {
                    return;
                }
            }
            before = listed;
        }
        if before.waiting.iter().any(|one| one.expires_at <= now_ms()) {
            forget_expired(&bot).await;
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = bot.stop.soon.cancelled() => return,
        }
    }
}

/// Tells somebody that they are served, once.
async fn welcome(bot: &Bot, one: &Paired, lanes: &mpsc::Sender<Arrival>) -> Flow {
    let Some(chat) = number(one).filter(|_| one.since > now_ms() - TOLD_AGE_MS) else { return Flow::Goes };
    let turn = TurnId::new(format!("{}-allowed-{chat}-{}", bot.channel, one.since));
    let target = Target { chat, thread: None, reply_to: None, stand_in: None }.to_text();
    let part = NewPart { kind: PartKind::Text, body: words::LET_IN.to_owned() };
    let reply = NewReply { target, parts: vec![part] };
    let tell = || bot.store.tell(&bot.channel, &turn, reply.clone());
    match bot.stored("tell somebody that they are served", tell).await {
        Some(Some(reply)) => hand_on(bot, lanes, arrivals::reply(bot, reply)).await,
        Some(None) => Flow::Goes,
        None => Flow::Stops,
    }
}

async fn forget_expired(bot: &Bot) {
    let people = bot.door.people.clone();
    let forgotten = tokio::task::spawn_blocking(move || {
        let mut edit = people.edit()?;
        if edit.forget_expired(now_ms()) { edit.commit() } else { Ok(()) }
    });
    if let Ok(Err(error)) = forgotten.await {
        tracing::warn!(%error, "old codes cannot be taken out now");
    }
}
