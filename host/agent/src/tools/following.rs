//! A turn goes on upon the thread of the work that it waited for: two threads fewer are woken for
//! each call, and for each thing that is stored or read.
//!
//! A call ends on a call thread, and waking a thread of the runtime for its turn takes longer than
//! most of what the call does. So [`follow_work`] has the turn polled by that very thread as soon
//! as the call is over. All else that wakes the turn (the network, a timer, a call's progress) has
//! it polled by the runtime, as any task is: a call that is stuck keeps nobody.

use async_task::Runnable;
use cofferdam_store::blocking::{self, Poll};
use futures_util::FutureExt;
use std::any::Any;
use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use tokio::runtime::Handle;

thread_local! {
    /// Set while a turn runs on a call thread: that takes the next job as soon as the turn waits
    /// for it.
    static TAKES_NEXT: Cell<bool> = const { Cell::new(false) };
}

/// A future that goes on where its calls end, and what it has stored. Ends when this is dropped.
///
/// # Errors
/// What the future panicked with.
///
/// # Panics
/// Outside a runtime of tokio.
pub fn follow_work<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> impl Future<Output = Result<T, Box<dyn Any + Send>>> + Send {
    let runtime = Handle::current();
    let schedule = move |task: Runnable| match blocking::can_follow() {
        true => {
            let runtime = runtime.clone();
            blocking::follow(Box::new(move || {
                let _within = runtime.enter();
                task.run();
            }));
        }
        false => drop(runtime.spawn(async { task.run() })),
    };
    let (task, running) = async_task::spawn(AssertUnwindSafe(future).catch_unwind(), schedule);
    task.schedule();
    running
}

/// Polls a turn on this call thread until it waits.
pub(super) fn poll(next: Poll) {
    TAKES_NEXT.set(true);
    blocking::poll_next(next);
    TAKES_NEXT.set(false);
}

/// Whether a job that is pushed now needs no other thread to be woken: this one takes the next.
/// Once for each turn.
pub(super) fn can_take_next() -> bool {
    TAKES_NEXT.replace(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::CallThreads;
    use cofferdam_core::id::Caller;
    use std::sync::{Arc, mpsc};
    use std::thread::{ThreadId, current};
    use std::time::Duration;
    use tokio::sync::oneshot;

    const LONG: Duration = Duration::from_secs(60);

    fn calls(count: usize) -> Arc<CallThreads> {
        Arc::new(CallThreads::start(count).expect("threads start"))
    }

    fn one() -> Caller {
        Caller { channel: "test".into(), sender: "1".into() }
    }

    async fn thread_of_call(calls: &CallThreads) -> ThreadId {
        calls.run(&one(), LONG, |_| Ok(current().id())).await.expect("it runs")
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_turn_goes_on_where_its_call_ended_and_calls_from_there() {
        let calls = calls(4);
        let turn = follow_work(async move {
            let mut threads = Vec::new();
            for _ in 0..1000 {
                threads.push((thread_of_call(&calls).await, current().id()));
            }
            threads
        });
        let threads = turn.await.expect("no panic");
        // Not all: a call may end before its turn waits for it, and a thread that was woken in vain
        // takes the next.
        let followed = threads.windows(2).filter(|two| two[0].0 == two[0].1 && two[0].1 == two[1].0);
        assert!(followed.count() > 500, "{threads:?}");
    }

    async fn thread_of_work() -> ThreadId {
        blocking::run(|| current().id()).await.expect("it runs")
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_turn_goes_on_where_its_work_ended_and_does_the_next_there_until_it_waits_for_other_things() {
        let turn = follow_work(async {
            let mut threads = Vec::new();
            for _ in 0..1000 {
                threads.push((thread_of_work().await, current().id()));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
            (threads, current().id(), thread_of_work().await)
        });
        let (threads, runtime, off_runtime) = turn.await.expect("no panic");
        // Work may end before its turn waits for it; then nothing is woken, and nothing follows.
        let followed: Vec<_> = threads.iter().skip_while(|(work, turn)| work != turn).collect();
        let there = followed.first().expect("one follows").0;
        assert!(followed.len() > 500 && followed.iter().all(|two| **two == (there, there)), "{threads:?}");
        assert!(runtime != there && off_runtime != runtime, "the runtime never blocks");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn work_that_panics_is_told_and_a_turn_that_does_it_fails_alone() {
        assert!(blocking::run(|| panic!("on its own thread")).await.is_none());
        let turn = follow_work(async {
            while thread_of_work().await != current().id() {}
            blocking::run(|| panic!("on the turn's thread")).await
        });
        assert!(turn.await.is_err());
        // Nobody may block here on the word of that turn.
        let turn = follow_work(async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            (current().id(), thread_of_work().await)
        });
        let (runtime, work) = turn.await.expect("no panic");
        assert_ne!(runtime, work);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn what_comes_while_a_call_runs_does_not_wait_for_its_end() {
        let calls = calls(1);
        let (report, reported) = oneshot::channel();
        let (heard, hears) = mpsc::channel();
        let turn = follow_work(async move {
            let session = one();
            let call = calls.run(&session, LONG, move |_| {
                let _ = report.send(());
                // The call does not end before its turn has heard of it.
                Ok(hears.recv_timeout(LONG).is_ok())
            });
            let hears_of_it = async {
                reported.await.expect("the call reports");
                heard.send(()).expect("the call waits");
            };
            tokio::join!(call, hears_of_it).0
        });
        assert_eq!(turn.await.expect("no panic"), Ok(true));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_panic_is_the_turns_own_and_the_thread_goes_on() {
        let calls = calls(1);
        let turns = calls.clone();
        let turn = follow_work(async move {
            thread_of_call(&turns).await;
            panic!("a turn fails");
        });
        assert!(turn.await.is_err());
        assert_ne!(thread_of_call(&calls).await, current().id());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_turn_that_nobody_wants_any_more_is_dropped() {
        let (held, dropped) = oneshot::channel::<()>();
        let turn = follow_work(async move {
            let _held = held;
            std::future::pending::<()>().await;
        });
        drop(turn);
        assert!(dropped.await.is_err());
    }

    /// The second job wakes another thread, and the share of a call that is over is free.
    fn another(n: usize) -> Caller {
        Caller { channel: "test".into(), sender: format!("another {n}") }
    }

    /// Each of three threads has had a call, and sleeps: none is about to look for one by itself.
    async fn all_sleep(calls: &CallThreads) {
        let all = Arc::new(std::sync::Barrier::new(3));
        let meet = |n: usize| {
            let all = all.clone();
            async move { calls.run(&another(n), LONG, move |_| Ok(all.wait().is_leader())).await }
        };
        let (first, second, third) = tokio::join!(meet(1), meet(2), meet(3));
        assert!(first.is_ok() && second.is_ok() && third.is_ok());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn what_a_turn_asks_for_runs_beside_what_its_call_held_up() {
        let calls = calls(3);
        all_sleep(&calls).await;
        let (busy, is_busy) = oneshot::channel();
        let (end, ends) = mpsc::channel::<()>();
        let (begin, began) = oneshot::channel();
        let (go, goes) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let session = one();
        let first = calls.run(&session, LONG, move |_| {
            let _ = busy.send(());
            Ok(ends.recv_timeout(LONG).is_ok())
        });
        let in_turn = calls.clone();
        let turn = follow_work(async move {
            let session = one();
            let went = in_turn.run(&session, LONG, move |_| {
                let _ = begin.send(());
                Ok(goes.recv_timeout(LONG).is_ok())
            });
            assert_eq!(went.await, Ok(true));
            in_turn.run(&another(1), LONG, move |_| Ok(tell.send(()).is_ok())).await
        });
        let third = async {
            // The session has its share, so this one is held until the turn's call is over.
            is_busy.await.expect("it runs");
            began.await.expect("it runs");
            let held = calls.run(&session, LONG, move |_| Ok(told.recv_timeout(LONG / 6).is_ok()));
            let (held, went) = tokio::join!(held, async { go.send(()) });
            assert!(went.is_ok() && end.send(()).is_ok());
            held
        };
        let (first, turn, third) = tokio::join!(first, turn, third);
        assert_eq!((first, turn.expect("no panic"), third), (Ok(true), Ok(true), Ok(true)));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn calls_side_by_side_run_side_by_side() {
        let calls = calls(3);
        all_sleep(&calls).await;
        let turn = follow_work(async move {
            // Until it follows: a call may end before its turn waits for it.
            while thread_of_call(&calls).await != current().id() {}
            let session = one();
            let (tell, told) = mpsc::channel();
            let first = calls.run(&session, LONG, move |_| Ok(told.recv_timeout(LONG / 6).is_ok()));
            let second = calls.run(&session, LONG, move |_| Ok(tell.send(()).is_ok()));
            tokio::join!(first, second)
        });
        assert_eq!(turn.await.expect("no panic"), (Ok(true), Ok(true)));
    }
}
