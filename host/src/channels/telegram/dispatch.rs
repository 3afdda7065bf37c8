//! Gives work to the lanes and starts what may start, until the stop; then waits for what is under way.

use super::answer;
use super::arriving::Signs;
use super::bot::{Bot, Bots};
use super::lanes::{LaneKey, Lanes, Unit};
use super::prepare::{Todo, prepare, queue_of};
use super::running::By;
use super::send::Target;
use super::wire;
use crate::store::{BoundTurn, Queue, Reply, Standing, Update};
use cofferdam_core::counts::COUNTS;
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

/// Work that arrives, in the order of arrival.
#[derive(Debug)]
pub(super) enum Arrival {
    /// A reply with something left to send.
    Reply(Reply),
    /// A turn that a crash cut off.
    Bound(BoundTurn),
    /// An update that waits for its turn.
    Update(Update),
}

/// Units that are held in memory. Beyond it the poller waits; the rest is safe in the inbox or with
/// Telegram.
pub(super) const UNITS_MAX: usize = 256;

/// Arrivals between the poller and the lanes.
pub(super) const ARRIVALS_MAX: usize = 16;

/// What is cut off gets so long to notice, on top of the grace.
const CUT_OFF_MAX: Duration = Duration::from_secs(2);

/// Runs until the arrivals end or the bot stops.
pub(super) async fn dispatch(bots: Bots, mut arrivals: mpsc::Receiver<Arrival>) {
    let mut bot = bots.borrow().clone();
    let mut lanes = Lanes::new(bot.timing.album_window, bot.timing.album_cap);
    let mut tasks = JoinSet::new();
    let mut busy: HashMap<Id, LaneKey> = HashMap::new();
    let mut signs = Signs::default();
    loop {
        bot.clone_from(&bots.borrow());
        while let Some((key, unit)) = lanes.begin(Instant::now()) {
            let task = tasks.spawn(answer::work(bot.clone(), unit, signs.take(key)));
            busy.insert(task.id(), key);
        }
        signs.show(&bot, lanes.arriving());
        COUNTS.held.set(lanes.load() as u64);
        let due = lanes.next_due();
        let beside = tasks.len().saturating_sub(busy.len());
        tokio::select! {
            () = bot.stop.soon.cancelled() => break,
            arrival = arrivals.recv(), if lanes.load() + beside < UNITS_MAX => match arrival {
                Some(arrival) => match stop_wanted(&bots.borrow().clone(), &arrival) {
                    Some((update, target, by)) => {
                        let lane = bot.lane(target.chat, target.thread);
                        let waiting = lanes.waiting(lane);
                        let stopped = bot.running.stop(lane, by, waiting);
                        tasks.spawn(answer::stopped(bot.clone(), update, target, stopped, waiting));
                    }
                    None => add(&bot, &mut lanes, arrival),
                },
                None => break,
            },
            Some(ended) = tasks.join_next_with_id() => {
                let id = match ended {
                    Ok((id, ())) => id,
                    Err(error) => {
                        tracing::error!(%error, "the work for a message failed; the next start tries it again");
                        error.id()
                    }
                };
                if let Some(key) = busy.remove(&id) {
                    lanes.finished(key);
                }
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
        }
    }
    drop(signs);
    wind_down(&bot, tasks).await;
}

/// Lets what is under way finish, for a while.
async fn wind_down(bot: &Bot, mut tasks: JoinSet<()>) {
    bot.stop.soon.cancel();
    let mut all = async || while tasks.join_next().await.is_some() {};
    if timeout(bot.timing.grace, all()).await.is_ok() {
        return;
    }
    bot.stop.now.cancel();
    if timeout(CUT_OFF_MAX, all()).await.is_err() {
        tracing::warn!(turns = tasks.len(), "turns were cut off; the next start runs them again");
    }
}

/// The message that asks to stop what runs in its chat, where it is to be answered, and who asks. It waits for
/// nothing that came before it.
fn stop_wanted(bot: &Bot, arrival: &Arrival) -> Option<(i64, Target, By)> {
    let Arrival::Update(update) = arrival else { return None };
    let message = read(&update.raw).filter(|message| message.media_group_id.is_none())?;
    let rules = bot.rules();
    if queue_of(&message, &rules) != Queue::Turn {
        return None;
    }
    match prepare(vec![message], Standing::First, &rules) {
        Todo::Run(prepared) if prepared.text.trim() == "/cancel" => {
            Some((update.update_id, prepared.target, rules.power_of(prepared.sender)))
        }
        _ => None,
    }
}

fn add(bot: &Bot, lanes: &mut Lanes, arrival: Arrival) {
    let lane_of = |place: Option<(i64, Option<i64>)>| {
        // What belongs to no chat shares one lane.
        let (chat, thread) = place.unwrap_or_default();
        bot.lane(chat, thread)
    };
    match arrival {
        Arrival::Reply(reply) => {
            let target = Target::from_text(&reply.target);
            lanes.push(lane_of(target.map(|target| (target.chat, target.thread))), Unit::Reply(reply));
        }
        Arrival::Bound(turn) => {
            let message = turn.updates.first().and_then(|update| read(&update.raw));
            lanes.push(lane_of(message.map(|message| (message.chat.id, message.thread))), Unit::Bound(turn));
        }
        Arrival::Update(update) => {
            let message = read(&update.raw);
            let key = lane_of(message.as_ref().map(|message| (message.chat.id, message.thread)));
            match message.and_then(|message| Some((message.album()?, message))) {
                Some((album, message)) => {
                    lanes.push_part(key, album.clone(), Instant::now());
                    // In a group the part that says whom it is meant for may be another one.
                    if prepare(vec![message], Standing::First, &bot.rules()) != Todo::Nothing {
                        lanes.awaits(key, &album);
                    }
                }
                None => lanes.push(key, Unit::Update(update.update_id)),
            }
        }
    }
}

impl Bot {
    /// The lane of a chat and topic. A group that moved keeps its lane.
    pub(super) fn lane(&self, chat: i64, thread: Option<i64>) -> LaneKey {
        LaneKey { chat: self.door.moves.home(chat), thread }
    }
}

fn read(raw: &str) -> Option<wire::Message> {
    wire::Update::read(raw)?.message
}
