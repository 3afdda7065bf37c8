//! The gateway of a long run: the real program on disks of its own, where such can be had, under a
//! clock that jumps.

use super::clock::Clock;
use super::faults::Disk;
use super::growth::Held;
use super::platforms::Soaked;
use super::told::files_below;
use crate::telegram::metrics::{numbers, told_in};
use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use support::home::{Home, Ran};
use support::namespace::{Namespace, available};
use support::serving::Serving;

/// What the design promises of every stop.
const STOP_MAX: Duration = Duration::from_secs(10);
/// Longer than it takes to come to rest after the last answer: what was said and not heard is said
/// again.
const REST_MAX: Duration = Duration::from_secs(60);
/// A task that is more than before may be that of a connection which begins or ends: such a one is
/// gone by then, and one that has leaked is not.
const PASSING_MAX: Duration = Duration::from_secs(3);

/// What lies in the state folder, compiled tools and filled files of the audit apart.
const STATE: [&str; 12] = [
    "audit.jsonl",
    "audit.checkpoint",
    "publishing.lock",
    "cofferdam.db",
    "cofferdam.db-wal",
    "cofferdam.db-shm",
    "attach.sock",
    "serve.lock",
    "serving.json",
    "people.json",
    "people.lock",
    "runs.lock",
];

/// The program, or what it has left.
pub(super) struct Gateway {
    pub(super) home: Home,
    disks: Option<Namespace>,
    clock: Option<Clock>,
    /// The variables that hold tokens, and those; what it logs when it hears.
    tokens: Vec<(&'static str, String)>,
    readies: Vec<&'static str>,
    tasks_max: u64,
    /// The fewest tasks that it had at rest.
    tasks_least: u64,
    running: Option<Running>,
    /// Of earlier runs, what is worth telling.
    log: String,
    /// Its compiled tools, below the state folder.
    compiled: BTreeSet<String>,
}

struct Running {
    serving: Serving,
    monitor: SocketAddr,
}

impl Gateway {
    /// A running one, with disks for so many turns.
    pub(super) fn start<P: Soaked>(home: Home, platform: &P, turns: usize) -> Result<Self> {
        std::fs::create_dir_all(home.workspace())?;
        let (shared, kept) = (64 + turns / 50, 160 + turns / 25);
        let mounts = format!(
            "mount -t tmpfs -o size={shared}m none workspace; mkdir -p workspace/vault; cp -a state saved\n\
             mount -t tmpfs -o size={kept}m,mode=700 none state; cp -a saved/. state/"
        );
        let disks = available("soak (full disks)").then(|| Namespace::new(home.dir(), &mounts));
        let clock = Clock::make(home.dir())?;
        let (running, log, compiled) = (None, String::new(), BTreeSet::new());
        let (tokens, readies) = (platform.tokens(), P::readies());
        let (tasks_max, tasks_least) = (P::TASKS_MAX, u64::MAX);
        let mut gateway =
            Self { home, disks, clock, tokens, readies, tasks_max, tasks_least, running, log, compiled };
        gateway.launch()?;
        Ok(gateway)
    }

    /// With so many more tasks at rest, of what else it does.
    pub(super) fn with_tasks(mut self, more: u64) -> Self {
        self.tasks_max += more;
        self
    }

    /// Where the test finds what is at this path for the gateway.
    pub(super) fn seen(&self, path: PathBuf) -> PathBuf {
        self.disks.as_ref().map_or_else(|| path.clone(), |disks| disks.seen(&path))
    }

    fn wrapper(&self) -> Vec<String> {
        self.disks.as_ref().map(|disks| disks.wrapper().to_vec()).unwrap_or_default()
    }

    pub(super) fn launch(&mut self) -> Result<()> {
        let wrapper = self.wrapper();
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        let moved = self.clock.as_ref().map(Clock::environment).transpose()?;
        let moved = moved.iter().flatten().map(|(name, value)| (*name, value.as_str()));
        let log = std::env::var("SOAK_LOG").unwrap_or_else(|_| "info".to_owned());
        let tokens = self.tokens.iter().map(|(name, token)| (*name, token.as_str()));
        let own = tokens.chain([("COFFERDAM_LOG", log.as_str())]);
        let environment: Vec<_> = moved.chain(own).collect();
        let mut serving = Serving::launch(&self.home, "1:unused", &wrapper, &environment)?;
        for ready in &self.readies {
            serving = serving.says(ready)?;
        }
        let monitor = told_in(&serving.log())?;
        self.running = Some(Running { serving, monitor });
        Ok(())
    }

    pub(super) fn kill(&mut self) {
        let log = self.running.take().expect("it runs").serving.kill();
        self.keep(&log);
    }

    pub(super) fn stop(&mut self) -> Result<()> {
        let running = self.running.take().context("it runs")?;
        let (status, log) = running.serving.stop(Signal::TERM, STOP_MAX)?;
        self.keep(&log);
        ensure!(status.success(), "{status}: {}", self.log);
        self.has_not_panicked()
    }

    /// Keeps the end of a run's log, and everything that it must not say.
    fn keep(&mut self, log: &str) {
        let lines: Vec<_> = log.lines().collect();
        let wrong = lines.iter().filter(|line| line.contains("panicked"));
        let last = &lines[lines.len().saturating_sub(40)..];
        self.log = wrong.chain(last).map(|line| format!("{line}\n")).collect();
    }

    /// Whether a run that has ended said so.
    pub(super) fn has_not_panicked(&self) -> Result<()> {
        ensure!(!self.log.contains("panicked"), "{}", self.log);
        Ok(())
    }

    /// The end of the log, for whoever reads a failed run.
    pub(super) fn tail(&self) -> String {
        let now = self.running.as_ref().map(|running| running.serving.log()).unwrap_or_default();
        let lines: Vec<_> = now.lines().collect();
        // Who asks for more of the log wants all of this run's.
        let from = if std::env::var_os("SOAK_LOG").is_some() { 0 } else { lines.len().saturating_sub(60) };
        format!("{}---\n{}", self.log, lines[from..].join("\n"))
    }

    /// Whether its disks can be filled.
    pub(super) fn has_disks_of_its_own(&self) -> bool {
        self.disks.is_some()
    }

    pub(super) fn fill(&self, disk: Disk) {
        self.disks.as_ref().expect("asked before").sh(&format!("cat /dev/zero > {} || true", disk.filler()));
    }

    pub(super) fn make_room(&self, disk: Disk) {
        self.disks.as_ref().expect("it was filled").sh(&format!("rm {}", disk.filler()));
    }

    /// The clock, if it can be moved.
    pub(super) fn clock(&self) -> Option<&Clock> {
        self.clock.as_ref()
    }

    /// Waits until nothing is under way any more; what it holds then.
    ///
    /// # Errors
    /// When it does not come to rest, and why not.
    pub(super) async fn rest(&mut self) -> Result<Held> {
        let (started, mut quiet) = (Instant::now(), None);
        loop {
            match self.look() {
                Ok(held) => {
                    let since = *quiet.get_or_insert_with(Instant::now);
                    if held.tasks() <= self.tasks_least || since.elapsed() > PASSING_MAX {
                        self.tasks_least = self.tasks_least.min(held.tasks());
                        return Ok(held);
                    }
                }
                Err(error) if started.elapsed() > REST_MAX => {
                    return Err(error.context("it does not come to rest"));
                }
                Err(_) => {}
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn look(&mut self) -> Result<Held> {
        let running = self.running.as_ref().context("it runs")?;
        let held = Held::now(running.serving.pid(), &numbers(running.monitor)?, running.monitor.port())?;
        held.has_tasks_of(self.tasks_max)?;
        let files = files_below(&self.seen(self.home.state()))?;
        if self.compiled.is_empty() {
            self.compiled = files.iter().filter(|name| name.starts_with("cache/")).cloned().collect();
        }
        // What the audit has filled stays.
        let belongs = |name: &&String| STATE.contains(&name.as_str()) || name.starts_with("audit-");
        let left: Vec<_> = files.difference(&self.compiled).filter(|name| !belongs(name)).collect();
        ensure!(left.is_empty(), "left in the state folder: {left:?}");
        Ok(held)
    }

    /// A copy of the database of one that has stopped.
    pub(super) fn database(&self) -> Result<PathBuf> {
        for name in ["cofferdam.db", "cofferdam.db-wal"] {
            let file = self.seen(self.home.state().join(name));
            if file.exists() {
                std::fs::copy(file, self.home.dir().join(name))?;
            }
        }
        Ok(self.home.dir().join("cofferdam.db"))
    }

    /// A command beside it, on its disks and by its clock.
    pub(super) fn command(&self, words: &[&str]) -> Result<Ran> {
        let wrapper = self.wrapper();
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        let mut command = match wrapper.as_slice() {
            [] => self.home.command(words),
            wrapper => self.home.command_under(wrapper, words),
        };
        command.envs(self.clock.as_ref().map(Clock::environment).transpose()?.into_iter().flatten());
        Ok(Ran::from(command.output()?))
    }

    /// What `audit verify` says, which finds nothing wrong.
    pub(super) fn verified(&self) -> Result<String> {
        let ran = self.command(&["audit", "verify", "--json"])?;
        ensure!(ran.code == Some(0) && ran.json()["intents_open"] == 0, "{ran:?}");
        Ok(ran.stdout.trim().to_owned())
    }
}
