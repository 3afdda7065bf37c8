//! What this process has done so far, in numbers, and how it stands now: counted where it happens,
//! read by those who watch the process. Nothing is decided by them, and no person, path or text is
//! in them.
//!
//! The sets of words that numbers are kept for are fixed, apart from the tools' names, which are
//! bounded.

use crate::lock::lock;
use crate::tool::ErrorCode;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The numbers of this process.
pub static COUNTS: Counts = Counts::new();

/// Tools and their codes that are counted apart; what comes beyond is counted under [`OTHER`].
pub const SERIES_MAX: usize = 1024;
/// In place of a word that is none of its set.
pub const OTHER: &str = "other";

/// All numbers.
#[derive(Debug)]
pub struct Counts {
    /// Tool calls that ended.
    pub calls: CallCounts,
    /// Turns by how they ended.
    pub turns: LabelCounts<3>,
    /// Requests to models by what came of them.
    pub model_requests: LabelCounts<3>,
    /// Attempts at them after the first.
    pub model_retries: Counter,
    /// Their tokens, as the servers say; estimated where they do not.
    pub model_tokens: LabelCounts<2>,
    /// Messages of replies that are out, by kind.
    pub sent: LabelCounts<3>,
    /// Those that could not be sent.
    pub unsent: LabelCounts<3>,
    /// Updates that a channel brought, unread ones included.
    pub updates: Counter,
    /// Work that a channel holds: messages that wait or are answered.
    pub held: Counter,
    /// Worker processes that were started.
    pub workers_started: Counter,
    /// Those that died or were killed during a call.
    pub workers_killed: Counter,
    /// Whether the last one that was wanted did not start.
    pub is_worker_missing: AtomicBool,
    /// Records that were appended to the audit.
    pub audit_records: Counter,
    /// Configurations that were read anew, by what came of them.
    pub reloads: LabelCounts<2>,
    /// Whether the last one was refused.
    pub is_reload_refused: AtomicBool,
    /// Tools that are loaded one after the other, and compiled where they never were; zero before
    /// the first.
    pub tools_wanted: Counter,
    /// Those that are done with, in success or failure.
    pub tools_loaded: Counter,
}

/// A number.
#[derive(Debug)]
pub struct Counter(AtomicU64);

/// A number for each of a few words, and one for all others.
#[derive(Debug)]
pub struct LabelCounts<const N: usize> {
    words: [&'static str; N],
    counts: [Counter; N],
    other: Counter,
}

/// Upper bounds of the durations that are counted apart, in seconds.
pub const DURATIONS: [f64; 9] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0, 600.0];

/// Tool calls by tool and code, and how long they took.
#[derive(Debug)]
pub struct CallCounts {
    ended: Mutex<BTreeMap<(String, &'static str), u64>>,
    /// Up to each bound and beyond the last one, each call once.
    durations: [Counter; DURATIONS.len() + 1],
    microseconds: Counter,
}

impl Counts {
    const fn new() -> Self {
        Self {
            calls: CallCounts {
                ended: Mutex::new(BTreeMap::new()),
                durations: [const { Counter::new() }; DURATIONS.len() + 1],
                microseconds: Counter::new(),
            },
            turns: LabelCounts::new(["answered", "limited", "open"]),
            model_requests: LabelCounts::new(["answered", "broke_off", "failed"]),
            model_retries: Counter::new(),
            model_tokens: LabelCounts::new(["input", "output"]),
            sent: LabelCounts::new(["text", "voice", "attachment"]),
            unsent: LabelCounts::new(["text", "voice", "attachment"]),
            updates: Counter::new(),
            held: Counter::new(),
            workers_started: Counter::new(),
            workers_killed: Counter::new(),
            is_worker_missing: AtomicBool::new(false),
            audit_records: Counter::new(),
            reloads: LabelCounts::new(["applied", "refused"]),
            is_reload_refused: AtomicBool::new(false),
            tools_wanted: Counter::new(),
            tools_loaded: Counter::new(),
        }
    }
}

impl Counter {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// More of it.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// So many now.
    pub fn set(&self, now: u64) {
        self.0.store(now, Ordering::Relaxed);
    }

    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<const N: usize> LabelCounts<N> {
    const fn new(words: [&'static str; N]) -> Self {
        Self { words, counts: [const { Counter::new() }; N], other: Counter::new() }
    }

    /// More under this word.
    pub fn add(&self, word: &str, more: u64) {
        let known = self.words.iter().position(|known| *known == word);
        known.map_or(&self.other, |at| &self.counts[at]).add(more);
    }

    /// Each word with its number; [`OTHER`] where it has one.
    pub fn to_list(&self) -> Vec<(&'static str, u64)> {
        let known = self.words.iter().copied().zip(self.counts.iter().map(Counter::get));
        known.chain(Some((OTHER, self.other.get())).filter(|(_, n)| *n > 0)).collect()
    }
}

impl CallCounts {
    /// A call ended: of a tool that there is, else `None`.
    pub fn note_call(&self, tool: Option<&str>, code: Option<ErrorCode>, microseconds: u64) {
        let code = code.map_or("ok", ErrorCode::as_str);
        let mut ended = lock(&self.ended);
        let key = (tool.unwrap_or(OTHER).to_owned(), code);
        let key =
            if ended.len() < SERIES_MAX || ended.contains_key(&key) { key } else { (OTHER.to_owned(), code) };
        *ended.entry(key).or_default() += 1;
        drop(ended);
        let seconds = microseconds as f64 / 1e6;
        let at = DURATIONS.iter().position(|bound| seconds <= *bound).unwrap_or(DURATIONS.len());
        self.durations[at].add(1);
        self.microseconds.add(microseconds);
    }

    /// How many of each tool ended with each code; `ok` is the code of success.
    pub fn to_list(&self) -> Vec<((String, &'static str), u64)> {
        let ended = lock(&self.ended);
        ended.iter().map(|(key, count)| (key.clone(), *count)).collect()
    }

    /// How many took at most as long as each of [`DURATIONS`], then how many there are; and seconds
    /// in all.
    pub fn durations(&self) -> ([u64; DURATIONS.len() + 1], f64) {
        let mut sum = 0;
        let cumulated = std::array::from_fn(|at| {
            sum += self.durations[at].get();
            sum
        });
        (cumulated, self.microseconds.get() as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_of_their_set_or_others() {
        let words = LabelCounts::new(["a", "b"]);
        words.add("b", 2);
        assert_eq!(words.to_list(), [("a", 0), ("b", 2)]);
        words.add("who knows", 1);
        assert_eq!(words.to_list(), [("a", 0), ("b", 2), (OTHER, 1)]);
    }

    #[test]
    fn calls_are_counted_by_tool_and_code_within_bounds() {
        let counts = Counts::new();
        let calls = &counts.calls;
        calls.note_call(Some("file_read"), None, 900);
        calls.note_call(Some("file_read"), Some(ErrorCode::NotFound), 5_000);
        calls.note_call(None, Some(ErrorCode::UnknownTool), 3_600_000_000);
        let each = |tool: &str, code| ((tool.to_owned(), code), 1);
        let expected = [each("file_read", "not_found"), each("file_read", "ok"), each(OTHER, "unknown_tool")];
        assert_eq!(calls.to_list(), expected);
        let (durations, seconds) = calls.durations();
        assert_eq!((durations, seconds), ([1, 2, 2, 2, 2, 2, 2, 2, 2, 3], 3600.0059));
        for n in 0..2 * SERIES_MAX {
            calls.note_call(Some(&format!("tool_{n}")), None, 0);
        }
        // Each code has its own line for the rest.
        assert!(calls.to_list().len() <= SERIES_MAX + ErrorCode::ALL.len() + 1, "{}", calls.to_list().len());
        assert_eq!(calls.to_list().iter().map(|(_, n)| n).sum::<u64>(), 3 + 2 * SERIES_MAX as u64);
    }
}
