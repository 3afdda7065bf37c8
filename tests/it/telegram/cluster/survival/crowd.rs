//! People on Discord, whom the same nodes serve meanwhile: what they send is answered once, because
//! there a message that is sent again is there once.

use super::*;
use support::discord::{self, DiscordServer, Fault};
use support::platform::{Discord, Platform as _};

/// Each in a private channel.
const CROWD: usize = 9;
/// A snowflake as they are nowadays.
const FIRST: u64 = 1_100_000_000_000_000_001;

/// Discord, and what was sent there.
pub(super) struct Crowd {
    server: DiscordServer,
    pushed: Vec<discord::Pushed>,
}

impl Crowd {
    pub(super) async fn start(ways: &mut Ways) -> anyhow::Result<Self> {
        let server = ways.start_messenger(DiscordServer::start()).await?;
        for address in [server.api_url(), server.resume_url()] {
            ways.note_messenger(&address);
        }
        Ok(Self { server, pushed: Vec::new() })
    }

    /// Has a gateway serve them.
    pub(super) fn fit(&self, home: Home) -> Home {
        let people: Vec<u64> = (FIRST..).take(CROWD).collect();
        let (api, cdn) = (self.server.api_url(), self.server.cdn_url());
        let section =
            format!("[channels.discord]\napi_url = {api:?}\ncdn_url = {cdn:?}\nallowed_users = {people:?}\n");
        home.config(&section).environment([("DISCORD_BOT_TOKEN", self.server.token().to_owned())])
    }

    /// All of them write, and are answered: a channel that no node has heard of is asked by none
    /// what came while nobody was connected.
    pub(super) async fn greet(&mut self) -> anyhow::Result<()> {
        self.server.wait_until_connected(PATIENCE).await?;
        self.push(CROWD);
        self.are_answered(0).await
    }

    /// So many more messages; the number of the first.
    pub(super) fn push(&mut self, count: usize) -> usize {
        let first = self.pushed.len();
        self.pushed.extend(self.server.push_all((first..first + count).map(in_channel)));
        first
    }

    /// A message is refused now and then.
    pub(super) fn fault(&self, random: &mut Random) {
        match random.below(4) {
            0 => self.server.fault("create_message", 1, Fault::server_error(502)),
            1 => self.server.fault("create_message", 1, Fault::close()),
            _ => {}
        }
    }

    /// Waits until those from this one on have an answer.
    pub(super) async fn are_answered(&self, from: usize) -> anyhow::Result<()> {
        for (n, to) in self.pushed.iter().enumerate().skip(from) {
            let is_it = |sent: &discord::SentMessage| is_whole(sent) && place_of(sent) == place_asked(to);
            let found = self.server.wait_for_message(PATIENCE, is_it).await;
            found.map_err(|error| anyhow::anyhow!("on Discord {n} has no answer: {error}"))?;
        }
        Ok(())
    }

    /// Holds all answers against what must be true of them; how many turns ended without the
    /// database.
    pub(super) async fn judge(&self, world: &World) -> anyhow::Result<usize> {
        self.server.wait_until_idle(PATIENCE, "create_message").await?;
        self.server.wait_until_idle(PATIENCE, "edit_message").await?;
        let sent = self.server.sent_messages();
        let answers: Vec<_> = sent.iter().filter(|sent| is_whole(sent)).collect();
        let mut ended = 0;
        for channel in 0..CROWD {
            let asked: Vec<_> = self.pushed.iter().enumerate().skip(channel).step_by(CROWD).collect();
            let place = asked[0].1.channel_id;
            let of_channel: Vec<_> = answers.iter().filter(|sent| sent.channel_id == place).collect();
            let order: Vec<_> = of_channel.iter().map(|sent| place_of(sent)).collect();
            let expected: Vec<_> = asked.iter().map(|(_, to)| place_asked(to)).collect();
            assert_eq!(order, expected, "each once, in its order, in channel {channel}");
            for ((n, _), sent) in asked.into_iter().zip(of_channel) {
                // A backslash before a mark says that the mark is a character.
                let said = sent.content.replace('\\', "");
                if said.contains("its database") {
                    ended += 1;
                } else if let Some(path) = path(n) {
                    assert!(said.contains(r#""saved":true"#), "{n}: {said}");
                    assert!(world.saved(&path) == content(n), "{n}");
                }
            }
        }
        assert_eq!(answers.len(), self.pushed.len(), "what is no answer was sent");
        assert_eq!(Discord(self.server.clone()).violations(), Vec::<String>::new());
        Ok(ended)
    }
}

/// The numbered message, of its sender.
fn in_channel(n: usize) -> discord::Incoming {
    let message = discord::Incoming::private(FIRST + (n % CROWD) as u64);
    match path(n) {
        None => message.text("hello"),
        Some(path) => {
            let file = discord::Media::new(&format!("d{n}"), content(n));
            message.text(&save(0, &path)).attachment(file)
        }
    }
}

/// Where its file is to be, if it has one.
fn path(n: usize) -> Option<String> {
    (n % 4 > 1).then(|| format!("/shared/there-{n}"))
}

/// Whether it is no sign of work.
fn is_whole(sent: &discord::SentMessage) -> bool {
    !sent.deleted && !sent.content.starts_with('⏳')
}

/// Where a message is, and what it answers.
fn place_of(sent: &discord::SentMessage) -> (u64, Option<u64>) {
    (sent.channel_id, sent.reply_to)
}

/// The same of an answer to this one.
fn place_asked(to: &discord::Pushed) -> (u64, Option<u64>) {
    (to.channel_id, Some(to.message_id))
}
