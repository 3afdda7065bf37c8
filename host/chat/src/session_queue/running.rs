//! The turns that run now, and how a person stops one: beside the queues, since what waits in a
//! queue would come too late.

use super::{Stop, Stopping};
use cofferdam_core::id::SessionId;
use cofferdam_core::lock::lock;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

/// Messages that asked to stop something and of which is known what came of them. Among the
/// messages of other nodes one is found again for a moment.
const STOPS_KNOWN_MAX: usize = 256;

/// The turn of each session that runs, or is going to run again; there is one at most.
#[derive(Debug, Default)]
pub struct RunningTurns {
    turns: Mutex<HashMap<SessionId, Stoppable>>,
    /// The updates that asked to stop something, and what came of it, the oldest first.
    stops: Mutex<VecDeque<(i64, StopResult)>>,
}

#[derive(Debug, Default)]
struct Stoppable {
    /// Who began it: the channel's immutable id of them.
    sender: String,
    cancel: CancellationToken,
    /// What stopped it.
    stopped_by: Option<Stopping>,
    /// Nothing is left to stop, only its reply to be kept.
    has_ended: bool,
    /// Cancelled once a start would not run it again.
    over: CancellationToken,
}

/// A turn that runs, until this is dropped: then it is settled, or waits for the next start.
#[derive(Debug)]
pub struct RunningTurn {
    running: Arc<RunningTurns>,
    session: SessionId,
    cancel: CancellationToken,
    stop: Stop,
}

/// What came of stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopResult {
    /// A turn ran, and its answer will say so.
    Turn,
    /// The turn that runs is another person's.
    Anothers,
    /// Nothing ran.
    Nothing,
}

/// Who wants a turn stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopPower {
    /// Somebody whom the operator has named or let in: any turn of a session that they are served
    /// in.
    Served,
    /// A member of an open group: their own turns.
    Member,
}

impl RunningTurns {
    /// Notes that somebody's turn, which was cut off, is going to run again, before it begins to.
    pub fn expect(&self, session: SessionId, sender: String) {
        self.turns().entry(session).or_default().sender = sender;
    }

    /// Notes that a turn which was expected is worked on no more, if it did not begin.
    pub fn forget(&self, session: &SessionId, stop: &Stop) {
        if let Some(turn) = self.turns().remove(session).filter(|_| !stop.soon.is_cancelled()) {
            turn.over.cancel();
        }
    }

    /// Notes that somebody's turn of a session has begun. It is cancelled as well when the program
    /// ends `now`, and at once if it was stopped while it was expected.
    pub fn begin(self: &Arc<Self>, session: SessionId, sender: String, stop: &Stop) -> RunningTurn {
        let cancel = stop.now.child_token();
        let mut turns = self.turns();
        let turn = turns.entry(session.clone()).or_default();
        (turn.sender, turn.cancel) = (sender, cancel.clone());
        if turn.stopped_by.is_some() {
            cancel.cancel();
        }
        drop(turns);
        RunningTurn { running: self.clone(), session, cancel, stop: stop.clone() }
    }

    /// Stops the turn of a session, because this message says so, if it is for its sender to stop.
    /// A message that comes again stops nothing more: the turn that runs by then is another one.
    pub fn stop(&self, stopping: &Stopping) -> StopResult {
        let mut stops = lock(&self.stops);
        if let Some((_, result)) = stops.iter().find(|(id, _)| *id == stopping.update_id) {
            return *result;
        }
        let result = self.stop_running(stopping);
        if stops.len() == STOPS_KNOWN_MAX {
            stops.pop_front();
        }
        stops.push_back((stopping.update_id, result));
        result
    }

    fn stop_running(&self, stopping: &Stopping) -> StopResult {
        match self.turns().get_mut(&stopping.session).filter(|turn| !turn.has_ended) {
            Some(turn) if stopping.by == StopPower::Member && stopping.sender != turn.sender => {
                StopResult::Anothers
            }
            Some(turn) => {
                turn.stopped_by = Some(stopping.clone());
                turn.cancel.cancel();
                StopResult::Turn
            }
            None => StopResult::Nothing,
        }
    }

    /// What came of an update that asked to stop something, as long as it is known.
    pub fn result_of(&self, update_id: i64) -> Option<StopResult> {
        lock(&self.stops).iter().find(|(id, _)| *id == update_id).map(|(_, result)| *result)
    }

    /// Waits until a start would not run the turn again that this has stopped; for ever where the
    /// next start does.
    pub async fn await_end(&self, stopping: &Stopping) {
        let is_stopped_by =
            |turn: &Stoppable| turn.stopped_by.as_ref().is_some_and(|by| by.update_id == stopping.update_id);
        let over = self
            .turns()
            .get(&stopping.session)
            .and_then(|turn| is_stopped_by(turn).then(|| turn.over.clone()));
        if let Some(over) = over {
            over.cancelled().await;
        }
    }

    /// The sessions in which one runs or is expected.
    pub fn sessions(&self) -> Vec<SessionId> {
        self.turns().keys().cloned().collect()
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<SessionId, Stoppable>> {
        lock(&self.turns)
    }
}

impl RunningTurn {
    /// Cancelled when somebody stops the turn.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Nobody can stop it any more. The update that has stopped it, if one has.
    pub fn end(&self) -> Option<i64> {
        let mut turns = self.running.turns();
        let turn = turns.get_mut(&self.session)?;
        turn.has_ended = true;
        turn.stopped_by.as_ref().map(|by| by.update_id)
    }

    /// Who has stopped it, if somebody has: the channel's immutable id of them.
    pub fn stopper(&self) -> Option<String> {
        let turns = self.running.turns();
        turns.get(&self.session)?.stopped_by.as_ref().map(|by| by.sender.clone())
    }

    /// Notes that a start would not run it again, though the program stops.
    pub fn settle(&self) {
        if let Some(turn) = self.running.turns().get(&self.session) {
            turn.over.cancel();
        }
    }
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        self.running.forget(&self.session, &self.stop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopping(session: &SessionId, update_id: i64, by: StopPower) -> Stopping {
        Stopping { session: session.clone(), update_id, sender: "7".into(), by, target: String::new() }
    }

    #[test]
    fn only_the_turn_of_the_session_is_stopped_and_only_while_it_runs() {
        let (running, all) = (Arc::new(RunningTurns::default()), Stop::default());
        let (ann, ben) = (SessionId::new("ann"), SessionId::new("ben"));
        let stop = |update| running.stop(&stopping(&ann, update, StopPower::Served));
        let begin = |session: &SessionId| running.begin(session.clone(), session.to_string(), &all);
        assert_eq!(stop(1), StopResult::Nothing);
        let (anns, bens) = (begin(&ann), begin(&ben));
        assert_eq!(stop(2), StopResult::Turn);
        assert!(anns.cancel().is_cancelled() && !bens.cancel().is_cancelled() && !all.now.is_cancelled());
        assert_eq!((anns.end(), bens.end()), (Some(2), None));
        assert_eq!((anns.stopper().as_deref(), bens.stopper()), (Some("7"), None));
        assert_eq!(stop(3), StopResult::Nothing, "only its reply is to be kept");
        drop(anns);
        assert_eq!(stop(4), StopResult::Nothing);
        drop(begin(&ann));
        assert_eq!(stop(5), StopResult::Nothing);
        let bens = begin(&ben);
        all.now.cancel();
        assert!(bens.cancel().is_cancelled());
    }

    /// It was read among the messages that wait before it was bound, and arrives after that.
    #[test]
    fn a_stop_that_comes_again_stops_no_later_turn() {
        let (running, all) = (Arc::new(RunningTurns::default()), Stop::default());
        let ann = SessionId::new("ann");
        let stop = |update| running.stop(&stopping(&ann, update, StopPower::Served));
        let first = running.begin(ann.clone(), "7".into(), &all);
        assert_eq!((stop(1), first.end()), (StopResult::Turn, Some(1)));
        drop(first);
        assert_eq!(stop(2), StopResult::Nothing);
        let second = running.begin(ann.clone(), "7".into(), &all);
        assert_eq!((stop(1), stop(2)), (StopResult::Turn, StopResult::Nothing), "as before");
        assert_eq!((running.result_of(1), running.result_of(3)), (Some(StopResult::Turn), None));
        assert!(!second.cancel().is_cancelled());
        for update in 3..500 {
            assert_eq!(stop(update), StopResult::Turn);
        }
        assert_eq!(lock(&running.stops).len(), STOPS_KNOWN_MAX);
        assert_eq!(second.end(), Some(499));
    }

    #[test]
    fn a_member_of_an_open_group_stops_their_own_turns_alone() {
        let (running, all) = (Arc::new(RunningTurns::default()), Stop::default());
        let group = SessionId::new("group");
        let stop = |update, member: &str| {
            let stopping = stopping(&group, update, StopPower::Member);
            running.stop(&Stopping { sender: member.into(), ..stopping })
        };
        running.expect(group.clone(), "7".into());
        assert_eq!(stop(0, "8"), StopResult::Anothers);
        let anns = running.begin(group.clone(), "7".into(), &all);
        assert_eq!(stop(1, "8"), StopResult::Anothers);
        assert!(!anns.cancel().is_cancelled());
        assert_eq!(stop(2, "7"), StopResult::Turn);
        assert_eq!((anns.cancel().is_cancelled(), anns.end()), (true, Some(2)));
        assert_eq!(stop(3, "8"), StopResult::Nothing);
    }

    #[tokio::test]
    async fn what_is_stopped_before_it_begins_is_cancelled_and_waited_for() {
        let (running, all) = (Arc::new(RunningTurns::default()), Stop::default());
        let ann = SessionId::new("ann");
        running.expect(ann.clone(), "7".into());
        let stopping = stopping(&ann, 1, StopPower::Served);
        assert_eq!(running.stop(&stopping), StopResult::Turn);
        let turn = running.begin(ann.clone(), "7".into(), &all);
        assert!(turn.cancel().is_cancelled());
        let end = tokio::spawn({
            let (running, stopping) = (running.clone(), stopping.clone());
            async move { running.await_end(&stopping).await }
        });
        assert_eq!(turn.end(), Some(1));
        tokio::task::yield_now().await;
        assert!(!end.is_finished(), "its reply is not kept");
        turn.settle();
        end.await.expect("no panic");
        drop(turn);
        assert!(!running.begin(ann.clone(), "7".into(), &all).cancel().is_cancelled());
        running.expect(ann.clone(), "7".into());
        running.forget(&ann, &all);
        assert_eq!(running.stop(&Stopping { update_id: 2, ..stopping.clone() }), StopResult::Nothing);
        running.await_end(&stopping).await;
    }
}
