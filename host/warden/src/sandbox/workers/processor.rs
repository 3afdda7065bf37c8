//! A worker runs on the processor of the thread that waits for its answers. The two take turns, so
//! neither waits for another processor to be woken, which takes longer than a small call. What
//! takes longer, or asks the gateway for something, runs where the system wants it.
//!
//! Where one thread begins all calls and waits for them, it takes turns with them as well, as long
//! as there is one call at a time.

use cofferdam_core::lock::lock;
use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Calls that take longer are spread over the processors, as everything else is.
const SHARED_MAX: Duration = Duration::from_millis(20);

/// Where the gateway may run.
static ANYWHERE: OnceLock<CpuSet> = OnceLock::new();
/// How many calls run on each processor.
static CALLS: [AtomicU32; CpuSet::MAX_CPU] = [const { AtomicU32::new(0) }; CpuSet::MAX_CPU];

/// The processor that the last call began on: the next one finds its thread and its worker there,
/// and what is in its caches.
static LAST: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Calls that share a processor.
static SHARING: AtomicU32 = AtomicU32::new(0);
/// The thread that begins all calls, where one does.
static BEGINNER: Mutex<Option<Placement>> = Mutex::new(None);

thread_local! {
    /// The one processor that this thread may use.
    static ONLY: Cell<Option<usize>> = const { Cell::new(None) };
}

/// A worker's process, or the thread that begins all calls, and the one processor that it may use.
#[derive(Debug)]
pub(super) struct Placement {
    thread: Pid,
    only: Option<usize>,
}

/// A processor that a thread shares with a worker. Both stay there until they are needed elsewhere.
pub(super) struct SharedProcessor<'a> {
    placement: &'a mut Placement,
    processor: usize,
    since: Instant,
}

/// Lets this thread run wherever the gateway may. Threads that begin while a call's thread goes on
/// with a turn are restricted as that one is.
pub fn run_anywhere() {
    if let Some(anywhere) = ANYWHERE.get() {
        // Nothing but time depends on it.
        let _ = sched_setaffinity(None, anywhere);
        ONLY.set(None);
    }
}

/// Has this thread run where a call does, while there is one at a time: it begins all of them and
/// waits for what they come to. Threads that it starts are restricted as it is.
pub fn run_with_calls() {
    *lock(&BEGINNER) = Some(Placement::new(gettid()));
}

/// Moves the thread that begins calls: to a processor, or wherever the gateway may run.
fn move_beginner(to: Option<usize>) {
    let (mut beginner, anywhere) = (lock(&BEGINNER), ANYWHERE.get());
    let (Some(beginner), Some(anywhere)) = (&mut *beginner, anywhere) else { return };
    if beginner.only != to {
        let set = to.map_or(*anywhere, single_cpu);
        // Nothing but time depends on it.
        let _ = sched_setaffinity(Some(beginner.thread), &set);
        beginner.only = to;
    }
}

impl Placement {
    /// Of what runs anywhere.
    pub(super) fn new(thread: Pid) -> Self {
        Self { thread, only: None }
    }

    /// Keeps this thread and the worker on one processor. None where there is only one, or the
    /// system does not allow it: nothing but time depends on it.
    pub(super) fn share(&mut self) -> Option<SharedProcessor<'_>> {
        // The first time is before any thread of the gateway was restricted.
        let anywhere = ANYWHERE.get_or_init(|| sched_getaffinity(None).unwrap_or_default());
        let processor = least_used(anywhere)?;
        if ONLY.get() != Some(processor) {
            sched_setaffinity(None, &single_cpu(processor)).ok()?;
            ONLY.set(Some(processor));
        }
        CALLS[processor].fetch_add(1, Ordering::Relaxed);
        let is_alone = SHARING.fetch_add(1, Ordering::Relaxed) == 0;
        let shared = SharedProcessor { placement: self, processor, since: Instant::now() };
        if shared.placement.only != Some(processor) {
            if sched_setaffinity(Some(shared.placement.thread), &single_cpu(processor)).is_err() {
                shared.release();
                return None;
            }
            shared.placement.only = Some(processor);
        }
        LAST.store(processor, Ordering::Relaxed);
        move_beginner(is_alone.then_some(processor));
        Some(shared)
    }
}

impl SharedProcessor<'_> {
    /// Whether the call is no short one.
    pub(super) fn is_late(&self) -> bool {
        self.since.elapsed() >= SHARED_MAX
    }

    /// Lets both run anywhere.
    pub(super) fn release(self) {
        run_anywhere();
        move_beginner(None);
        if let Some(anywhere) = ANYWHERE.get() {
            // A worker that has ended needs none.
            let _ = sched_setaffinity(Some(self.placement.thread), anywhere);
        }
        self.placement.only = None;
    }
}

impl Drop for SharedProcessor<'_> {
    fn drop(&mut self) {
        CALLS[self.processor].fetch_sub(1, Ordering::Relaxed);
        SHARING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The processor with the fewest calls, among equals the one that was used last, else this thread's
/// own; None where there are not two.
fn least_used(anywhere: &CpuSet) -> Option<usize> {
    let (here, last) = (ONLY.get().unwrap_or_else(sched_getcpu), LAST.load(Ordering::Relaxed));
    let calls =
        |&processor: &usize| (CALLS[processor].load(Ordering::Relaxed), processor != last, processor != here);
    let several = anywhere.count() > 1;
    (0..CpuSet::MAX_CPU).filter(|&processor| several && anywhere.is_set(processor)).min_by_key(calls)
}

fn single_cpu(processor: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(processor);
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn processors(pid: Option<Pid>) -> u32 {
        sched_getaffinity(pid).expect("asked").count()
    }

    struct Process(Child);

    impl Process {
        fn start() -> (Self, Placement) {
            let child = Command::new("sleep").arg("60").spawn().expect("a process");
            let placement = Placement::new(Pid::from_child(&child));
            (Self(child), placement)
        }
    }

    impl Drop for Process {
        fn drop(&mut self) {
            self.0.kill().and_then(|()| self.0.wait()).expect("ours");
        }
    }

    /// How many there are, and whether that is enough to share one of them.
    fn all() -> Option<u32> {
        Some(processors(None)).filter(|&count| count > 1)
    }

    #[test]
    fn a_short_call_shares_a_processor_and_the_next_one_finds_both_there() {
        let Some(all) = all() else { return };
        let (_process, mut placement) = Process::start();
        let worker = placement.thread;
        let shared = placement.share().expect("there are two");
        assert!(!shared.is_late());
        assert_eq!((processors(None), processors(Some(worker))), (1, 1));
        drop(shared);
        assert_eq!((processors(None), processors(Some(worker))), (1, 1));
        // A thread that begins meanwhile is restricted too, until it says otherwise.
        let began = std::thread::spawn(|| {
            let before = processors(None);
            run_anywhere();
            (before, processors(None))
        });
        assert_eq!(began.join().expect("no panic"), (1, all));
    }

    #[test]
    fn both_run_anywhere_once_they_are_released() {
        let Some(all) = all() else { return };
        let (_process, mut placement) = Process::start();
        let worker = placement.thread;
        for _ in 0..2 {
            placement.share().expect("there are two").release();
            assert_eq!((processors(None), processors(Some(worker)), placement.only), (all, all, None));
        }
    }

    #[test]
    fn calls_at_once_take_different_processors() {
        let Some(_) = all() else { return };
        let mut processes: Vec<_> = (0..2).map(|_| Process::start()).collect();
        let mut shared: Vec<_> =
            processes.iter_mut().filter_map(|(_, placement)| placement.share()).collect();
        // Other tests share some too.
        let apart = || {
            shared[0].processor != shared[1].processor || CALLS.iter().any(|n| n.load(Ordering::Relaxed) > 1)
        };
        assert!(shared.len() == 2 && apart());
        shared.clear();
    }

    /// Other tests share processors meanwhile, so that a call is not always alone.
    #[test]
    fn the_thread_that_begins_calls_shares_the_processor_of_the_only_one() {
        let Some(all) = all() else { return };
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let beginner = std::thread::spawn(move || {
            run_with_calls();
            tell.send(gettid()).expect("waited for");
            let _ = ended.recv();
        });
        let thread = told.recv().expect("it runs");
        let (_process, mut placement) = Process::start();
        let mut comes_to = |count: u32, release: bool| {
            (0..10_000).any(|_| {
                let shared = placement.share().expect("there are two");
                let kept = match release {
                    true => {
                        shared.release();
                        None
                    }
                    false => Some(shared),
                };
                let is_so = processors(Some(thread)) == count;
                drop(kept);
                is_so
            })
        };
        assert!(comes_to(1, false) && comes_to(all, true) && comes_to(1, false));
        *lock(&BEGINNER) = None;
        drop(end);
        beginner.join().expect("no panic");
    }

    #[test]
    fn a_worker_that_is_gone_keeps_nobody() {
        let Some(all) = all() else { return };
        let (process, mut placement) = Process::start();
        drop(process);
        assert!(placement.share().is_none());
        assert_eq!(processors(None), all);
    }
}
