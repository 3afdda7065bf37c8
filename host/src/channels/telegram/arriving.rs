//! Signs of life for albums that are still arriving: no turn runs yet, and whoever sends one sees nothing else of it. A
//! sign goes on as that of the turn.

use super::bot::Bot;
use super::send::Target;
use super::typing::Typing;
use crate::turn::lanes::Slot;
use cofferdam_core::id::SessionId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The signs that are shown; there is one a session at most, so no more than lanes.
#[derive(Default)]
pub(super) struct Signs(Mutex<HashMap<SessionId, Sign>>);

/// A sign, and the place among the turns that are worked on at once that its turn will take.
pub(super) struct Sign {
    pub(super) slot: Arc<Slot>,
    pub(super) typing: Typing,
}

impl Signs {
    /// Shows one where a session is answered, unless one is shown already.
    pub(super) fn show(&self, bot: &Bot, session: &SessionId, target: &str) {
        let mut signs = self.signs();
        if !signs.contains_key(session)
            && let Some(target) = Target::from_text(target)
        {
            let slot = Slot::among(&bot.permits);
            let typing = Typing::start(bot.api.clone(), target, slot.clone());
            signs.insert(session.clone(), Sign { slot, typing });
        }
    }

    /// The sign of a session whose work begins.
    pub(super) fn take(&self, session: &SessionId) -> Option<Sign> {
        self.signs().remove(session)
    }

    fn signs(&self) -> MutexGuard<'_, HashMap<SessionId, Sign>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
