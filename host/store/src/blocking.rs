//! Work that may block runs off the async threads, and what waits for it goes on upon the thread
//! that did it: waking another one takes longer than most of the work.
//!
//! A task that follows (`follow_work` of the agent) is polled there, and does its next blocking
//! work at once. All else that waits is woken as ever.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::oneshot;

/// Polls a task once.
pub type Poll = Box<dyn FnOnce() + Send>;

thread_local! {
    /// Set while the end of blocking work is told: a task that is woken by that follows on this
    /// thread.
    static ENDING: Cell<bool> = const { Cell::new(false) };
    static NEXT: RefCell<Option<Poll>> = const { RefCell::new(None) };
    /// Set while a task that followed is polled: this thread serves nobody else, and may block.
    static MAY_BLOCK: Cell<bool> = const { Cell::new(false) };
}

/// Does work that may block: here where a task has followed, else on a thread for that. None where
/// the work panics, or the program goes down before it is done.
///
/// # Panics
/// Outside a runtime of tokio; with the work, where that is done here.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    if MAY_BLOCK.get() {
        return Some(work());
    }
    let (tell, told) = oneshot::channel();
    tokio::task::spawn_blocking(move || {
        let done = work();
        end(|| drop(tell.send(done)));
        if let Some(next) = take_next() {
            poll_next(next);
        }
    });
    told.await.ok()
}

/// Tells that blocking work is over. A task that waits for it follows on this thread, which then
/// owes it a [`poll_next`].
pub fn end(tell: impl FnOnce()) {
    ENDING.set(true);
    tell();
    ENDING.set(false);
}

/// Whether a task that is woken now can follow on this thread.
pub fn can_follow() -> bool {
    ENDING.get() && NEXT.with_borrow(Option::is_none)
}

/// Lets a task follow, which [`can_follow`].
pub fn follow(task: Poll) {
    NEXT.set(Some(task));
}

/// What follows the work that ended last on this thread.
pub fn take_next() -> Option<Poll> {
    NEXT.take()
}

/// Polls what follows, until it waits.
pub fn poll_next(next: Poll) {
    MAY_BLOCK.set(true);
    // A task catches its panics where it is polled; what is left are those of its parts when they
    // are dropped.
    if catch_unwind(AssertUnwindSafe(next)).is_err() {
        tracing::error!("a turn failed when it ended");
    }
    MAY_BLOCK.set(false);
}
