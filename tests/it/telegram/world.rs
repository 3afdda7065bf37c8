//! A gateway with a Telegram channel and the server that it talks to; and what is true of both at
//! the end.

use std::ops::{Deref, DerefMut};
use support::containing;
use support::home::Home;
pub(super) use support::running::PATIENCE;
use support::running::Running;
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

/// One bot, its server, and the gateway's folder.
pub(super) struct World {
    pub(super) server: TelegramServer,
    gateway: Running,
}

impl Deref for World {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.gateway
    }
}

impl DerefMut for World {
    fn deref_mut(&mut self) -> &mut Running {
        &mut self.gateway
    }
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
        Ok(Self::around(TelegramServer::start().await?, fit))
    }

    /// The same with a server that was started before.
    pub(super) fn around(server: TelegramServer, fit: impl FnOnce(Home) -> Home) -> Self {
        let home = fit(Home::new().telegram(&server.api_url(), &[ANN, BEN, CAT]));
        Self { server, gateway: Running::stopped(home) }
    }

    /// Starts the program and waits until it polls. It logs everything that it can.
    pub(super) fn start(&mut self) -> anyhow::Result<()> {
        self.launch(&[], &[])?;
        self.says("polling as ")
    }

    /// Starts the program without waiting, under another one if any is given, with more variables
    /// in its environment.
    pub(super) fn launch(&mut self, wrapper: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<()> {
        self.gateway.launch_with(self.server.token(), wrapper, environment)
    }

    /// Sends a message and waits for the one answer to it, which must be the next message of the
    /// bot.
    pub(super) async fn ask(&self, message: Incoming) -> anyhow::Result<String> {
        let before = self.server.sent_messages().len();
        let pushed = self.server.push(message);
        let answer = self.answer(&pushed).await?;
        assert_eq!(self.server.sent_messages().len(), before + 1, "one answer to one message");
        Ok(answer.text)
    }

    /// The answer to a message, once it is whole: no sign of life, and no text that is still being
    /// written.
    pub(super) async fn answer(&self, to: &Pushed) -> anyhow::Result<SentMessage> {
        let answers = |sent: &SentMessage| {
            (sent.chat_id, sent.reply_to) == (to.chat_id, Some(to.message_id))
                && !(sent.deleted || sent.text.starts_with('⏳') || sent.text.ends_with(" …"))
        };
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

    /// Stops the program and holds everything against what is true of every run. `messages` is how
    /// many the bot has sent in all.
    pub(super) fn end(mut self, messages: usize) -> anyhow::Result<()> {
        self.come_to_an_end()?;
        let sent: Vec<_> = self.server.sent_messages().into_iter().map(|sent| sent.text).collect();
        assert_eq!(sent.len(), messages, "{sent:#?}\n{}", self.tail());
        self.is_sound();
        self.token_is_secret(&sent.join("\n"));
        Ok(())
    }

    /// The token is in the URLs of requests to its server and nowhere else.
    fn token_is_secret(&self, said: &str) {
        let (_, secret) = self.server.token().split_once(':').expect("a token has two halves");
        assert!(!said.contains(secret), "the bot has said its token: {said}");
        if let Some(line) = self.log().lines().find(|line| line.contains(secret)) {
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
}

/// The command that saves an attachment.
pub(super) fn save(index: usize, path: &str) -> String {
    format!("/attachment_save index={index} path={path}")
}
