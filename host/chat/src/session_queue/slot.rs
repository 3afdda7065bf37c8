//! A turn's place among those that are worked on at once. It is given up while the turn does
//! nothing but wait for a person, however long they take.

use cofferdam_core::lock::lock;
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Turns that are worked on at once, over all sessions.
pub const TURNS_AT_ONCE_MAX: usize = 8;

/// Held while it lives, but for the time of waiting.
#[derive(Debug)]
pub struct TurnSlot {
    all: Arc<Semaphore>,
    held: Mutex<SlotUse>,
}

#[derive(Debug)]
struct SlotUse {
    permit: Option<OwnedSemaphorePermit>,
    /// Calls of the turn that wait for a person.
    waiting: usize,
}

impl TurnSlot {
    /// A place that is not taken yet.
    pub fn new(all: &Arc<Semaphore>) -> Arc<Self> {
        let held = Mutex::new(SlotUse { permit: None, waiting: 0 });
        Arc::new(Self { all: all.clone(), held })
    }

    /// Waits until it is free.
    pub async fn take(&self) {
        let permit = self.all.clone().acquire_owned().await.ok();
        lock(&self.held).permit = permit;
    }

    /// A call of the turn begins to wait.
    pub fn leave(&self) {
        let mut held = lock(&self.held);
        held.waiting += 1;
        held.permit = None;
    }

    /// A call of the turn waits no longer; it goes on once there is a place again.
    pub async fn take_back(&self) {
        let others = {
            let mut held = lock(&self.held);
            held.waiting -= 1;
            held.waiting
        };
        if others == 0 {
            self.take().await;
        }
    }

    /// Whether the turn waits for a person.
    pub fn is_left(&self) -> bool {
        lock(&self.held).waiting > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_place_is_free_while_its_turn_waits() {
        let all = Arc::new(Semaphore::new(1));
        let slot = TurnSlot::new(&all);
        assert!(all.try_acquire().is_ok(), "nobody has taken it yet");
        slot.take().await;
        assert!(all.try_acquire().is_err() && !slot.is_left());
        slot.leave();
        slot.leave();
        assert!(slot.is_left());
        let other = all.clone().try_acquire_owned().expect("the place is free");
        slot.take_back().await;
        assert!(slot.is_left(), "one call still waits");
        drop(other);
        slot.take_back().await;
        assert!(all.try_acquire().is_err() && !slot.is_left(), "it has its place again");
        drop(slot);
        assert!(all.try_acquire().is_ok());
    }
}
