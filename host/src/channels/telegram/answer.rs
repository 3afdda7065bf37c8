//! The work of one unit: bind it to a turn, fetch its files, run it, store its reply, send it.
//!
//! At every point a crash leaves either the turn to be run again or the reply to be sent; never both,
//! never neither.

use super::approvals::Desk;
use super::arriving::Sign;
use super::bot::Bot;
use super::came::Came;
use super::download::fetch_all;
use super::mailbox::Mailbox;
use super::placeholder::Placeholder;
use super::prepare::{Prepared, Todo, prepare};
use super::recent::{self, Earlier};
use super::send::{StandIn, Target};
use super::typing::Typing;
use super::upload::MANNERS;
use super::wire;
use super::words;
use crate::outbound::{Opening, deliver, plan};
use crate::store::{BoundTurn, Claim, NewReply, Reply};
use crate::turn::lanes::{Slot, Stopped, Stopping, Unit};
use crate::turn::{ATTEMPTS_MAX, Progress, Turn};
use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::message::OutgoingResponse;
use std::sync::Arc;
use tokio::task::JoinSet;

/// The name of this channel in the audit and in what a provider sees.
const CHANNEL: &str = "telegram";

/// Does one unit's work. Returns early, leaving everything for the next start, when the bot stops.
///
/// `sign` is shown for it already.
pub(super) async fn work(bot: Arc<Bot>, unit: Unit, sign: Option<Sign>) {
    let reply = match unit {
        Unit::Reply(reply) => Some(reply),
        Unit::Bound(turn) => answer(&bot, Origin::Bound(turn), sign).await,
        Unit::Message(claim) => answer(&bot, Origin::Waiting(claim), sign).await,
        Unit::Stop(stopping, found) => stopped(&bot, stopping, found).await,
    };
    if let Some(reply) = reply {
        deliver(&bot.store, &*bot, reply, &bot.stop.soon).await;
        bot.sweep().await;
    }
}

/// Answers the message that stopped a turn, may not, or found none: what was stopped says so in its own answer.
async fn stopped(bot: &Bot, stopping: Stopping, found: Stopped) -> Option<Reply> {
    let claim = || bot.store.claim(&bot.channel, Claim::Update(stopping.update_id));
    let turn = bot.stored("bind a turn", claim).await??.turn;
    let said = match found {
        Stopped::Turn => {
            return bot.stored("dismiss a turn", || bot.store.dismiss(&turn)).await.and(None);
        }
        Stopped::Anothers => words::NOT_YOURS_TO_STOP.to_owned(),
        Stopped::Nothing => words::nothing_runs(waiting(bot, &stopping.session, None).await?),
    };
    let response = OutgoingResponse::text(said);
    let reply = NewReply { target: stopping.target, parts: plan(response, &MANNERS, Opening::Fresh) };
    bot.stored("store a reply", || bot.store.end(&bot.channel, &turn, reply.clone())).await
}

/// How many messages of a session wait for their turn, besides the one that stopped it; `None` once the bot stops.
async fn waiting(bot: &Bot, session: &SessionId, besides: Option<i64>) -> Option<usize> {
    bot.stored("count messages", || bot.store.count_waiting(&bot.channel, session, besides)).await
}

/// Where a turn's updates come from.
enum Origin {
    Bound(BoundTurn),
    Waiting(Claim),
}

/// Ends a turn; its reply, unless nobody is to be answered or the bot stops.
async fn answer(bot: &Arc<Bot>, origin: Origin, sign: Option<Sign>) -> Option<Reply> {
    if bot.stop.soon.is_cancelled() {
        return None;
    }
    // Held while working, not while sending: a chat that must wait to be sent to holds no other up.
    let (slot, mut typing) = match sign {
        Some(Sign { slot, typing }) => (slot, Some(typing)),
        None => (Slot::among(&bot.permits), None),
    };
    let (bound, before) = match origin {
        Origin::Bound(bound) => {
            let left = bot.stored("look for a placeholder", || bot.store.placeholder(&bound.turn)).await?;
            (bound, left)
        }
        Origin::Waiting(claim) => {
            let claimed =
                bot.stored("bind a turn", || bot.store.claim(&bot.channel, claim.clone())).await??;
            (claimed, None)
        }
    };
    let turn = bound.turn.clone();
    let messages =
        bound.updates.iter().filter_map(|update| wire::Update::read(&update.raw)?.message).collect();
    let mut noting = None;
    let (target, response) = match prepare(messages, bound.standing, &bot.rules()) {
        Todo::Nothing => {
            bot.stored("dismiss a turn", || bot.store.dismiss(&turn)).await;
            return None;
        }
        Todo::Say(target, text) => (target, OutgoingResponse::text(text)),
        Todo::Run(prepared) => {
            let mut target = prepared.target;
            typing.get_or_insert_with(|| Typing::start(bot.api.clone(), target, slot.clone()));
            let came = Came::with(bot, &prepared).await?;
            noting = recent::to_note(bot, &prepared, &came, None).await?;
            tokio::select! {
                biased;
                // It is bound, and runs at the next start.
                () = bot.stop.soon.cancelled() => return None,
                () = slot.take() => {}
            }
            let placeholder = Placeholder::start(bot.clone(), turn.clone(), target, before);
            let begun = Begun { prepared: *prepared, came, progress: placeholder.progress(), slot };
            let response = attempt(bot, turn.clone(), begun).await;
            // Before the reply is stored, which says what becomes of it.
            target.stand_in = placeholder.end().await;
            (target, response?)
        }
    };
    let opening = match target.stand_in {
        Some(StandIn::Edit(_)) => Opening::Standing,
        Some(StandIn::Delete(_)) | None => Opening::Fresh,
    };
    let reply = NewReply { target: target.to_text(), parts: plan(response, &MANNERS, opening) };
    let end = || bot.store.end_noting(&bot.channel, &turn, reply.clone(), noting.clone());
    let reply = bot.stored("store a reply", end).await;
    // From here on the stored reply says which blobs are needed.
    bot.outgoing.release(&turn);
    if let Some(typing) = typing {
        typing.end().await;
    }
    reply
}

/// A turn that is about to run.
struct Begun {
    prepared: Prepared,
    came: Came,
    progress: Arc<dyn Progress>,
    slot: Arc<Slot>,
}

/// Runs a turn, unless it was begun too often and never ended; `None` when it was cut off.
async fn attempt(bot: &Arc<Bot>, turn: TurnId, begun: Begun) -> Option<OutgoingResponse> {
    let caller = caller(&begun.prepared);
    let count = bot.stored("count an attempt", || bot.store.attempt(&turn, &caller)).await?;
    if count > ATTEMPTS_MAX {
        tracing::error!(%turn, "a turn was begun {ATTEMPTS_MAX} times, never ended, and is given up");
        return Some(OutgoingResponse::text(words::given_up(ATTEMPTS_MAX)));
    }
    let response = run(bot, turn.clone(), begun).await;
    if response.is_none()
        && let Err(error) = bot.store.withdraw_attempt(&turn).await
    {
        tracing::warn!(%turn, %error, "a turn that the stop cut off counts as one that failed");
    }
    response
}

/// Runs a turn; `None` when it was cut off.
///
/// In a task of its own: should anything in it panic, the person is told, and the gateway goes on.
async fn run(bot: &Arc<Bot>, id: TurnId, begun: Begun) -> Option<OutgoingResponse> {
    let (task_bot, task_id) = (bot.clone(), id.clone());
    let mut task = JoinSet::new();
    task.spawn(async move { run_turn(&task_bot, task_id, begun).await });
    match task.join_next().await? {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(turn = %id, %error, "a turn failed");
            Some(OutgoingResponse::text(words::BROKEN))
        }
    }
}

async fn run_turn(bot: &Arc<Bot>, id: TurnId, begun: Begun) -> Option<OutgoingResponse> {
    let Begun { prepared, came, progress, slot } = begun;
    let (session, caller) = (session(bot, &prepared.target), caller(&prepared));
    let run = bot.running.begin(session.clone(), caller.sender.clone(), &bot.stop.now);
    let files = came.files();
    let mailbox = Mailbox {
        bot: bot.clone(),
        turn: id.clone(),
        sender: prepared.sender,
        question: came,
        progress: progress.clone(),
    };
    let earlier = Earlier::of(bot.clone(), &prepared);
    let desk = Desk { bot: bot.clone(), target: prepared.target, sender: prepared.sender, slot };
    let attachments = tokio::select! {
        attachments = fetch_all(bot, files, &*progress) => attachments,
        () = run.cancel().cancelled() => {
            let by = run.end().filter(|_| !bot.stop.now.is_cancelled())?;
            let waiting = waiting(bot, &session, Some(by)).await?;
            return Some(OutgoingResponse::text(words::CANCELLED.to_owned() + &words::waiting_too(waiting)));
        }
    };
    let turn = Turn {
        id,
        session: Some(session.clone()),
        caller,
        text: prepared.text,
        about: prepared.about,
        profiles: prepared.profiles.map(Arc::new),
        attachments,
        recent: Some(Arc::new(earlier)),
        approver: Some(Arc::new(desk)),
        steering: Some(Arc::new(mailbox)),
        notices: prepared.notices,
    };
    let mut response = bot.runner.run(turn, progress, run.cancel()).await;
    if let (Some(by), Some(text)) = (run.end(), &mut response.text) {
        text.push_str(&words::waiting_too(waiting(bot, &session, Some(by)).await?));
    }
    // A turn that was cut off answers so; that is for nobody to read, since it will run again.
    (!bot.stop.now.is_cancelled()).then_some(response)
}

fn caller(prepared: &Prepared) -> Caller {
    Caller { channel: CHANNEL.into(), sender: prepared.sender.to_string() }
}

/// A chat and topic of this bot. A group that moved keeps its session.
pub(super) fn session(bot: &Bot, target: &Target) -> SessionId {
    let home = bot.door.moves.home(target.chat);
    SessionId::new(format!("{}:{home}/{}", bot.channel, target.thread.unwrap_or_default()))
}
