//! Signs of life for albums that are still arriving: no turn runs yet, and whoever sends one sees nothing else of it. A
//! sign goes on as that of the turn.

use super::bot::Bot;
use super::lanes::LaneKey;
use super::send::Target;
use super::slot::Slot;
use super::typing::Typing;
use std::collections::HashMap;
use std::sync::Arc;

/// The signs that are shown; there is one a lane at most, so no more than work that is held.
#[derive(Default)]
pub(super) struct Signs(HashMap<LaneKey, Sign>);

/// A sign, and the place among the turns that are worked on at once that its turn will take.
pub(super) struct Sign {
    pub(super) slot: Arc<Slot>,
    pub(super) typing: Typing,
}

impl Signs {
    /// Shows one in these lanes, where none is shown yet.
    pub(super) fn show(&mut self, bot: &Bot, lanes: impl Iterator<Item = LaneKey>) {
        for lane in lanes {
            self.0.entry(lane).or_insert_with(|| {
                let slot = Slot::among(&bot.permits);
                let chat = bot.door.moves.now(lane.chat);
                let target = Target { chat, thread: lane.thread, reply_to: None, stand_in: None };
                Sign { typing: Typing::start(bot.api.clone(), target, slot.clone()), slot }
            });
        }
    }

    /// The sign of a lane whose work begins.
    pub(super) fn take(&mut self, lane: LaneKey) -> Option<Sign> {
        self.0.remove(&lane)
    }
}
