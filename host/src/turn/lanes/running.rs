//! The turns that run now, and how a person stops one: beside the lanes, since what waits in a lane would
//! come too late.

use cofferdam_core::id::SessionId;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// The running turn of each session; there is one at most.
#[derive(Debug, Default)]
pub struct Running(Mutex<HashMap<SessionId, Stoppable>>);

#[derive(Debug)]
struct Stoppable {
    cancel: CancellationToken,
    /// The update that stopped it.
    stopped_by: Option<i64>,
}

/// A turn that runs, until this is dropped.
#[derive(Debug)]
pub struct Run<'a> {
    running: &'a Running,
    session: SessionId,
    cancel: CancellationToken,
}

/// What came of stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// A turn ran, and its answer will say so.
    Turn,
    /// Nothing ran.
    Nothing,
}

impl Running {
    /// Notes that a turn of a session runs. It is cancelled with `parent`, too.
    pub fn begin(&self, session: SessionId, parent: &CancellationToken) -> Run<'_> {
        let cancel = parent.child_token();
        self.turns().insert(session.clone(), Stoppable { cancel: cancel.clone(), stopped_by: None });
        Run { running: self, session, cancel }
    }

    /// Stops the turn of a session, because this update says so.
    pub fn stop(&self, session: &SessionId, update: i64) -> Stopped {
        match self.turns().get_mut(session) {
            Some(turn) => {
                turn.stopped_by = Some(update);
                turn.cancel.cancel();
                Stopped::Turn
            }
            None => Stopped::Nothing,
        }
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<SessionId, Stoppable>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Run<'_> {
    /// Cancelled when somebody stops the turn.
    pub fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Ends it: nobody can stop it any more. The update that has stopped it, if one has.
    pub fn end(self) -> Option<i64> {
        self.running.turns().remove(&self.session)?.stopped_by
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.running.turns().remove(&self.session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_turn_of_the_session_is_stopped_and_only_while_it_runs() {
        let (running, all) = (Running::default(), CancellationToken::new());
        let (ann, ben) = (SessionId::new("ann"), SessionId::new("ben"));
        assert_eq!(running.stop(&ann, 1), Stopped::Nothing);
        let (anns, bens) = (running.begin(ann.clone(), &all), running.begin(ben.clone(), &all));
        assert_eq!(running.stop(&ann, 2), Stopped::Turn);
        assert!(anns.cancel().is_cancelled() && !bens.cancel().is_cancelled() && !all.is_cancelled());
        assert_eq!((anns.end(), bens.end()), (Some(2), None));
        assert_eq!(running.stop(&ann, 3), Stopped::Nothing);
        drop(running.begin(ann.clone(), &all));
        assert_eq!(running.stop(&ann, 4), Stopped::Nothing);
        let bens = running.begin(ben, &all);
        all.cancel();
        assert!(bens.cancel().is_cancelled());
    }
}
