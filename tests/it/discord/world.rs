//! A gateway with a Discord channel and the server that it talks to; and what is true of both at the end.

use rustix::process::Signal;
use serde_json::Value;
use std::time::{Duration, Instant};
use support::discord::{DiscordServer, Incoming, Pushed, SentMessage};
use support::home::Home;
use support::serving::Serving;

/// Served. Snowflakes as they are nowadays.
pub(super) const ANN: u64 = 1_100_000_000_000_000_001;
/// Served as well.
pub(super) const BEN: u64 = 1_100_000_000_000_000_002;
/// A stranger.
pub(super) const EVE: u64 = 1_100_000_000_000_000_666;
/// A channel of the guild.
pub(super) const TOWN: u64 = 1_200_000_000_000_000_001;

/// Longer than anything takes that is not stuck, in a debug build on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(100);
/// What the design promises of every stop.
const STOP_MAX: Duration = Duration::from_secs(10);

/// One bot, its server, and the gateway's folder.
pub(super) struct World {
    pub(super) server: DiscordServer,
    pub(super) home: Home,
    serving: Option<Serving>,
    /// What earlier runs have written to stderr.
    log: String,
}

impl World {
    /// A gateway that serves [`ANN`] and [`BEN`] and is connected.
    pub(super) async fn running() -> anyhow::Result<Self> {
        Self::running_with("").await
    }

    /// The same with more lines in the channel's section, and sections after it.
    pub(super) async fn running_with(more: &str) -> anyhow::Result<Self> {
        let mut world = Self::stopped_with(more).await?;
        world.start().await?;
        Ok(world)
    }

    /// The same, not started yet.
    pub(super) async fn stopped_with(more: &str) -> anyhow::Result<Self> {
        Self::stopped_in(|home| home, more).await
    }

    /// The same in a folder that was made ready.
    pub(super) async fn running_in(fit: impl FnOnce(Home) -> Home, more: &str) -> anyhow::Result<Self> {
        let mut world = Self::stopped_in(fit, more).await?;
        world.start().await?;
        Ok(world)
    }

    /// The same, not started yet.
    pub(super) async fn stopped_in(fit: impl FnOnce(Home) -> Home, more: &str) -> anyhow::Result<Self> {
        let server = DiscordServer::start().await?;
        let home = fit(Home::new()).config(&section(&server, more));
        Ok(Self { server, home, serving: None, log: String::new() })
    }

    /// Starts the program and waits until it is connected. It logs everything that it can.
    pub(super) async fn start(&mut self) -> anyhow::Result<()> {
        self.launch(&[])?;
        self.serving = Some(self.serving.take().expect("launched").says("listening on Discord as")?);
        self.server.wait_until_connected(PATIENCE).await?;
        Ok(())
    }

    /// Starts the program without waiting, with more variables in its environment.
    pub(super) fn launch(&mut self, environment: &[(&str, &str)]) -> anyhow::Result<()> {
        assert!(self.serving.is_none(), "it runs already");
        let token = self.server.token().to_owned();
        let own = [("COFFERDAM_LOG", "trace"), ("DISCORD_BOT_TOKEN", token.as_str())];
        let environment = [&own[..], environment].concat();
        self.serving = Some(Serving::launch(&self.home, "1:unused", &[], &environment)?);
        Ok(())
    }

    /// Waits until this is in the log of this run.
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

    /// Sends it a signal.
    pub(super) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        self.serving.as_ref().expect("it runs").signal(signal)
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

    /// It has ended by itself or is about to; with this exit code.
    pub(super) fn ended(&mut self) -> anyhow::Result<Option<i32>> {
        let mut serving = self.serving.take().expect("it runs");
        let status = serving.wait(PATIENCE)?;
        self.log += &serving.whole_log();
        Ok(status.code())
    }

    /// Stops it, and says how long that took.
    pub(super) fn stop(&mut self) -> anyhow::Result<Duration> {
        let started = Instant::now();
        let (status, log) = self.serving.take().expect("it runs").stop(Signal::TERM, STOP_MAX)?;
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
        Ok(answer.content)
    }

    /// The answer to a message.
    pub(super) async fn answer(&self, to: &Pushed) -> anyhow::Result<SentMessage> {
        let answers = |sent: &SentMessage| {
            (sent.channel_id, sent.reply_to) == (to.channel_id, Some(to.message_id))
                && !sent.content.starts_with('⏳')
        };
        let found = self.server.wait_for_message(PATIENCE, answers).await;
        found.map_err(|error| anyhow::anyhow!("{error}\n{}", self.tail()))
    }

    /// The bytes of a file in the workspace.
    pub(super) fn saved(&self, guest: &str) -> Vec<u8> {
        std::fs::read(self.home.host(guest)).unwrap_or_else(|e| panic!("{guest}: {e}\n{}", self.tail()))
    }

    /// Stops the program and holds everything against what is true of every run. `messages` is how many the bot has sent
    /// in all that are still there.
    pub(super) fn end(mut self, messages: usize) -> anyhow::Result<()> {
        let held = || std::fs::read_dir(self.home.state().join("outgoing")).into_iter().flatten().count();
        if self.serving.is_some() {
            let waited = Instant::now();
            while held() > 0 && waited.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(1));
            }
            self.stop()?;
        }
        let sent: Vec<_> = self.server.sent_messages().into_iter().filter(|sent| !sent.deleted).collect();
        let texts: Vec<_> = sent.iter().map(|sent| sent.content.as_str()).collect();
        assert_eq!(sent.len(), messages, "{texts:#?}\n{}", self.tail());
        for message in &sent {
            assert!(message.pings.is_empty(), "{message:?}");
            let quiet = serde_json::json!({ "parse": [], "replied_user": false });
            for request in &message.requests {
                // A deferral says nothing yet.
                if request.get("content").is_some() {
                    assert_eq!(request["allowed_mentions"], quiet, "{request}");
                }
            }
            if message.interaction.is_none() {
                assert!(
                    message.enforce_nonce && message.nonce.as_ref().is_some_and(|n| n.len() <= 25),
                    "{message:?}"
                );
            }
        }
        if self.home.state().join("audit.jsonl").exists() {
            let ran = self.home.run(&["audit", "verify", "--json"]);
            assert_eq!((ran.code, &ran.json()["intents_open"]), (Some(0), &Value::from(0)), "{ran:?}");
        }
        assert!(!self.log.contains("panicked"), "{}", self.tail());
        self.keeps_its_secrets();
        Ok(())
    }

    /// The token is in no file, no message, no line of the log and no request but its own; nor is what signs a link.
    fn keeps_its_secrets(&self) {
        let secret = self.server.token();
        for folder in [self.home.state(), self.home.workspace()] {
            assert!(support::containing(&folder, secret.as_bytes()).is_empty(), "the token is in {folder:?}");
        }
        for request in self.server.journal() {
            let headers =
                request.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("authorization"));
            let told = format!("{:?} {:?} {}", headers.collect::<Vec<_>>(), request.params, request.path);
            assert!(!told.contains(secret), "{request:?}");
        }
        let log = self.log();
        let told = log.lines().find(|line| line.contains(secret) || line.contains("hm="));
        assert_eq!(told, None, "a secret is in the log");
        let audit = std::fs::read_to_string(self.home.state().join("audit.jsonl")).unwrap_or_default();
        assert!(!audit.contains(secret) && !audit.contains("hm="), "{audit}");
        for request in self.server.requests("create_response") {
            let token = request.params["token"].as_str().expect("it has one");
            assert!(!log.contains(token) && !audit.contains(token), "an interaction's token is told");
        }
        for request in self.server.requests(support::discord::Target::download()) {
            for name in ["authorization", "cookie", "referer"] {
                assert!(request.header(name).is_none(), "{request:?}");
            }
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

/// The section of the channel on this server.
pub(super) fn section(server: &DiscordServer, more: &str) -> String {
    format!(
        "[channels.discord]\napi_url = {:?}\ncdn_url = {:?}\nallowed_users = [{ANN}, {BEN}]\n{more}\n",
        server.api_url(),
        server.cdn_url()
    )
}

/// The command that saves an attachment.
pub(super) fn save(index: usize, path: &str) -> String {
    format!("/attachment_save index={index} path={path}")
}

/// What people read of a message: a backslash before a mark says that the mark is a character.
pub(super) fn read(content: &str) -> String {
    let (mut text, mut chars) = (String::new(), content.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.extend(chars.next()),
            c => text.push(c),
        }
    }
    text
}

/// A result in an answer.
pub(super) fn result(content: &str) -> Value {
    serde_json::from_str(&read(content)).unwrap_or_else(|error| panic!("{error}: {content}"))
}
