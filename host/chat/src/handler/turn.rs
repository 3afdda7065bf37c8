//! The work of one unit: bind it to a turn, fetch its files, run it, store its reply, send it.
//!
//! At every point a crash leaves either the turn to be run again or the reply to be sent; never
//! both, never neither.

use super::files::{complete_files, fetch_files};
use super::incoming::stopped_before;
use super::mailbox::Mailbox;
use super::recent::{self, EarlierFiles};
use super::sending::ReplySender;
use super::voice::{refuse_heard, switch_voice, to_be_spoken, transcribe};
use super::{Channel, ChannelTurn, MessageAction, ResumedTurn, StartDecision, begin_activity};
use crate::outbound::{SENDING_PAUSES, deliver, plan};
use crate::runs::CallingTurn;
use crate::session_queue::{RunningTurn, StopResult, Stopping, TurnSlot, Unit};
use crate::words as said;
use crate::{Activity, Placeholder, ShownActivity, attempt};
use cofferdam_agent::turn::words::{nothing_runs, waiting_too};
use cofferdam_agent::turn::{StepListener, TurnInput};
use cofferdam_core::command::{ControlWord, word};
use cofferdam_core::id::{Caller, SessionId, TurnId};
use cofferdam_core::message::OutgoingResponse;
use cofferdam_store::{
    self as store, AnswerTo, BoundTurn, NewReply, StoredReply, Update, UpdateClaim, now_ms,
};
use std::sync::Arc;
use tokio::time::{Instant, sleep};

/// Does one unit's work, of the session that it came in. Returns early, leaving everything for the
/// next start, when the program stops.
///
/// `sign` is shown for it already, of a turn that takes the place beside it.
pub(super) async fn work<C: Channel>(
    channel: Arc<C>,
    (session, unit): (&SessionId, Unit),
    sign: Option<(Arc<TurnSlot>, ShownActivity)>,
) {
    let base = channel.base();
    let reply = match unit {
        Unit::Reply(reply) => Some(reply),
        Unit::Bound(turn) => match stopped_before(&*channel, &turn) {
            Some((stopping, found)) => end_stop(&*channel, stopping, (found, turn.turn)).await,
            None => {
                let bound = async {
                    let look = || base.store.placeholder(&turn.turn);
                    let left = base.store_until_done("look for a placeholder", look).await?;
                    Some((turn, left))
                };
                let reply = answer(&channel, session, bound, sign).await;
                base.running.forget(session, &base.stop);
                reply
            }
        },
        Unit::Message(claim) => {
            let bound = async { Some((bind_turn(&*channel, claim).await?, None)) };
            answer(&channel, session, bound, sign).await
        }
        Unit::Stop(stopping, found) => answer_stop(&*channel, stopping, found).await,
    };
    if let Some(reply) = reply {
        let _sending = base.places.begin_sending();
        let stop = &base.stop.soon;
        deliver(&base.store, &ReplySender::on(&channel), reply, (stop, SENDING_PAUSES)).await;
        base.sweep().await;
    }
}

/// Answers the message that stopped a turn, may not, or found none: what was stopped says so in its
/// own answer.
async fn answer_stop<C: Channel>(channel: &C, stopping: Stopping, found: StopResult) -> Option<StoredReply> {
    let turn = bind_turn(channel, UpdateClaim::Update(stopping.update_id)).await?.turn;
    end_stop(channel, stopping, (found, turn)).await
}

/// Ends the turn of that message, once no start runs again what it has stopped: until then it is
/// what stops that, as often as it is begun.
async fn end_stop<C: Channel>(
    channel: &C,
    stopping: Stopping,
    (found, turn): (StopResult, TurnId),
) -> Option<StoredReply> {
    let base = channel.base();
    base.stop.now.run_until_cancelled(base.running.await_end(&stopping)).await?;
    let is_awaited = match C::target(&stopping.target) {
        Some(target) => channel.is_awaited(&target).await,
        None => false,
    };
    let said = match found {
        StopResult::Turn if is_awaited => said::STOPPED.to_owned(),
        StopResult::Turn => {
            return base.store_until_done("dismiss a turn", || base.store.dismiss(&turn)).await.and(None);
        }
        StopResult::Anothers => said::NOT_YOURS_TO_STOP.to_owned(),
        StopResult::Nothing => nothing_runs(count_waiting(channel, &stopping.session, None).await?),
    };
    let response = OutgoingResponse::text(said);
    let reply = NewReply { target: stopping.target, parts: plan(response, C::CHANNEL_LIMITS, None) };
    base.store_until_done("store a reply", || base.store.end(&base.channel, &turn, reply.clone())).await
}

/// How many messages of a session wait for their turn, besides the one that stopped it; `None` once
/// the program stops.
async fn count_waiting<C: Channel>(channel: &C, session: &SessionId, besides: Option<i64>) -> Option<usize> {
    let base = channel.base();
    base.store_until_done("count messages", || base.store.count_waiting(&base.channel, session, besides))
        .await
}

/// Binds what waits to a turn, an album once it has all come; `None` where nothing waits any more,
/// and once the program stops.
async fn bind_turn<C: Channel>(channel: &C, claim: UpdateClaim) -> Option<BoundTurn> {
    if let UpdateClaim::Album(album) = &claim {
        await_album(channel, album).await?;
    }
    let base = channel.base();
    base.store_until_done("bind a turn", || base.store.claim(&base.channel, claim.clone())).await?
}

/// Ends the turn that `bound` brings, with what an earlier run has left of its placeholder; its
/// reply, unless nobody is to be answered or the program stops.
async fn answer<C: Channel>(
    channel: &Arc<C>,
    session: &SessionId,
    bound: impl Future<Output = Option<(BoundTurn, Option<store::Placeholder>)>>,
    sign: Option<(Arc<TurnSlot>, ShownActivity)>,
) -> Option<StoredReply> {
    let base = channel.base();
    if base.stop.soon.is_cancelled() {
        return None;
    }
    // Held while working, not while sending: a chat that must wait to be sent to holds no other up.
    let (slot, mut alive) = match sign {
        Some((slot, alive)) => (slot, Some(alive)),
        None => (base.slot(), None),
    };
    let (bound, before) = bound.await?;
    find_conversation(&**channel, session, &bound.updates).await?;
    let turn = bound.turn;
    let (mut noting, mut run) = (None, None);
    let resumed = ResumedTurn::from_updates(&bound.updates);
    let is_served = match &resumed {
        Some(resumed) => resumed.await_served(channel).await?,
        None => true,
    };
    let todo = match &resumed {
        Some(resumed) if !is_served => {
            // Nothing is done any more for somebody who was removed while it waited for its turn.
            tracing::info!(run = resumed.run, "a run is cancelled: who began it is not served any more");
            base.store_until_done("end a run", || base.store.cancel_run(&resumed.run, None)).await?;
            MessageAction::Nothing
        }
        Some(resumed) => resumed.todo(&**channel),
        None => channel.read(&bound.updates, bound.standing),
    };
    let (target, stand_in, response) = match todo {
        MessageAction::Nothing => {
            base.store_until_done("dismiss a turn", || base.store.dismiss(&turn)).await;
            return None;
        }
        MessageAction::Say(target, text) => (target, None, OutgoingResponse::text(text)),
        MessageAction::Run(mut asked) => {
            // From here on a person can stop it.
            let (own, sender) = (channel.session(&asked.target), asked.sender.clone());
            let run = &*run.insert(Arc::new(base.running.begin(own, sender, &base.stop)));
            let begins = base.stop.soon.run_until_cancelled(channel.may_begin(&turn, &asked)).await;
            match begins.unwrap_or(StartDecision::Later) {
                StartDecision::Now => {}
                StartDecision::Later => return None,
                StartDecision::Never => {
                    base.store_until_done("dismiss a turn", || base.store.dismiss(&turn)).await;
                    return None;
                }
            }
            let target = asked.target.clone();
            let shown = (Activity::Typing, Some(slot.clone()));
            alive.get_or_insert_with(|| begin_activity(channel, &target, shown));
            complete_files(&**channel, &mut asked).await?;
            noting = recent::to_note(&**channel, &asked, None).await?;
            // It is bound, and runs at the next start.
            tokio::select! {
                () = base.stop.soon.cancelled() => return None,
                () = slot.take() => {}
                // It needs no place to say so.
                () = run.cancel().cancelled() => {}
            }
            let draft = channel.draft(&turn, &target);
            let shown = Placeholder::start(base.store.clone(), turn.clone(), draft, before);
            let caller = caller::<C>(&asked);
            let by_voice = asked.is_voice.then(|| channel.session(&asked.target));
            let meanwhile = (shown.progress(), slot, run.clone());
            let work = run_turn((channel.clone(), turn.clone()), (*asked, resumed), meanwhile);
            let response = attempt((&base.store, &base.store_retry), &turn, &caller, work).await;
            run.end();
            // Before the reply is stored, which says what becomes of what was shown.
            let stand_in = shown.end().await.and_then(|shown| shown.to_ref());
            let response = to_be_spoken(&**channel, (by_voice, &caller.sender), response?).await;
            (target, stand_in, response)
        }
    };
    let target = C::reply_address(&target, stand_in);
    let reply = NewReply { target, parts: plan(response, C::CHANNEL_LIMITS, stand_in) };
    let end = || base.store.end_noting(&base.channel, &turn, reply.clone(), noting.clone());
    let reply = base.store_until_done("store a reply", end).await;
    if let (Some(run), Some(_)) = (run, &reply) {
        run.settle();
    }
    // From here on the stored reply says which blobs are needed.
    base.outgoing.release(&turn);
    if let Some(alive) = alive {
        alive.end().await;
    }
    reply
}

/// Waits for the parts of an album that are stored for whichever node has its session: the queues
/// here do not learn when each of them comes. `None` once the program stops.
async fn await_album<C: Channel>(channel: &C, album: &str) -> Option<()> {
    let base = channel.base();
    // Clocks may differ, and the parts have their times from other nodes.
    let end = Instant::now() + base.albums.cap;
    while base.store.is_shared() {
        let look = || base.store.album(&base.channel, album);
        let mut parts = base.store_until_done("look up an album", look).await?;
        parts.retain(|part| part.turn.is_none());
        let left = base.albums.time_left(&parts, now_ms()).min(end.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            break;
        }
        base.stop.soon.run_until_cancelled(sleep(left)).await?;
    }
    Some(())
}

/// Looks where the conversation of these messages goes on, if by what is known here they are not of
/// the session that they came in: another node may have heard of that a moment ago.
async fn find_conversation<C: Channel>(channel: &C, session: &SessionId, updates: &[Update]) -> Option<()> {
    let target = updates.first().and_then(|update| channel.target_of(update));
    if target.is_none_or(|target| channel.session(&target) == *session) {
        return Some(());
    }
    let base = channel.base();
    base.store_until_done("look where a conversation goes on", || channel.follow_moves()).await
}

/// Runs a turn; `None` when it was cut off. `resumed` is what it goes on with, unless it is a
/// request of its own.
async fn run_turn<C: Channel>(
    (channel, id): (Arc<C>, TurnId),
    (mut asked, resumed): (ChannelTurn<C>, Option<ResumedTurn>),
    (progress, slot, run): (Arc<dyn StepListener>, Arc<TurnSlot>, Arc<RunningTurn>),
) -> Option<OutgoingResponse> {
    let base = channel.base();
    let (session, caller) = (channel.session(&asked.target), caller::<C>(&asked));
    if let Some(said) = switch_voice(&*channel, (&session, &caller.sender), &asked.text).await {
        return Some(said);
    }
    let files = asked.files.all();
    let mailbox = Mailbox {
        channel: channel.clone(),
        turn: id.clone(),
        sender: caller.sender.clone(),
        question: asked.files.clone(),
        progress: progress.clone(),
    };
    let earlier = EarlierFiles::new(channel.clone(), &asked);
    let board = channel.board(&asked.target, &caller.sender);
    let approver = base.approvals.new_approver(board, caller.sender.clone(), slot);
    let fetching = async {
        let attachments = fetch_files(&channel, files, &base.limits, &*progress).await;
        let heard = transcribe(&*channel, &id, &mut asked, &attachments).await;
        let attachments = match &resumed {
            Some(resumed) => resumed.fetch_files::<C>(base, attachments).await,
            None => attachments,
        };
        (attachments, heard)
    };
    let (attachments, heard) = tokio::select! {
        biased;
        () = run.cancel().cancelled() => {
            let by = run.end().filter(|_| !base.stop.now.is_cancelled())?;
            let waiting = count_waiting(&*channel, &session, Some(by)).await?;
            return Some(OutgoingResponse::text(said::CANCELLED.to_owned() + &waiting_too(waiting)));
        }
        fetched = fetching => fetched,
    };
    heard?;
    if let Some(said) = refuse_heard(&*channel, &asked) {
        return Some(said);
    }
    if base.voice.speech.is_some() && word(&asked.text) == Some(ControlWord::Help) {
        asked.notices.push(said::VOICE_HELP.to_owned());
    }
    let answer_to = AnswerTo { channel: base.channel.clone(), target: C::followup_address(&asked.target) };
    let asking = CallingTurn {
        turn: id.clone(),
        request: resumed.as_ref().map_or(&id, |resumed| &resumed.request).clone(),
        session: session.clone(),
        by: caller.clone(),
        answer_to,
        is_unlimited: asked.profiles.is_none(),
    };
    if let Some(resumed) = &resumed {
        if !base.runner.has_memory() {
            return Some(OutgoingResponse::text(resumed.describe(&attachments)));
        }
    } else if let Some(starter) = base.runs.starter(&asked.text) {
        let names = attachments.iter().map(|one| one.info.name.clone().unwrap_or_default());
        let files: Vec<String> = names.collect();
        let answered = starter.run(&asking, &asked.text, &files, &run).await;
        return answered.filter(|_| !base.stop.now.is_cancelled());
    }
    let turn = TurnInput {
        id,
        session: Some(session.clone()),
        caller,
        text: asked.text,
        about: asked.about,
        profiles: asked.profiles.map(Arc::new),
        attachments,
        recent: Some(Arc::new(earlier)),
        messaging: base.runs.messaging(asking),
        approver: Some(approver),
        steering: Some(Arc::new(mailbox)),
        notices: asked.notices,
    };
    let mut response = base.runner.run(turn, progress, run.cancel()).await;
    if let (Some(by), Some(text)) = (run.end(), &mut response.text) {
        text.push_str(&waiting_too(count_waiting(&*channel, &session, Some(by)).await?));
    }
    // A turn that was cut off answers so; that is for nobody to read, since it will run again.
    (!base.stop.now.is_cancelled()).then_some(response)
}

fn caller<C: Channel>(asked: &ChannelTurn<C>) -> Caller {
    Caller { channel: C::NAME.into(), sender: asked.sender.clone() }
}
