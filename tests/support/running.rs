//! A gateway in its folder through all its starts and ends, with what it has logged. It logs
//! everything that it can.

use crate::exchange::Gate;
use crate::home::Home;
use crate::serving::Serving;
use rustix::process::Signal;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Longer than anything takes that is not stuck, in a debug build on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(100);
/// What the design promises of every stop.
const STOP_MAX: Duration = Duration::from_secs(10);

/// The gateway of one test.
pub struct Running {
    /// Its folder.
    pub home: Home,
    serving: Option<Serving>,
    /// What earlier runs have written to stderr.
    log: String,
}

impl Running {
    /// One that is not started yet.
    pub fn stopped(home: Home) -> Self {
        Self { home, serving: None, log: String::new() }
    }

    /// Changes what its configuration or policies say, for the next start or reload.
    pub fn refit(&mut self, fit: impl FnOnce(Home) -> Home) {
        let home = std::mem::take(&mut self.home);
        self.home = fit(home);
    }

    /// Starts it without waiting, under another program if `wrapper` names one; `telegram_token`
    /// and `environment` are in its environment.
    ///
    /// # Errors
    /// When it cannot be started.
    ///
    /// # Panics
    /// If it runs already.
    pub fn launch_with(
        &mut self,
        telegram_token: &str,
        wrapper: &[&str],
        environment: &[(&str, &str)],
    ) -> anyhow::Result<()> {
        assert!(self.serving.is_none(), "it runs already");
        let environment = [&[("COFFERDAM_LOG", "trace")], environment].concat();
        self.serving = Some(Serving::launch(&self.home, telegram_token, wrapper, &environment)?);
        Ok(())
    }

    /// Waits until it says that it is up.
    ///
    /// # Errors
    /// When it ends before, or does not say so in time; with its log.
    pub fn says(&mut self, words: &str) -> anyhow::Result<()> {
        self.serving = Some(self.serving.take().expect("launched").says(words)?);
        Ok(())
    }

    /// Whether it was started and neither stopped nor killed since.
    pub fn is_started(&self) -> bool {
        self.serving.is_some()
    }

    /// The running program.
    ///
    /// # Panics
    /// If it does not run.
    pub fn serving(&self) -> &Serving {
        self.serving.as_ref().expect("it runs")
    }

    /// Waits until this is in the log of this run. An answer may be here before the log's last
    /// lines are read.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn logs(&self, words: &str) -> anyhow::Result<()> {
        self.logs_times(words, 1).await
    }

    /// The same for so many times.
    ///
    /// # Errors
    /// When it does not come so often.
    pub async fn logs_times(&self, words: &str, times: usize) -> anyhow::Result<()> {
        let started = Instant::now();
        while self.serving().log().matches(words).count() < times {
            anyhow::ensure!(
                started.elapsed() < PATIENCE,
                "{words:?} is not {times} times in the log:\n{}",
                self.tail()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// What it has logged, earlier runs included.
    pub fn log(&self) -> String {
        let now = self.serving.as_ref().map(Serving::log).unwrap_or_default();
        format!("{}{now}", self.log)
    }

    /// The end of the log, for whoever reads a failed test.
    pub fn tail(&self) -> String {
        let log = self.log();
        let worth = |line: &&str| ["ERROR", "WARN", "INFO", "cofferdam:"].iter().any(|w| line.contains(w));
        let lines: Vec<_> = log.lines().filter(worth).collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// `kill -9`.
    ///
    /// # Panics
    /// If it does not run.
    pub fn kill(&mut self) {
        self.log += &self.serving.take().expect("it runs").kill();
    }

    /// The same once a request is held here, which then never gets through.
    ///
    /// # Errors
    /// When none comes.
    ///
    /// # Panics
    /// If it does not run.
    pub async fn kill_at(&mut self, gate: Gate) -> anyhow::Result<()> {
        gate.reached().await?;
        self.kill();
        gate.discard();
        Ok(())
    }

    /// It has ended by itself or is about to; with this exit code, or by a signal.
    ///
    /// # Errors
    /// When it goes on.
    ///
    /// # Panics
    /// If it does not run.
    pub fn ended(&mut self) -> anyhow::Result<Option<i32>> {
        let mut serving = self.serving.take().expect("it runs");
        let status = serving.wait(PATIENCE)?;
        self.log += &serving.whole_log();
        Ok(status.code())
    }

    /// Stops it, and says how long that took.
    ///
    /// # Errors
    /// When it does not end in time.
    pub fn stop(&mut self) -> anyhow::Result<Duration> {
        self.stop_by(Signal::TERM)
    }

    /// The same by another signal.
    ///
    /// # Errors
    /// When it does not end in time.
    ///
    /// # Panics
    /// If it does not run, or its exit code is not 0.
    pub fn stop_by(&mut self, signal: Signal) -> anyhow::Result<Duration> {
        let started = Instant::now();
        let (status, log) = self.serving.take().expect("it runs").stop(signal, STOP_MAX)?;
        self.log += &log;
        assert_eq!(status.code(), Some(0), "{}", self.tail());
        Ok(started.elapsed())
    }

    /// Stops it, if it runs, once everything that it has sent is noted: a server has a message
    /// before that, and a stop between the two leaves the bytes to the next start, as it must.
    ///
    /// # Errors
    /// When it does not end in time.
    pub fn come_to_an_end(&mut self) -> anyhow::Result<()> {
        if self.serving.is_none() {
            return Ok(());
        }
        let held = || std::fs::read_dir(self.home.state().join("outgoing")).into_iter().flatten().count();
        let waited = Instant::now();
        while held() > 0 && waited.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.stop().map(|_| ())
    }

    /// Holds what it has left against what is true of every run: nobody has panicked, the audit is
    /// whole, no bytes are left in the state.
    ///
    /// # Panics
    /// If it is not so.
    pub fn is_sound(&self) {
        assert!(!self.log().contains("panicked"), "{}", self.tail());
        let ran = self.home.run(&["audit", "verify", "--json"]);
        let told = ran.json();
        let chains = told["chains"].as_array().map_or(std::slice::from_ref(&told), Vec::as_slice);
        let open: Vec<_> = chains.iter().map(|chain| &chain["intents_open"]).collect();
        assert_eq!(
            (ran.code, open),
            (Some(0), vec![&Value::from(0); chains.len()]),
            "{ran:?}\n{}",
            self.tail()
        );
        assert_eq!(self.home.leftovers(), Vec::<std::path::PathBuf>::new());
        for folder in ["blobs", "outgoing"] {
            let left = std::fs::read_dir(self.home.state().join(folder)).into_iter().flatten().count();
            assert_eq!(left, 0, "bytes are left in {folder}");
        }
    }
}
