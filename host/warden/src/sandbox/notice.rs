//! Tells those who wait that components are being compiled, and how long each took: that can take a
//! minute, and nothing else would be seen meanwhile. It says nothing as long as all of it was
//! quick.

use cofferdam_core::lock::lock;
use cofferdam_core::text::one_line;
use std::cell::RefCell;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// So much compiling of a process nobody minds.
const UNNOTICED: Duration = Duration::from_millis(500);
/// How often a component that still compiles is told of again.
const AGAIN_EVERY: Duration = Duration::from_secs(10);

/// Takes a line.
static TELL: OnceLock<fn(&str)> = OnceLock::new();
/// What compiling has taken so far.
static SPENT: Mutex<Duration> = Mutex::new(Duration::ZERO);

thread_local! {
    static NAME: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From here on it is told: without this nothing is.
pub fn tell_of_compiling(tell: fn(&str)) {
    let _ = TELL.set(tell);
}

/// The name of what `work` loads on this thread, for people.
pub fn report_loading<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let before = NAME.replace(Some(one_line(name, 80)));
    let done = work();
    NAME.set(before);
    done
}

/// Does the compiling of a component of so many bytes.
pub(super) fn report_compiling<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let Some(tell) = TELL.get() else { return work() };
    let name = NAME.with_borrow(|name| name.clone().unwrap_or_else(|| "a component".into()));
    let what = format!("{name} ({})", size(bytes));
    let started = Instant::now();
    let spent = *lock(&SPENT);
    let (ended, watch) = start_watch(*tell, what, UNNOTICED.saturating_sub(spent), AGAIN_EVERY);
    let done = work();
    drop(ended);
    let told = watch.is_some_and(|watch| watch.join().unwrap_or(false));
    let took = started.elapsed();
    *lock(&SPENT) += took;
    if told {
        tell(&format!("compiling {name} took {:.1} s", took.as_secs_f64()));
    }
    done
}

/// `98 KB`, `12.2 MB`.
fn size(bytes: usize) -> String {
    match bytes {
        0..=999_499 => format!("{} KB", bytes.div_ceil(1000)),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// A thread that tells of it after `quiet` and each time `again` has passed, until the other end is
/// dropped; then whether it did. None where the system has no thread: compiling goes on untold.
fn start_watch(
    tell: fn(&str),
    what: String,
    quiet: Duration,
    again: Duration,
) -> (Sender<()>, Option<JoinHandle<bool>>) {
    let (ended, end) = channel::<()>();
    let started = Instant::now();
    let watch = move || {
        let mut told = false;
        while end.recv_timeout(if told { again } else { quiet }) == Err(RecvTimeoutError::Timeout) {
            match told {
                false => tell(&format!("compiling {what} …")),
                true => tell(&format!("compiling {what} … {} s", started.elapsed().as_secs())),
            }
            told = true;
        }
        told
    };
    (ended, Builder::new().name("compiling".into()).spawn(watch).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

    #[test]
    fn it_is_told_once_it_takes_long_and_with_how_long_it_took() {
        let said = || SAID.lock().expect("no panic").clone();
        let slow = || std::thread::sleep(Duration::from_millis(1200));
        report_compiling(98_000, slow);
        assert!(said().is_empty(), "nobody asked to be told");
        tell_of_compiling(|line| SAID.lock().expect("no panic").push(line.to_owned()));
        report_compiling(98_000, || ());
        assert!(said().is_empty(), "it was quick: {:?}", said());
        report_loading("unpack", || report_compiling(98_000, slow));
        let lines = said();
        assert_eq!((lines.len(), lines[0].as_str()), (2, "compiling unpack (98 KB) …"), "{lines:?}");
        assert!(lines[1].starts_with("compiling unpack took 1."), "{lines:?}");
        // By now every one is noticed.
        report_compiling(1, || std::thread::sleep(Duration::from_millis(50)));
        assert_eq!(said()[2], "compiling a component (1 KB) …");
    }

    #[test]
    fn what_goes_on_is_told_again_with_its_seconds() {
        static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let tell = |line: &str| TOLD.lock().expect("no panic").push(line.to_owned());
        let (ended, watch) = start_watch(tell, "x (1 KB)".into(), Duration::ZERO, Duration::from_millis(1));
        while TOLD.lock().expect("no panic").len() < 3 {
            std::thread::yield_now();
        }
        drop(ended);
        assert!(watch.expect("a thread").join().expect("no panic"));
        let lines = TOLD.lock().expect("no panic").clone();
        assert_eq!(
            lines[..3],
            ["compiling x (1 KB) …", "compiling x (1 KB) … 0 s", "compiling x (1 KB) … 0 s"]
        );
    }
}
