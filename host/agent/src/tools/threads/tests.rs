//! What becomes of calls that panic, get stuck, or come when there is no room.

use super::*;
use std::sync::{Mutex, mpsc};

const NOW: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(60);

fn threads(count: usize) -> CallThreads {
    CallThreads::with_grace(count, Duration::from_millis(20)).expect("threads start")
}

/// A session.
fn someone(sender: usize) -> Caller {
    Caller { channel: "test".into(), sender: sender.to_string() }
}

fn one() -> Caller {
    someone(1)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

#[test]
fn a_panic_is_told_and_the_thread_goes_on() {
    let threads = threads(1);
    runtime().block_on(async {
        let told = threads.run(&one(), LONG, |_| -> Result<(), _> { panic!("host bug") }).await;
        assert_eq!(told.map_err(|e| e.code), Err(ErrorCode::Internal));
        assert_eq!(threads.run(&one(), LONG, |_| Ok(1)).await, Ok(1));
    });
}

#[test]
fn a_stuck_call_is_answered_and_must_not_publish_later() {
    let threads = threads(1);
    let (release, released) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    runtime().block_on(async {
        let session = one();
        let stuck = threads.run(&session, NOW, move |handover| {
            let _ = released.recv();
            let _ = tell.send(handover.commit());
            Ok(())
        });
        assert_eq!(stuck.await.map_err(|e| e.code), Err(ErrorCode::TimedOut));
        // Another thread has taken its place.
        assert_eq!(threads.run(&one(), LONG, |_| Ok(1)).await, Ok(1));
    });
    drop(release);
    assert_eq!(told.recv(), Ok(false));
}

#[test]
fn a_committed_call_is_waited_for() {
    // Time enough to commit on a busy machine, and then a call that outlasts it.
    let grace = Duration::from_millis(500);
    let threads = CallThreads::with_grace(1, grace).expect("a thread starts");
    let session = one();
    let committed = threads.run(&session, NOW, move |handover| {
        let won = handover.commit();
        std::thread::sleep(grace + grace / 2);
        Ok(won)
    });
    assert_eq!(runtime().block_on(committed), Ok(true));
}

#[test]
fn a_call_that_waited_for_a_thread_has_its_whole_time() {
    // The wait and the work fit into it one by one, and not together.
    let grace = Duration::from_secs(1);
    let part = grace * 3 / 5;
    let threads = CallThreads::with_grace(1, grace).expect("a thread starts");
    let (release, released) = mpsc::channel::<()>();
    let (first, second) = (someone(1), someone(2));
    runtime().block_on(async {
        let held = threads.run(&first, LONG, move |_| {
            let _ = released.recv();
            Ok(())
        });
        let waited = threads.run(&second, NOW, move |_| {
            std::thread::sleep(part);
            Ok(())
        });
        let let_go = async {
            tokio::time::sleep(part).await;
            drop(release);
        };
        let (held, waited, ()) = tokio::join!(held, waited, let_go);
        assert_eq!((held, waited), (Ok(()), Ok(())));
    });
    assert_eq!(threads.lost.load(Ordering::Acquire), 0);
}

#[test]
fn too_many_stuck_calls_refuse_more_until_they_come_back() {
    let threads = threads(2);
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    runtime().block_on(async {
        for _ in 0..=LOST_MAX {
            let (released, session) = (released.clone(), one());
            let stuck = threads.run(&session, NOW, move |_| {
                drop(released.lock().map(|released| released.recv()));
                Ok(())
            });
            assert_eq!(stuck.await.map_err(|e| e.code), Err(ErrorCode::TimedOut));
        }
        let refused = threads.run(&one(), LONG, |_| Ok(())).await.map_err(|e| e.code);
        assert_eq!(refused, Err(ErrorCode::ToolUnavailable));
        drop(release);
        while threads.lost.load(Ordering::Acquire) > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(threads.run(&one(), LONG, |_| Ok(1)).await, Ok(1));
    });
}

#[test]
fn a_full_queue_refuses() {
    let threads = CallThreads::with_grace(0, NOW).expect("no thread to start");
    runtime().block_on(async {
        let sessions: Vec<_> = (0..QUEUE_MAX / SESSION_QUEUE_MAX).map(someone).collect();
        let mut waiting = Vec::new();
        for session in &sessions {
            for _ in 0..SESSION_QUEUE_MAX {
                let mut call = Box::pin(threads.run(session, LONG, |_| Ok(())));
                tokio::select! {
                    biased;
                    _ = &mut call => unreachable!("nobody runs it"),
                    () = std::future::ready(()) => waiting.push(call),
                }
            }
            if waiting.len() < QUEUE_MAX {
                let refused = threads.run(session, LONG, |_| Ok(())).await.expect_err("it has its share");
                assert_eq!(refused.code, ErrorCode::ToolUnavailable);
                assert!(refused.message.contains("128 calls of yours are waiting"), "{}", refused.message);
            }
        }
        let refused = threads.run(&someone(99), LONG, |_| Ok(())).await.expect_err("there is no room");
        assert_eq!(refused.code, ErrorCode::ToolUnavailable);
        assert!(refused.message.contains("1024 calls are waiting"), "{}", refused.message);
    });
}

/// Runs until `release` is gone.
async fn held(threads: &CallThreads, session: Caller, released: Arc<Mutex<mpsc::Receiver<()>>>) {
    let ran = threads.run(&session, LONG, move |_| {
        drop(released.lock().map(|released| released.recv()));
        Ok(())
    });
    assert_eq!(ran.await, Ok(()));
}

#[test]
fn one_session_leaves_a_thread_to_the_others() {
    for count in [2, 4, 32] {
        let threads = CallThreads::with_grace(count, Duration::ZERO).expect("threads start");
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(Mutex::new(released));
        runtime().block_on(async {
            // Far more than there are threads, all at once, before anybody else comes.
            let hold = || Box::pin(held(&threads, someone(1), released.clone()));
            let mut greedy: Vec<_> = (0..100).map(|_| hold()).collect();
            for call in &mut greedy {
                tokio::select! {
                    biased;
                    () = call => unreachable!("it is held"),
                    () = std::future::ready(()) => {}
                }
            }
            for n in 0..50 {
                assert_eq!(threads.run(&someone(2), LONG, move |_| Ok(n)).await, Ok(n));
            }
            drop(release);
            for call in greedy {
                call.await;
            }
        });
    }
}

/// Calls that run, until they are let go.
struct Running {
    count: AtomicIsize,
    released: Mutex<mpsc::Receiver<()>>,
}

impl Running {
    fn until(released: mpsc::Receiver<()>) -> Arc<Self> {
        Arc::new(Self { count: AtomicIsize::new(0), released: Mutex::new(released) })
    }

    async fn call(self: Arc<Self>, threads: &CallThreads, session: Caller) {
        let ran = threads.run(&session, LONG, move |_| {
            self.count.fetch_add(1, Ordering::AcqRel);
            drop(self.released.lock().map(|released| released.recv()));
            Ok(())
        });
        assert_eq!(ran.await, Ok(()));
    }

    async fn are(&self, count: usize) {
        while self.count.load(Ordering::Acquire) != count as isize {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

#[test]
fn a_session_runs_so_many_calls_at_once_and_leaves_all_other_threads() {
    const THREADS: usize = 32;
    const OTHERS: usize = THREADS - CALLS_PER_SESSION_MAX;
    let threads = CallThreads::start(THREADS).expect("threads start");
    let (release, released) = mpsc::channel::<()>();
    let (release_others, others_released) = mpsc::channel::<()>();
    let (greedy, others) = (Running::until(released), Running::until(others_released));
    runtime().block_on(async {
        let mut calls: Vec<_> =
            (0..100).map(|_| Box::pin(greedy.clone().call(&threads, someone(0)))).collect();
        calls.extend((1..=OTHERS).map(|n| Box::pin(others.clone().call(&threads, someone(n)))));
        for call in &mut calls {
            tokio::select! {
                biased;
                () = call => unreachable!("it is held"),
                () = std::future::ready(()) => {}
            }
        }
        // All at once, on every thread there is.
        greedy.are(CALLS_PER_SESSION_MAX).await;
        others.are(OTHERS).await;
        greedy.are(CALLS_PER_SESSION_MAX).await;
        assert_eq!(threads.waiting(), 100 - CALLS_PER_SESSION_MAX);
        drop((release, release_others));
        for call in calls {
            call.await;
        }
        greedy.are(100).await;
    });
}

#[test]
fn a_call_that_is_given_up_leaves_its_place_to_the_next_of_its_session() {
    let threads = CallThreads::with_grace(2, Duration::from_millis(20)).expect("threads start");
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    runtime().block_on(async {
        for _ in 0..3 {
            let (released, session) = (released.clone(), one());
            let stuck = threads.run(&session, NOW, move |_| {
                drop(released.lock().map(|released| released.recv()));
                Ok(())
            });
            assert_eq!(stuck.await.map_err(|e| e.code), Err(ErrorCode::TimedOut));
            // Its session may run one at once, and does.
            assert_eq!(threads.run(&one(), LONG, |_| Ok(1)).await, Ok(1));
        }
        drop(release);
        while threads.lost.load(Ordering::Acquire) > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // Those that came back did not take or give a place: still one at once, and one is served.
        assert_eq!(threads.run(&one(), LONG, |_| Ok(1)).await, Ok(1));
    });
}

#[test]
fn what_nobody_waits_for_is_not_run() {
    let threads = CallThreads::with_grace(0, NOW).expect("no thread to start");
    let (tell, told) = mpsc::channel();
    runtime().block_on(async {
        let session = one();
        let mut call = Box::pin(threads.run(&session, LONG, move |_| Ok(tell.send(()))));
        tokio::select! {
            biased;
            _ = &mut call => unreachable!("nobody runs it"),
            () = std::future::ready(()) => {}
        }
        drop(call);
        threads.spawn().expect("a thread starts");
        assert_eq!(threads.run(&one(), LONG, |_| Ok(1)).await, Ok(1));
    });
    assert!(told.recv().is_err());
}

#[test]
fn a_call_whose_caller_is_gone_goes_to_its_end_and_gives_thread_and_place_back() {
    // One thread, and one place for each session.
    let threads = threads(1);
    let (begin, begun) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    runtime().block_on(async {
        let session = one();
        let mut call = Box::pin(threads.run(&session, LONG, move |handover| {
            let _ = begin.send(());
            let _ = released.recv();
            let _ = tell.send(handover.commit());
            Ok(())
        }));
        tokio::select! {
            biased;
            _ = &mut call => unreachable!("it is held"),
            () = std::future::ready(()) => {}
        }
        begun.recv().expect("a thread takes it");
        drop(call);
        drop(release);
        assert_eq!(threads.run(&one(), LONG, |_| Ok(1)).await, Ok(1));
    });
    assert_eq!(told.recv(), Ok(true), "what it publishes is in the audit, as its outcome is");
    assert_eq!(threads.lost.load(Ordering::Acquire), 0);
}
