//! A gateway with a Discord channel and the server that it talks to; and what is true of both at
//! the end.

use serde_json::Value;
use std::ops::{Deref, DerefMut};
use support::discord::{DiscordServer, Incoming, Pushed, SentMessage};
use support::home::Home;
pub(super) use support::running::PATIENCE;
use support::running::Running;

/// Served. Snowflakes as they are nowadays.
pub(super) const ANN: u64 = 1_100_000_000_000_000_001;
/// Served as well.
pub(super) const BEN: u64 = 1_100_000_000_000_000_002;
/// A stranger.
pub(super) const EVE: u64 = 1_100_000_000_000_000_666;
/// A channel of the guild.
pub(super) const TOWN: u64 = 1_200_000_000_000_000_001;

/// One bot, its server, and the gateway's folder.
pub(super) struct World {
    pub(super) server: DiscordServer,
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
        Ok(Self { server, gateway: Running::stopped(home) })
    }

    /// Starts the program and waits until it is connected. It logs everything that it can.
    pub(super) async fn start(&mut self) -> anyhow::Result<()> {
        self.launch(&[])?;
        self.says("listening on Discord as")?;
        self.server.wait_until_connected(PATIENCE).await?;
        Ok(())
    }

    /// Starts the program without waiting, with more variables in its environment.
    pub(super) fn launch(&mut self, environment: &[(&str, &str)]) -> anyhow::Result<()> {
        let own = [("DISCORD_BOT_TOKEN", self.server.token())];
        self.gateway.launch_with("1:unused", &[], &[&own[..], environment].concat())
    }

    /// Sends a message and waits for the one answer to it, which must be the next message of the
    /// bot.
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

    /// Stops the program and holds everything against what is true of every run. `messages` is how
    /// many the bot has sent in all that are still there.
    pub(super) fn end(mut self, messages: usize) -> anyhow::Result<()> {
        self.come_to_an_end()?;
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
        self.is_sound();
        self.keeps_its_secrets();
        Ok(())
    }

    /// The token is in no file, no message, no line of the log and no request but its own; nor is
    /// what signs a link.
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
        let audit = self.home.audit_text();
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
