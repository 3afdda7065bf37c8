//! The turns that run now, and how a person stops one: beside the queues, since what waits in a
//! queue would come too late.

use super::Stopping;
use cofferdam_core::id::SessionId;
use cofferdam_core::lock::lock;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

/// Messages that asked to stop something and of which is known what came of them. Among the
/// messages of other nodes one is found again for a moment.
const STOPS_KNOWN_MAX: usize = 256;

/// The running turn of each session; there is one at most.
#[derive(Debug, Default)]
pub struct RunningTurns {
    turns: Mutex<HashMap<SessionId, Stoppable>>,
    /// The updates that asked to stop something, and what came of it, the oldest first.
    stops: Mutex<VecDeque<(i64, StopResult)>>,
}

#[derive(Debug)]
struct Stoppable {
    /// Who began it: the channel's immutable id of them.
    sender: String,
    cancel: CancellationToken,
    /// The update that stopped it.
    stopped_by: Option<i64>,
}

/// A turn that runs, until this is dropped.
#[derive(Debug)]
pub struct RunningTurn<'a> {
    running: &'a RunningTurns,
    session: SessionId,
    cancel: CancellationToken,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopPower {
    /// Somebody whom the operator has named or let in: any turn of a session that they are served
    /// in.
    Served,
    /// A member of an open group, by the channel's immutable id of them: their own turns.
    Member(String),
}

impl RunningTurns {
    /// Notes that somebody's turn of a session runs. It is cancelled with `parent`, too.
    pub fn begin(&self, session: SessionId, sender: String, parent: &CancellationToken) -> RunningTurn<'_> {
        let cancel = parent.child_token();
        self.turns().insert(session.clone(), Stoppable { sender, cancel: cancel.clone(), stopped_by: None });
        RunningTurn { running: self, session, cancel }
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
        match self.turns().get_mut(&stopping.session) {
            Some(turn) if !stopping.by.may_stop(&turn.sender) => StopResult::Anothers,
            Some(turn) => {
                turn.stopped_by = Some(stopping.update_id);
                turn.cancel.cancel();
                StopResult::Turn
            }
            None => StopResult::Nothing,
        }
    }

    /// The sessions in which one runs.
    pub fn sessions(&self) -> Vec<SessionId> {
        self.turns().keys().cloned().collect()
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<SessionId, Stoppable>> {
        lock(&self.turns)
    }
}

impl StopPower {
    fn may_stop(&self, sender: &str) -> bool {
        match self {
            Self::Served => true,
            Self::Member(member) => member == sender,
        }
    }
}

impl RunningTurn<'_> {
    /// Cancelled when somebody stops the turn.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Ends it: nobody can stop it any more. The update that has stopped it, if one has.
    pub fn end(self) -> Option<i64> {
        self.running.turns().remove(&self.session)?.stopped_by
    }
}

impl Drop for RunningTurn<'_> {
    fn drop(&mut self) {
        self.running.turns().remove(&self.session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopping(session: &SessionId, update_id: i64, by: StopPower) -> Stopping {
        Stopping { session: session.clone(), update_id, by, target: String::new() }
    }

    #[test]
    fn only_the_turn_of_the_session_is_stopped_and_only_while_it_runs() {
        let (running, all) = (RunningTurns::default(), CancellationToken::new());
        let (ann, ben) = (SessionId::new("ann"), SessionId::new("ben"));
        let stop = |update| running.stop(&stopping(&ann, update, StopPower::Served));
        let begin = |session: &SessionId| running.begin(session.clone(), session.to_string(), &all);
        assert_eq!(stop(1), StopResult::Nothing);
        let (anns, bens) = (begin(&ann), begin(&ben));
        assert_eq!(stop(2), StopResult::Turn);
        assert!(anns.cancel().is_cancelled() && !bens.cancel().is_cancelled() && !all.is_cancelled());
        assert_eq!((anns.end(), bens.end()), (Some(2), None));
        assert_eq!(stop(3), StopResult::Nothing);
        drop(begin(&ann));
        assert_eq!(stop(4), StopResult::Nothing);
        let bens = begin(&ben);
        all.cancel();
        assert!(bens.cancel().is_cancelled());
    }

    /// It was read among the messages that wait before it was bound, and arrives after that.
    #[test]
    fn a_stop_that_comes_again_stops_no_later_turn() {
        let (running, all) = (RunningTurns::default(), CancellationToken::new());
        let ann = SessionId::new("ann");
        let stop = |update| running.stop(&stopping(&ann, update, StopPower::Served));
        let begin = || running.begin(ann.clone(), "7".into(), &all);
        let first = begin();
        assert_eq!((stop(1), first.end()), (StopResult::Turn, Some(1)));
        assert_eq!(stop(2), StopResult::Nothing);
        let second = begin();
        assert_eq!((stop(1), stop(2)), (StopResult::Turn, StopResult::Nothing), "as before");
        assert!(!second.cancel().is_cancelled());
        for update in 3..500 {
            assert_eq!(stop(update), StopResult::Turn);
        }
        assert_eq!(lock(&running.stops).len(), STOPS_KNOWN_MAX);
        assert_eq!(second.end(), Some(499));
    }

    #[test]
    fn a_member_of_an_open_group_stops_their_own_turns_alone() {
        let (running, all) = (RunningTurns::default(), CancellationToken::new());
        let group = SessionId::new("group");
        let stop =
            |update, member: &str| running.stop(&stopping(&group, update, StopPower::Member(member.into())));
        let anns = running.begin(group.clone(), "7".into(), &all);
        assert_eq!(stop(1, "8"), StopResult::Anothers);
        assert!(!anns.cancel().is_cancelled());
        assert_eq!(stop(2, "7"), StopResult::Turn);
        assert_eq!((anns.cancel().is_cancelled(), anns.end()), (true, Some(2)));
        assert_eq!(stop(3, "8"), StopResult::Nothing);
    }
}
