//! A turn's place among those that are worked on at once. It is given up while the turn does
//! nothing but wait for a person, however long they take.

use cofferdam_core::lock::lock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places of a channel's turns.
#[derive(Debug)]
pub struct TurnPlaces {
    all: usize,
    free: Arc<Semaphore>,
    /// Turns that wait for a person, and replies that are being sent.
    left: AtomicUsize,
}

impl TurnPlaces {
    /// So many, all of them free.
    pub fn new(places: usize) -> Arc<Self> {
        Arc::new(Self { all: places, free: Arc::new(Semaphore::new(places)), left: AtomicUsize::new(0) })
    }

    /// How many turns can be open at once: one for each place, and those that wait for a person or
    /// only have their reply sent.
    pub fn open_max(&self) -> usize {
        self.all + self.left.load(Ordering::Relaxed)
    }

    /// Notes that a reply is being sent, which may take long and needs no place, until this is
    /// dropped.
    pub fn begin_sending(self: &Arc<Self>) -> Arc<TurnSlot> {
        let slot = TurnSlot::new(self);
        slot.leave();
        slot
    }
}

/// Held while it lives, but for the time of waiting.
#[derive(Debug)]
pub struct TurnSlot {
    places: Arc<TurnPlaces>,
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
    pub fn new(places: &Arc<TurnPlaces>) -> Arc<Self> {
        let held = Mutex::new(SlotUse { permit: None, waiting: 0 });
        Arc::new(Self { places: places.clone(), held })
    }

    /// Waits until it is free.
    pub async fn take(&self) {
        let permit = self.places.free.clone().acquire_owned().await.ok();
        lock(&self.held).permit = permit;
    }

    /// A call of the turn begins to wait.
    pub fn leave(&self) {
        let mut held = lock(&self.held);
        held.waiting += 1;
        held.permit = None;
        if held.waiting == 1 {
            self.places.left.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A call of the turn waits no longer; it goes on once there is a place again.
    pub async fn take_back(&self) {
        let others = {
            let mut held = lock(&self.held);
            held.waiting -= 1;
            held.waiting
        };
        if others == 0 {
            self.places.left.fetch_sub(1, Ordering::Relaxed);
            self.take().await;
        }
    }

    /// Whether the turn waits for a person.
    pub fn is_left(&self) -> bool {
        lock(&self.held).waiting > 0
    }
}

impl Drop for TurnSlot {
    fn drop(&mut self) {
        if self.is_left() {
            self.places.left.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_place_is_free_while_its_turn_waits() {
        let places = TurnPlaces::new(1);
        let (all, slot) = (places.free.clone(), TurnSlot::new(&places));
        assert!(all.try_acquire().is_ok(), "nobody has taken it yet");
        slot.take().await;
        assert!(all.try_acquire().is_err() && !slot.is_left());
        slot.leave();
        slot.leave();
        assert!(slot.is_left());
        assert_eq!(places.open_max(), 2, "it is one turn");
        let other = all.clone().try_acquire_owned().expect("the place is free");
        slot.take_back().await;
        assert!(slot.is_left(), "one call still waits");
        drop(other);
        slot.take_back().await;
        assert!(all.try_acquire().is_err() && !slot.is_left(), "it has its place again");
        assert_eq!(places.open_max(), 1);
        slot.leave();
        drop(slot);
        assert!(all.try_acquire().is_ok() && places.open_max() == 1);
        let sending = places.begin_sending();
        assert_eq!(places.open_max(), 2);
        drop(sending);
        assert_eq!(places.open_max(), 1);
    }
}
