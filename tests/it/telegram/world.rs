//! A gateway with a Telegram channel and the server that it talks to; and what is true of both at the end.

use rustix::process::Signal;
use serde_json::Value;
use std::time::{Duration, Instant};
use support::containing;
use support::home::Home;
use support::serving::Serving;
use support::telegram::{Incoming, Pushed, SentMessage, TelegramServer};

/// Served. Ids of people are beyond 32 bits nowadays.
pub(super) const ANN: i64 = 5_000_000_001;
/// Served as well.
pub(super) const BEN: i64 = 5_000_000_002;
/// Served as well.
pub(super) const CAT: i64 = 5_000_000_003;
/// A stranger.
pub(super) const EVE: i64 = 6_660_000_000;
/// A supergroup.
pub(super) const GROUP: i64 = -1_001_234_567_890;

/// Longer than anything takes that is not stuck, in a debug build on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(100);
/// What the design promises of every stop.
const STOP_MAX: Duration = Duration::from_secs(10);

/// One bot, its server, and the gateway's folder.
pub(super) struct World {
    pub(super) server: TelegramServer,
    pub(super) home: Home,
    serving: Option<Serving>,
    /// What earlier runs have written to stderr.
    log: String,
}

impl World {
    /// A gateway that serves [`ANN`], [`BEN`] and [`CAT`] and is running.
    pub(super) async fn running() -> anyhow::Result<Self> {
        Self::running_in(|home| home).await
    }

    /// The same with more in its configuration or policies.
    pub(super) async fn running_in(fit: impl FnOnce(Home) -> Home) -> anyhow::Result<Self> {
        let mut world = Self::stopped(fit).await?;
        world.start()?;
        Ok(world)
    }

    /// The same, not started yet.
    pub(super) async fn stopped(fit: impl FnOnce(Home) -> Home) -> anyhow::Result<Self> {
        let server = TelegramServer::start().await?;
        let home = fit(Home::new().telegram(&server.api_url(), &[ANN, BEN, CAT]));
        Ok(Self { server, home, serving: None, log: String::new() })
    }

    /// Changes what its configuration or policies say, for the next start.
    pub(super) fn refit(&mut self, fit: impl FnOnce(Home) -> Home) {
        let home = std::mem::replace(&mut self.home, Home::new());
        self.home = fit(home);
    }

    /// Starts the program and waits until it polls. It logs everything that it can.
    pub(super) fn start(&mut self) -> anyhow::Result<()> {
        self.launch(&[], &[])?;
        self.serving = Some(self.serving.take().expect("launched").polling()?);
        Ok(())
    }

    /// Starts the program without waiting, under another one if any is given, with more variables in its
    /// environment.
    pub(super) fn launch(&mut self, wrapper: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<()> {
        assert!(self.serving.is_none(), "it runs already");
        let environment = [&[("COFFERDAM_LOG", "trace")], environment].concat();
        self.serving = Some(Serving::launch(&self.home, self.server.token(), wrapper, &environment)?);
        Ok(())
    }

    /// Waits until this is in the log of this run. An answer may be here before the log's last lines are read.
    pub(super) async fn logs(&self, words: &str) -> anyhow::Result<()> {
        self.logs_times(words, 1).await
    }

    /// The same for so many times.
    pub(super) async fn logs_times(&self, words: &str, times: usize) -> anyhow::Result<()> {
        let started = Instant::now();
        let serving = self.serving.as_ref().expect("it runs");
        while serving.log().matches(words).count() < times {
            anyhow::ensure!(
                started.elapsed() < PATIENCE,
                "{words:?} is not {times} times in the log:\n{}",
                self.tail()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// The running program.
    pub(super) fn serving(&mut self) -> &mut Serving {
        self.serving.as_mut().expect("it runs")
    }

    /// What it has logged, earlier runs included.
    pub(super) fn log(&self) -> String {
        let now = self.serving.as_ref().map(Serving::log).unwrap_or_default();
        format!("{}{now}", self.log)
    }

    /// `kill -9`.
    pub(super) fn kill(&mut self) {
        self.log += &self.serving.take().expect("it runs").kill();
    }

    /// It has ended by itself or is about to; with this exit code, or by a signal.
    pub(super) fn ended(&mut self) -> anyhow::Result<Option<i32>> {
        let mut serving = self.serving.take().expect("it runs");
        let status = serving.wait(PATIENCE)?;
        self.log += &serving.whole_log();
        Ok(status.code())
    }

    /// Stops it, and says how long that took.
    pub(super) fn stop(&mut self) -> anyhow::Result<Duration> {
        self.stop_by(Signal::TERM)
    }

    /// The same by another signal.
    pub(super) fn stop_by(&mut self, signal: Signal) -> anyhow::Result<Duration> {
        let started = Instant::now();
        let (status, log) = self.serving.take().expect("it runs").stop(signal, STOP_MAX)?;
        self.log += &log;
        assert_eq!(status.code(), Some(0), "{}", self.tail());
        Ok(started.elapsed())
    }

    /// Sends a message and waits for the one answer to it, which must be the next message of the bot.
    pub(super) async fn ask(&self, message: Incoming) -> anyhow::Result<String> {
        let before = self.server.sent_messages().len();
        let pushed = self.server.push(message);
        let answer = self.answer(&pushed).await?;
        assert_eq!(self.server.sent_messages().len(), before + 1, "one answer to one message");
        Ok(answer.text)
    }

    /// The answer to a message.
    pub(super) async fn answer(&self, to: &Pushed) -> anyhow::Result<SentMessage> {
        let answers = |sent: &SentMessage| (sent.chat_id, sent.reply_to) == (to.chat_id, Some(to.message_id));
        self.server.wait_for_message(PATIENCE, answers).await
    }

    /// The texts of all messages of the bot, once there are `count`.
    pub(super) async fn texts(&self, count: usize) -> anyhow::Result<Vec<String>> {
        let all = self.server.wait_for_messages(PATIENCE, count).await?;
        Ok(all.into_iter().map(|message| message.text).collect())
    }

    /// The bytes of a file in the workspace, as [`ANN`] sees it in her private chat.
    pub(super) fn saved(&self, guest: &str) -> Vec<u8> {
        std::fs::read(self.host(guest)).unwrap_or_else(|e| panic!("{guest}: {e}"))
    }

    /// The session of a chat, outside topics.
    pub(super) fn session(&self, chat: i64) -> String {
        let (bot, _) = self.server.token().split_once(':').expect("a token has two halves");
        format!("telegram-{bot}:{chat}/0")
    }

    /// The file behind a guest path of [`ANN`]'s private chat, where users share their workspace.
    pub(super) fn host(&self, guest: &str) -> std::path::PathBuf {
        match guest.strip_prefix("/tmp/") {
            Some(below) => self.home.session(None, &self.session(ANN)).join("tmp").join(below),
            None => self.home.host(guest),
        }
    }

    /// Stops the program and holds everything against what is true of every run. `messages` is how many
    /// the bot has sent in all.
    pub(super) fn end(mut self, messages: usize) -> anyhow::Result<()> {
        let held = || std::fs::read_dir(self.home.state().join("outgoing")).into_iter().flatten().count();
        if self.serving.is_some() {
            // The server has a message before the gateway has noted that: a stop between the two leaves the bytes to the
            // next start, as it must.
            let waited = std::time::Instant::now();
            while held() > 0 && waited.elapsed() < PATIENCE {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            self.stop()?;
        }
        let sent: Vec<_> = self.server.sent_messages().into_iter().map(|sent| sent.text).collect();
        assert_eq!(sent.len(), messages, "{sent:#?}\n{}", self.tail());
        assert!(!self.log.contains("panicked"), "{}", self.tail());
        self.audit_is_sound();
        assert_eq!(self.home.leftovers(), Vec::<std::path::PathBuf>::new());
        let spooled = std::fs::read_dir(self.home.state().join("blobs")).into_iter().flatten().count();
        assert_eq!(spooled, 0, "bytes of attachments are left in the state");
        let held = std::fs::read_dir(self.home.state().join("outgoing")).into_iter().flatten().count();
        assert_eq!(held, 0, "bytes of replies are left in the state");
        self.token_is_secret(&sent.join("\n"));
        Ok(())
    }

    fn audit_is_sound(&self) {
        let ran = self.home.run(&["audit", "verify", "--json"]);
        let open = &ran.json()["intents_open"];
        assert_eq!((ran.code, open), (Some(0), &Value::from(0)), "{ran:?}\n{}", self.tail());
    }

    /// The token is in the URLs of requests to its server and nowhere else.
    fn token_is_secret(&self, said: &str) {
        let (_, secret) = self.server.token().split_once(':').expect("a token has two halves");
        assert!(!said.contains(secret), "the bot has said its token: {said}");
        if let Some(line) = self.log.lines().find(|line| line.contains(secret)) {
            panic!("the token is in the log: {line}");
        }
        for file in [self.home.state(), self.home.workspace()] {
            let found = containing(&file, secret.as_bytes());
            assert!(found.is_empty(), "the token is in {found:?}");
        }
        for request in self.server.journal() {
            assert!(request.header("referer").is_none(), "{request:?}");
            let told = format!("{:?} {:?}", request.headers, request.params);
            assert!(!told.contains(secret), "{request:?}");
        }
    }

    /// The end of the log, for whoever reads a failed test.
    pub(super) fn tail(&self) -> String {
        let log = self.log();
        let worth = |line: &&str| ["ERROR", "WARN", "INFO", "cofferdam:"].iter().any(|w| line.contains(w));
        let lines: Vec<_> = log.lines().filter(worth).collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

/// The command that saves an attachment.
pub(super) fn save(index: usize, path: &str) -> String {
    format!("/attachment_save index={index} path={path}")
}
