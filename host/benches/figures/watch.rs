//! Ends the program when one part of it takes far too long, and says which part and where its
//! threads are: a run that hangs has to say so by itself, since nobody sits beside it.

use std::fs;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Several times what the longest part takes on a slow machine.
const PART_MAX: Duration = Duration::from_secs(300);

/// What is under way, and since when.
static PART: Mutex<(&str, Option<Instant>)> = Mutex::new(("the start", None));

/// Another part begins.
pub(crate) fn part(name: &'static str) {
    *PART.lock().unwrap_or_else(PoisonError::into_inner) = (name, Some(Instant::now()));
}

/// Watches from here on.
pub(crate) fn begin() {
    part("the start");
    thread::spawn(|| {
        loop {
            thread::sleep(Duration::from_secs(1));
            let (name, since) = *PART.lock().unwrap_or_else(PoisonError::into_inner);
            if since.is_some_and(|since| since.elapsed() > PART_MAX) {
                eprintln!("{name} hangs: it has taken {PART_MAX:?}\n{}", threads());
                std::process::exit(1);
            }
        }
    });
}

/// The threads of this process, each with its state and what it waits for in the kernel.
fn threads() -> String {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lines = tasks.map(|task| {
        let read = |file| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let status = read("status");
        let state = status.lines().find_map(|line| line.strip_prefix("State:")).unwrap_or_default();
        format!("  {}: {} {}", read("comm").trim(), state.trim(), read("wchan"))
    });
    lines.collect::<Vec<_>>().join("\n")
}
