//! The turns that run now, and how a person stops one: beside the lanes, since what waits in a lane would
//! come too late.

use super::lanes::LaneKey;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// The running turn of each lane; there is one at most.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<HashMap<LaneKey, Stoppable>>);

#[derive(Debug)]
struct Stoppable {
    /// Who began it.
    sender: i64,
    cancel: CancellationToken,
    /// Messages that waited when somebody stopped it.
    waited: Option<usize>,
    /// Messages that it has taken up, and that have a place in the lane still.
    taken: usize,
}

/// A turn that runs, until this is dropped.
#[derive(Debug)]
pub(super) struct Run<'a> {
    running: &'a Running,
    lane: LaneKey,
    cancel: CancellationToken,
}

/// What came of stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// A turn ran, and its answer will say so.
    Turn,
    /// The turn that runs is another person's.
    Anothers,
    /// Nothing ran.
    Nothing,
}

/// Who wants a turn stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Somebody whom the operator has named or let in: any turn of a chat that they are served in.
    Served,
    /// A member of an open group: their own turns.
    Member(i64),
}

impl Running {
    /// Notes that somebody's turn runs in a lane. It is cancelled with `parent`, too.
    pub(super) fn begin(&self, lane: LaneKey, sender: i64, parent: &CancellationToken) -> Run<'_> {
        let cancel = parent.child_token();
        self.turns().insert(lane, Stoppable { sender, cancel: cancel.clone(), waited: None, taken: 0 });
        Run { running: self, lane, cancel }
    }

    /// Notes that the turn of a lane has taken up a message of those that wait in it.
    pub(super) fn take(&self, lane: LaneKey) {
        if let Some(turn) = self.turns().get_mut(&lane) {
            turn.taken += 1;
        }
    }

    /// Stops the turn of a lane in which so many messages wait, if it is for them to stop.
    pub(super) fn stop(&self, lane: LaneKey, by: By, waiting: usize) -> Stopped {
        match self.turns().get_mut(&lane) {
            Some(turn) if by != By::Served && by != By::Member(turn.sender) => Stopped::Anothers,
            Some(turn) => {
                turn.waited = Some(waiting.saturating_sub(turn.taken));
                turn.cancel.cancel();
                Stopped::Turn
            }
            None => Stopped::Nothing,
        }
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<LaneKey, Stoppable>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Run<'_> {
    /// Cancelled when somebody stops the turn.
    pub(super) fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Ends it: nobody can stop it any more. How many messages waited if somebody has.
    pub(super) fn end(self) -> Option<usize> {
        self.running.turns().remove(&self.lane)?.waited
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.running.turns().remove(&self.lane);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: LaneKey = LaneKey { chat: 1, thread: None };
    const BEN: LaneKey = LaneKey { chat: 2, thread: None };

    #[test]
    fn only_the_turn_of_the_lane_is_stopped_and_only_while_it_runs() {
        let (running, all) = (Running::default(), CancellationToken::new());
        assert_eq!(running.stop(ANN, By::Served, 0), Stopped::Nothing);
        let (ann, ben) = (running.begin(ANN, 7, &all), running.begin(BEN, 8, &all));
        running.take(ANN);
        assert_eq!(running.stop(ANN, By::Served, 4), Stopped::Turn);
        assert!(ann.cancel().is_cancelled() && !ben.cancel().is_cancelled() && !all.is_cancelled());
        assert_eq!((ann.end(), ben.end()), (Some(3), None));
        assert_eq!(running.stop(ANN, By::Served, 0), Stopped::Nothing);
        drop(running.begin(ANN, 7, &all));
        assert_eq!(running.stop(ANN, By::Served, 0), Stopped::Nothing);
        let ben = running.begin(BEN, 8, &all);
        all.cancel();
        assert!(ben.cancel().is_cancelled());
    }

    #[test]
    fn a_member_of_an_open_group_stops_their_own_turns_alone() {
        let (running, all) = (Running::default(), CancellationToken::new());
        let ann = running.begin(ANN, 7, &all);
        assert_eq!(running.stop(ANN, By::Member(8), 1), Stopped::Anothers);
        assert!(!ann.cancel().is_cancelled());
        assert_eq!(running.stop(ANN, By::Member(7), 1), Stopped::Turn);
        assert_eq!((ann.cancel().is_cancelled(), ann.end()), (true, Some(1)));
        assert_eq!(running.stop(ANN, By::Member(8), 1), Stopped::Nothing);
    }
}
