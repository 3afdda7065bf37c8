//! What becomes of calls that panic, get stuck, or come when there is no room.

use super::*;
use std::sync::{Mutex, mpsc};

const NOW: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(60);

fn threads(count: usize) -> CallThreads {
    CallThreads::with_grace(count, Duration::from_millis(20)).expect("threads start")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

#[test]
fn a_panic_is_told_and_the_thread_goes_on() {
    let threads = threads(1);
    runtime().block_on(async {
        let told = threads.run(LONG, |_| -> Result<(), _> { panic!("host bug") }).await;
        assert_eq!(told.map_err(|e| e.code), Err(ErrorCode::Internal));
        assert_eq!(threads.run(LONG, |_| Ok(1)).await, Ok(1));
    });
}

#[test]
fn a_stuck_call_is_answered_and_must_not_publish_later() {
    let threads = threads(1);
    let (release, released) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    runtime().block_on(async {
        let stuck = threads.run(NOW, move |handover| {
            let _ = released.recv();
            let _ = tell.send(handover.commit());
            Ok(())
        });
        assert_eq!(stuck.await.map_err(|e| e.code), Err(ErrorCode::TimedOut));
        // Another thread has taken its place.
        assert_eq!(threads.run(LONG, |_| Ok(1)).await, Ok(1));
    });
    drop(release);
    assert_eq!(told.recv(), Ok(false));
}

#[test]
fn a_committed_call_is_waited_for() {
    // Time enough to commit on a busy machine, and then a call that outlasts it.
    let grace = Duration::from_millis(500);
    let threads = CallThreads::with_grace(1, grace).expect("a thread starts");
    let committed = threads.run(NOW, move |handover| {
        let won = handover.commit();
        std::thread::sleep(grace + grace / 2);
        Ok(won)
    });
    assert_eq!(runtime().block_on(committed), Ok(true));
}

#[test]
fn too_many_stuck_calls_refuse_more_until_they_come_back() {
    let threads = threads(2);
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    runtime().block_on(async {
        for _ in 0..=LOST_MAX {
            let released = released.clone();
            let stuck = threads.run(NOW, move |_| {
                drop(released.lock().map(|released| released.recv()));
                Ok(())
            });
            assert_eq!(stuck.await.map_err(|e| e.code), Err(ErrorCode::TimedOut));
        }
        let refused = threads.run(LONG, |_| Ok(())).await.map_err(|e| e.code);
        assert_eq!(refused, Err(ErrorCode::ToolUnavailable));
        drop(release);
        while threads.lost.load(Ordering::Acquire) > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(threads.run(LONG, |_| Ok(1)).await, Ok(1));
    });
}

#[test]
fn a_full_queue_refuses() {
    let threads = CallThreads::with_grace(0, NOW).expect("no thread to start");
    runtime().block_on(async {
        let mut waiting = Vec::new();
        for _ in 0..QUEUE_MAX {
            let mut call = Box::pin(threads.run(LONG, |_| Ok(())));
            tokio::select! {
                biased;
                _ = &mut call => unreachable!("nobody runs it"),
                () = std::future::ready(()) => waiting.push(call),
            }
        }
        let refused = threads.run(LONG, |_| Ok(())).await.map_err(|e| e.code);
        assert_eq!(refused, Err(ErrorCode::ToolUnavailable));
    });
}

#[test]
fn what_nobody_waits_for_is_not_run() {
    let threads = CallThreads::with_grace(0, NOW).expect("no thread to start");
    let (tell, told) = mpsc::channel();
    runtime().block_on(async {
        let mut call = Box::pin(threads.run(LONG, move |_| Ok(tell.send(()))));
        tokio::select! {
            biased;
            _ = &mut call => unreachable!("nobody runs it"),
            () = std::future::ready(()) => {}
        }
        drop(call);
        threads.spawn().expect("a thread starts");
        assert_eq!(threads.run(LONG, |_| Ok(1)).await, Ok(1));
    });
    assert!(told.recv().is_err());
}
