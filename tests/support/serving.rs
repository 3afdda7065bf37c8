//! `cofferdam serve` as a process of its own, against the loopback server.

use crate::home::Home;
use anyhow::{Context, bail};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A running gateway; killed when dropped.
pub struct Serving {
    child: Child,
    log: Arc<Mutex<String>>,
    /// Reads stderr to its end.
    reader: Option<JoinHandle<()>>,
}

/// How long a start may take: a debug build on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

impl Serving {
    /// Starts `cofferdam serve` and waits until it polls.
    ///
    /// # Errors
    /// When it ends before, or says nothing in time; with its log.
    pub fn start(home: &Home, token: &str) -> anyhow::Result<Self> {
        Self::launch(home, token, &[], &[])?.polling()
    }

    /// Starts `cofferdam serve` under another program (none if `wrapper` is empty) with more
    /// variables in its environment, and does not wait: it may never come to polling.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn launch(
        home: &Home,
        token: &str,
        wrapper: &[&str],
        environment: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let mut command = if wrapper.is_empty() {
            home.command(&["serve"])
        } else {
            home.command_under(wrapper, &["serve"])
        };
        command.envs(environment.iter().copied());
        Self::spawn(command, token)
    }

    /// Starts this command, which serves, and does not wait. The token of the Telegram bot is this
    /// one, unless its environment has one.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(mut command: Command, token: &str) -> anyhow::Result<Self> {
        if !command.get_envs().any(|(name, _)| name == "TELEGRAM_BOT_TOKEN") {
            command.env("TELEGRAM_BOT_TOKEN", token);
        }
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("the program starts")?;
        let log = Arc::new(Mutex::new(String::new()));
        let stderr = child.stderr.take().context("stderr is piped")?;
        let written = log.clone();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stderr.take(64 << 20)).lines().map_while(Result::ok) {
                let mut log = written.lock().unwrap_or_else(PoisonError::into_inner);
                log.push_str(&line);
                log.push('\n');
            }
        });
        Ok(Self { child, log, reader: Some(reader) })
    }

    /// Waits until it polls.
    ///
    /// # Errors
    /// When it ends before, or does not poll in time; with its log.
    pub fn polling(self) -> anyhow::Result<Self> {
        self.says("polling as ")
    }

    /// Waits until its log has these words.
    ///
    /// # Errors
    /// When it ends before, or does not say them in time; with its log.
    pub fn says(mut self, words: &str) -> anyhow::Result<Self> {
        let started = Instant::now();
        while !self.log().contains(words) {
            if let Some(status) = self.child.try_wait()? {
                bail!("serve ended with {status} before it said {words:?}:\n{}", self.log());
            }
            if started.elapsed() > START_MAX {
                bail!("serve does not say {words:?}:\n{}", self.log());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(self)
    }

    /// What it has written to stderr so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL: no clean-up of any kind. Returns its log.
    pub fn kill(mut self) -> String {
        self.child.kill().expect("ours to kill");
        self.child.wait().expect("ours to wait for");
        self.whole_log()
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// When it has ended.
    pub fn signal(&self, signal: rustix::process::Signal) -> anyhow::Result<()> {
        Ok(rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal)?)
    }

    /// Sends a signal and waits for the end.
    ///
    /// # Errors
    /// When it does not end within `limit`.
    pub fn stop(
        mut self,
        signal: rustix::process::Signal,
        limit: Duration,
    ) -> anyhow::Result<(ExitStatus, String)> {
        self.signal(signal)?;
        let status = self.wait(limit)?;
        Ok((status, self.whole_log()))
    }

    /// Sends SIGTERM and waits for the end, which must be no failure; returns its log.
    ///
    /// # Errors
    /// When it does not end within `limit`.
    ///
    /// # Panics
    /// When its exit code is not 0.
    pub fn end(self, limit: Duration) -> anyhow::Result<String> {
        let (status, log) = self.stop(rustix::process::Signal::TERM, limit)?;
        assert!(status.success(), "{status} {log}");
        Ok(log)
    }

    /// It has ended by itself or is about to, with exit code 2, and says why.
    ///
    /// # Errors
    /// When it does not end within `limit`; with its log.
    ///
    /// # Panics
    /// When it ends otherwise.
    pub fn gives_up(&mut self, limit: Duration, says: &str) -> anyhow::Result<()> {
        let status = self.wait(limit)?;
        let log = self.whole_log();
        assert!(status.code() == Some(2) && log.contains(says), "{status} {log}");
        Ok(())
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// When it does not end within `limit`; with its log.
    pub fn wait(&mut self, limit: Duration) -> anyhow::Result<ExitStatus> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if started.elapsed() > limit {
                bail!("serve did not end within {limit:?}:\n{}", self.log());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The log of a program that has ended.
    pub fn whole_log(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("reading does not panic");
        }
        self.log()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
