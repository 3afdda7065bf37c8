//! Runs that wait for people, in a gateway that serves: messages, replies, timeouts, decisions;
//! each once, through `kill -9`.

mod approve;
mod began;
mod discord;
mod examples;
mod faults;
mod holding;
mod in_turn;
mod kill;
mod removed;
mod schedule;
mod unreadable;
mod waits;

use serde_json::Value;
use std::time::{Duration, Instant};
use support::home::{Home, Ran};
use support::serving::Serving;
use support::telegram::{Gate, Incoming, Pushed, SentMessage, TelegramServer};

/// Asks.
const ANN: i64 = 5_000_000_001;
/// Is asked.
const BEN: i64 = 5_000_000_002;
/// Served as well.
const CAT: i64 = 5_000_000_003;
/// A stranger.
const EVE: i64 = 6_660_000_000;

/// Longer than anything takes that is not stuck, in a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(100);

/// Asks Ben, and answers with what he says.
const ASK: &str = "workflow: ask-colleague\non: { command: ask }\n\
    input: { type: object, properties: { question: { type: string } }, required: [question] }\ntasks:\n\
    \x20 - { id: ask, send: { to: \"telegram:5000000002\", text: \"{{ trigger.sender }} asks: {{ input.question }}\" } }\n\
    \x20 - { id: answer, wait: { reply_to: ask, timeout: 24h } }\n\
    output: \"They say: {{ tasks.answer.output.text }}\"\n";

/// A gateway with workflows, and the server that it talks to.
struct World {
    server: TelegramServer,
    home: Home,
    serving: Option<Serving>,
    log: String,
}

impl World {
    /// One that serves Ann, Ben and Cat these workflows, not started yet.
    async fn stopped(workflows: &[&str]) -> anyhow::Result<Self> {
        let server = TelegramServer::start().await?;
        server.open_chat(BEN);
        let home = Home::new()
            .telegram(&server.api_url(), &[ANN, BEN, CAT])
            .config("[workflows]\ndir = \"offered\"\nmax_open = 5\n");
        let offered = home.dir().join("offered");
        std::fs::create_dir(&offered)?;
        for (n, text) in workflows.iter().enumerate() {
            std::fs::write(offered.join(format!("{n}.yaml")), text)?;
        }
        Ok(Self { server, home, serving: None, log: String::new() })
    }

    async fn running(workflows: &[&str]) -> anyhow::Result<Self> {
        let mut world = Self::stopped(workflows).await?;
        world.start()?;
        Ok(world)
    }

    fn start(&mut self) -> anyhow::Result<()> {
        assert!(self.serving.is_none(), "it runs already");
        self.serving = Some(Serving::start(&self.home, self.server.token())?);
        Ok(())
    }

    /// Its folder, and the gateway that serves.
    fn served(&self) -> (&Home, &Serving) {
        (&self.home, self.serving.as_ref().expect("it runs"))
    }

    fn kill(&mut self) {
        self.log += &self.serving.take().expect("it runs").kill();
    }

    /// The same once a request is held here, which then never gets through.
    async fn kill_at(&mut self, gate: Gate) -> anyhow::Result<()> {
        gate.reached().await?;
        self.kill();
        gate.discard();
        Ok(())
    }

    fn log(&self) -> String {
        format!("{}{}", self.log, self.serving.as_ref().map(Serving::log).unwrap_or_default())
    }

    /// Ann asks; her message.
    fn ask(&self, text: &str) -> Pushed {
        self.server.push(Incoming::private(ANN).text(text))
    }

    /// Ann's message that begins a run of [`ASK`], and what Ben is asked by it.
    async fn asked(&self) -> anyhow::Result<(Pushed, SentMessage)> {
        let asked = self.ask("/ask question=one");
        let question = self.said_to(BEN, "5000000001 asks: one").await?;
        self.answer(&asked, "ask-colleague-").await?;
        Ok((asked, question))
    }

    /// The bot's message to somebody that begins so.
    async fn said_to(&self, person: i64, words: &str) -> anyhow::Result<SentMessage> {
        let is_it = |sent: &SentMessage| sent.chat_id == person && sent.text.starts_with(words);
        let found = self.server.wait_for_message(PATIENCE, is_it).await;
        found.map_err(|error| anyhow::anyhow!("{words:?}: {error}\n{}", self.log()))
    }

    /// The bot's answer to a message, in its thread, that begins so.
    async fn answer(&self, to: &Pushed, words: &str) -> anyhow::Result<SentMessage> {
        let is_it = |sent: &SentMessage| {
            (sent.chat_id, sent.reply_to) == (to.chat_id, Some(to.message_id))
                && sent.text.starts_with(words)
                && !sent.text.starts_with('⏳')
        };
        let found = self.server.wait_for_message(PATIENCE, is_it).await;
        found.map_err(|error| anyhow::anyhow!("{words:?}: {error}\n{}", self.log()))
    }

    /// Somebody replies to a message of the bot.
    fn reply(&self, person: i64, to: &SentMessage, text: &str) -> Pushed {
        self.server.push(Incoming::private(person).text(text).reply_to(&to.message))
    }

    /// The texts that the bot said to somebody, but for signs of work.
    fn texts_to(&self, person: i64) -> Vec<String> {
        let sent = self.server.sent_messages().into_iter();
        sent.filter(|sent| sent.chat_id == person && !sent.deleted).map(|sent| sent.text).collect()
    }

    /// The one run that there is.
    fn run_id(&self) -> String {
        let listed = self.home.run(&["workflow", "list", "--json"]).json();
        listed["runs"][0]["run"]
            .as_str()
            .unwrap_or_else(|| panic!("a run: {listed}\n{}", self.log()))
            .to_owned()
    }

    fn shown(&self) -> Value {
        self.home.run(&["workflow", "show", &self.run_id(), "--json"]).json()
    }

    fn cancel(&self) -> Ran {
        self.home.run(&["workflow", "cancel", &self.run_id()])
    }

    /// Waits until the one run stands so.
    async fn stands(&self, state: &str) -> anyhow::Result<Value> {
        let began = Instant::now();
        loop {
            let shown = self.shown();
            if shown["state"] == state {
                return Ok(shown);
            }
            anyhow::ensure!(began.elapsed() < PATIENCE, "not {state}: {shown}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What the audit says of runs: `started`, `waiting`, `resumed by telegram:1`.
    fn audited(&self) -> Vec<String> {
        let runs = self.home.audit().into_iter().filter(|record| record["event"] == "workflow");
        runs.map(|record| match (record["state"].as_str(), record["to"].as_str()) {
            (Some(state), _) => match record["by"].as_str() {
                Some(by) => format!("{state} by {by}"),
                None => state.to_owned(),
            },
            (None, Some(to)) => format!("sends to {to}"),
            (None, None) => "asks".to_owned(),
        })
        .collect()
    }
}
