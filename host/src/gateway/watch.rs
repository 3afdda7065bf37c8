//! What the monitor is told of a gateway, from its start on: how things stand, and what keeps it
//! from its work.
//!
//! Ailments are in fixed words. Of the model and the store they also have since when and why they
//! fail, on one line without secrets; what the system said of the others is in the log, once it
//! changes.

use super::Gateway;
use crate::config::Config;
use crate::monitor::{Gauges, STUCK, Watched};
use cofferdam_agent::tools::CallThreads;
use cofferdam_chat::loop_health::LoopHealth;
use cofferdam_core::counts::COUNTS;
use cofferdam_core::lock::lock;
use cofferdam_core::standing::{HealthHistory, MODEL, STORE};
use cofferdam_store::Store;
use cofferdam_warden::calls::Warden;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// Polls last 30 s, and pauses between attempts 10 s; so long without an answer is an outage.
const POLL_AGE_MAX: Duration = Duration::from_secs(90);
/// What was found is told again for so long: who asks often must not keep the disk busy.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Who asks while a look has taken longer does not wait for it: each of them would have a thread
/// that others need.
const LOOK_WAIT_MAX: Duration = Duration::from_secs(2);

/// A gateway, watched from before it is there.
#[derive(Default)]
pub struct Watching(OnceLock<Watch>);

/// A running gateway, watched.
pub struct Watch {
    channels: Vec<&'static LoopHealth>,
    warden: Warden,
    threads: Arc<CallThreads>,
    store: Store,
    looks: Looks,
}

/// One look at a time.
#[derive(Default)]
struct Looks {
    /// When it last ended, and by what.
    found: Mutex<Option<(Instant, Vec<String>)>>,
    /// Since when somebody looks.
    looking: Mutex<Option<Instant>>,
}

/// A look that is under way, until this is dropped.
struct Look<'w>(&'w Mutex<Option<Instant>>);

/// The channels that a configuration has, by what is known of their loops.
pub fn channels(config: &Config) -> Vec<&'static LoopHealth> {
    let telegram = config.telegram.as_ref().map(|_| &cofferdam_telegram::PULSE);
    let discord = config.discord.as_ref().map(|_| &cofferdam_discord::PULSE);
    telegram.into_iter().chain(discord).collect()
}

impl Gateway {
    /// What the monitor is told of this gateway and its channels.
    pub fn watch(&self, store: Store, channels: Vec<&'static LoopHealth>) -> Watch {
        let (warden, threads) = (self.warden.clone(), self.threads.clone());
        Watch { channels, warden, threads, store, looks: Looks::default() }
    }
}

impl Watch {
    fn look(&self) -> Vec<String> {
        let audit =
            failed("audit: no record can be written, so calls are refused", self.warden.audit().check());
        // What it holds already may have room where what somebody wrote has none.
        let written = failed("database: it cannot be written, so no message is taken", self.store.check());
        let store = STORE.look();
        let waits = store.is_failing().then(|| "database: something waits that it does not do".to_owned());
        let store = written.or(waits).map(|problem| explain_problem(&problem, &store));
        let model = MODEL.look();
        let model = model.is_failing().then(|| explain_problem("model: it answers no request", &model));
        // Perhaps one starts again; trying is what tells.
        let tried =
            COUNTS.is_worker_missing.load(Ordering::Relaxed).then(|| self.warden.sandbox().try_worker());
        let workers =
            tried.and_then(|tried| failed("workers: no sandbox process starts, so calls fail", tried));
        let channels = silent_channels(&self.channels).into_iter();
        channels.chain([workers, audit, store, model].into_iter().flatten()).collect()
    }
}

impl Watching {
    /// The gateway is there.
    pub fn set_running(&self, watch: Watch) {
        let _ = self.0.set(watch);
    }
}

impl Watched for Watching {
    fn gauges(&self) -> Option<Gauges> {
        self.0.get().map(Watch::gauges)
    }

    fn problems(&self) -> Vec<String> {
        match self.0.get() {
            Some(watch) => watch.problems(),
            None => vec![describe_start()],
        }
    }

    fn overdue_by(&self) -> Duration {
        self.0.get().map_or(Duration::ZERO, Watch::overdue_by)
    }
}

impl Watch {
    fn overdue_by(&self) -> Duration {
        self.channels.iter().map(|channel| channel.overdue_by()).max().unwrap_or_default()
    }

    /// Since the channel answered that has been silent for the longest; none before each has.
    fn last_poll(&self) -> Option<Duration> {
        let all: Option<Vec<_>> = self.channels.iter().map(|channel| channel.last_poll()).collect();
        all?.into_iter().max()
    }

    fn gauges(&self) -> Gauges {
        Gauges {
            calls_waiting: self.threads.waiting(),
            tasks: Handle::try_current().ok().map(|runtime| runtime.metrics().num_alive_tasks()),
            audit_seq: self.warden.audit().head().seq,
            last_poll: self.last_poll(),
            channels: self.channels.iter().map(|channel| (channel.name, channel.last_poll())).collect(),
            workspace_bytes: self.warden.workspaces().bytes(),
            workspace_max_bytes: self.warden.workspaces().max_bytes().0,
            resident_bytes: resident_bytes(),
            open_descriptors: std::fs::read_dir("/proc/self/fd").ok().map(|fds| fds.count() as u64),
        }
    }

    fn problems(&self) -> Vec<String> {
        let (problems, has_changed) = self.looks.find(|| self.look());
        match problems.as_slice() {
            _ if !has_changed => {}
            [] => tracing::info!("the gateway's health has changed: all is well"),
            // A start is no problem.
            problems if problems.iter().all(|problem| problem.ends_with(NOT_YET)) => {}
            _ => tracing::warn!(problems = problems.join("; "), "the gateway's health has changed"),
        }
        problems
    }
}

impl Looks {
    /// The problems that a look finds, and whether they are others than before. A look that has
    /// just ended is not repeated, and one that takes too long is not waited for.
    fn find(&self, look: impl FnOnce() -> Vec<String>) -> (Vec<String>, bool) {
        if lock(&self.looking).is_some_and(|since| since.elapsed() > LOOK_WAIT_MAX) {
            return (vec![STUCK.to_owned()], false);
        }
        let mut found = lock(&self.found);
        if let Some((_, problems)) = found.as_ref().filter(|(at, _)| at.elapsed() < LOOK_EVERY) {
            return (problems.clone(), false);
        }
        let problems = {
            *lock(&self.looking) = Some(Instant::now());
            let _look = Look(&self.looking);
            look()
        };
        let before = found.replace((Instant::now(), problems.clone())).map(|(_, before)| before);
        let has_changed = before.unwrap_or_default() != problems;
        (problems, has_changed)
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        *lock(self.0) = None;
    }
}

/// What a gateway is at that is not there yet: compiling takes the longest by far.
fn describe_start() -> String {
    match (COUNTS.tools_loaded.get(), COUNTS.tools_wanted.get()) {
        (_, 0) => "starting".to_owned(),
        (ready, tools) => format!("starting: compiled {ready} of {tools} tools"),
    }
}

/// What a problem ends with that every start has.
const NOT_YET: &str = "has not answered yet";

/// The problems of channels that are silent, by name where there are several. What another node
/// hears is silent at that one alone.
fn silent_channels(channels: &[&LoopHealth]) -> Vec<String> {
    let name = |channel: &LoopHealth| match channels.len() > 1 {
        true => format!("the channel {}", channel.name),
        false => "the channel".to_owned(),
    };
    let heard = channels.iter().filter(|channel| !channel.is_elsewhere());
    heard.filter_map(|channel| polling(&name(channel), channel.last_poll())).collect()
}

fn polling(channel: &str, age: Option<Duration>) -> Option<String> {
    match age {
        None => Some(format!("polling: {channel} {NOT_YET}")),
        Some(age) if age > POLL_AGE_MAX => {
            // Not for how long: then each look would be news.
            Some(format!("polling: {channel} has not answered for over {} s", POLL_AGE_MAX.as_secs()))
        }
        Some(_) => None,
    }
}

fn failed<E: std::error::Error + 'static>(problem: &str, looked: Result<(), E>) -> Option<String> {
    let error = looked.err()?;
    tracing::debug!(error = &error as &dyn std::error::Error, "{problem}");
    Some(problem.to_owned())
}

/// An problem with since when it is one and why. Not with the time of the last failure: then each
/// look would be news.
fn explain_problem(problem: &str, fared: &HealthHistory) -> String {
    let at = fared.failing_since.and_then(|ms| jiff::Timestamp::from_second(ms.div_euclid(1000)).ok());
    let at = at.map(|at| format!(" since {at}")).unwrap_or_default();
    format!("{problem}{at}: {}", fared.reason.as_deref().unwrap_or("see the log"))
}

/// Resident memory, as the kernel tells it in KiB.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_channel_that_is_silent_for_long_is_an_ailment() {
        let polling = |age| polling("the channel", age);
        assert!(polling(None).is_some_and(|said| said.contains("not answered yet")));
        assert_eq!(polling(Some(Duration::ZERO)), None);
        assert_eq!(polling(Some(POLL_AGE_MAX)), None);
        let late = |seconds| polling(Some(POLL_AGE_MAX + Duration::from_secs(seconds)));
        assert_eq!(late(1).as_deref(), Some("polling: the channel has not answered for over 90 s"));
        assert_eq!(late(1), late(3600), "it is no news as long as it lasts");
    }

    #[test]
    fn the_silence_of_a_channel_that_another_node_hears_is_no_ailment_of_this_one() {
        let (one, other) = (&LoopHealth::new("telegram"), &LoopHealth::new("discord"));
        let both = ["telegram", "discord"].map(|name| format!("polling: the channel {name} {NOT_YET}"));
        assert_eq!(silent_channels(&[one, other]), both);
        other.note_elsewhere();
        assert_eq!(silent_channels(&[one, other]), both[..1], "each counts by itself");
        assert!(silent_channels(&[other]).is_empty());
    }

    #[test]
    fn what_fails_is_told_with_its_time_and_reason() {
        let fared = HealthHistory {
            failing_since: Some(784_111_777_999),
            reason: Some("busy".into()),
            ..HealthHistory::default()
        };
        assert_eq!(explain_problem("model: none", &fared), "model: none since 1994-11-06T08:49:37Z: busy");
    }

    #[test]
    fn a_look_that_takes_too_long_is_waited_for_by_few() {
        let looks = &Looks::default();
        let (begun, has_begun) = channel();
        let (end, ended) = channel::<()>();
        std::thread::scope(|scope| {
            let first = scope.spawn(move || {
                looks.find(|| {
                    begun.send(()).expect("somebody waits");
                    ended.recv().expect_err("nothing is sent");
                    vec!["slow".to_owned()]
                })
            });
            has_begun.recv().expect("it looks");
            std::thread::sleep(LOOK_WAIT_MAX + Duration::from_millis(10));
            let asked = Instant::now();
            assert_eq!(looks.find(|| panic!("one looks at a time")), (vec![STUCK.to_owned()], false));
            assert!(asked.elapsed() < LOOK_WAIT_MAX, "it waited");
            drop(end);
            assert_eq!(first.join().expect("it ends"), (vec!["slow".to_owned()], true));
        });
        let again = looks.find(|| panic!("it has just ended"));
        assert_eq!(again, (vec!["slow".to_owned()], false));
    }

    #[test]
    fn one_that_is_not_there_yet_says_so_and_has_no_numbers() {
        let watching = Watching::default();
        assert!(watching.gauges().is_none());
        let problems = watching.problems();
        assert!(problems.len() == 1 && problems[0].starts_with("starting"), "{problems:?}");
    }

    #[test]
    fn the_memory_of_this_process_is_known() {
        assert!(resident_bytes().is_some_and(|bytes| bytes > 1 << 20));
    }
}
