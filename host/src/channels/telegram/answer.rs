//! The work of one unit: bind it to a turn, fetch its files, run it, store its reply, send it.
//!
//! At every point a crash leaves either the turn to be run again or the reply to be sent; never both,
//! never neither.

use super::approvals::Below;
use super::bot::Bot;
use super::came::Came;
use super::download::fetch_all;
use super::mailbox::Reader;
use super::people::CHANNEL;
use super::placeholder::Placeholder;
use super::prepare::{Prepared, Todo, prepare};
use super::recent::{self, Earlier};
use super::send::{StandIn, Target};
use super::upload::MANNERS;
use super::wire;
use crate::outbound::{Opening, deliver, plan};
use crate::store::{BoundTurn, Claim, NewReply, Reply};
use crate::turn::lanes::{Slot, Stopped, Stopping, Unit};
use crate::turn::{Mailbox, Progress, Turn, Working, attempt, words as said};
use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::message::OutgoingResponse;
use std::sync::Arc;

/// Does one unit's work. Returns early, leaving everything for the next start, when the bot stops.
///
/// `sign` is shown for it already.
pub(super) async fn work(bot: Arc<Bot>, unit: Unit, sign: Option<Working>) {
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
        Stopped::Anothers => said::NOT_YOURS_TO_STOP.to_owned(),
        Stopped::Nothing => said::nothing_runs(waiting(bot, &stopping.session, None).await?),
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
async fn answer(bot: &Arc<Bot>, origin: Origin, sign: Option<Working>) -> Option<Reply> {
    if bot.stop.soon.is_cancelled() {
        return None;
    }
    // Held while working, not while sending: a chat that must wait to be sent to holds no other up.
    let (slot, mut alive) = match sign {
        Some(Working { slot, alive }) => (slot, Some(alive)),
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
            alive.get_or_insert_with(|| bot.alive(target, &slot));
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
            let caller = caller(&begun.prepared);
            let work = run_turn(bot.clone(), turn.clone(), begun);
            let response = attempt((&bot.store, &bot.keeper), &turn, &caller, work).await;
            // Before the reply is stored, which says what becomes of it.
            target.stand_in = placeholder.end().await.and_then(Placeholder::left);
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
    if let Some(alive) = alive {
        alive.end().await;
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

/// Runs a turn; `None` when it was cut off.
async fn run_turn(bot: Arc<Bot>, id: TurnId, begun: Begun) -> Option<OutgoingResponse> {
    let bot = &bot;
    let Begun { prepared, came, progress, slot } = begun;
    let (session, caller) = (session(bot, &prepared.target), caller(&prepared));
    let run = bot.running.begin(session.clone(), caller.sender.clone(), &bot.stop.now);
    let files = came.files();
    let mailbox = Mailbox {
        letters: Reader {
            bot: bot.clone(),
            sender: prepared.sender,
            question: came,
            progress: progress.clone(),
        },
        store: bot.store.clone(),
        channel: bot.channel.clone(),
        keeper: bot.keeper.clone(),
        turn: id.clone(),
        albums: bot.timing.albums,
    };
    let earlier = Earlier::of(bot.clone(), &prepared);
    let below = Below { bot: bot.clone(), target: prepared.target, sender: prepared.sender };
    let approver = bot.desk.asking(below, caller.sender.clone(), slot);
    let attachments = tokio::select! {
        attachments = fetch_all(bot, files, &*progress) => attachments,
        () = run.cancel().cancelled() => {
            let by = run.end().filter(|_| !bot.stop.now.is_cancelled())?;
            let waiting = waiting(bot, &session, Some(by)).await?;
            return Some(OutgoingResponse::text(said::CANCELLED.to_owned() + &said::waiting_too(waiting)));
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
        approver: Some(approver),
        steering: Some(Arc::new(mailbox)),
        notices: prepared.notices,
    };
    let mut response = bot.runner.run(turn, progress, run.cancel()).await;
    if let (Some(by), Some(text)) = (run.end(), &mut response.text) {
        text.push_str(&said::waiting_too(waiting(bot, &session, Some(by)).await?));
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
