//! Whole turns, from the update to the reply, through the real program between a Telegram and a model on loopback
//! that answer at once. What is measured is the gateway's own: two processes wake each other, and the disk is real.

use anyhow::{Context, Result};
use std::time::{Duration, Instant};
use support::home::Home;
use support::llm::{Dialect, LlmServer, Turn};
use support::serving::Serving;
use support::telegram::{Incoming, SentMessage, TelegramServer};

/// People, each alone with the bot, so that no limit of one chat is met.
const PEOPLE: i64 = 1000;
const FIRST: i64 = 5_000_000_001;
const PATIENCE: Duration = Duration::from_secs(120);
/// What a person sees of an answer under way.
const REACTIONS: [&str; 4] = ["sendChatAction", "sendMessage", "sendMessageDraft", "editMessageText"];

/// A running gateway and its servers.
struct Stand {
    telegram: TelegramServer,
    llm: Option<LlmServer>,
    serving: Serving,
    /// What it lives in, which is gone with it.
    _home: Home,
}

/// Times of turns, and what many sessions hold.
pub(crate) async fn measure(turns: usize, at_once: usize) -> Result<()> {
    for (name, model) in [("commands", false), ("a null model", true)] {
        let stand = Stand::start(model).await?;
        stand.one_by_one(name, turns).await?;
        stand.at_once(name, at_once).await?;
    }
    Stand::start(true).await?.sessions(at_once.min(PEOPLE as usize)).await
}

impl Stand {
    async fn start(model: bool) -> Result<Self> {
        let telegram = TelegramServer::start().await?;
        let users: Vec<i64> = (FIRST..).take(PEOPLE as usize).collect();
        let mut home = Home::new().telegram(&telegram.api_url(), &users);
        let mut llm = None;
        if model {
            let server = LlmServer::start().await?;
            server.otherwise(|_| Turn::say("Here is the answer."));
            home = home.model(&server, Dialect::Chat, "");
            llm = Some(server);
        }
        let serving = Serving::start(&home, telegram.token())?;
        Ok(Self { telegram, llm, serving, _home: home })
    }

    /// Pushes the message of a person; whether one of these messages answers it.
    fn ask(&self, person: i64) -> impl Fn(&SentMessage) -> bool + use<> {
        let pushed = self.telegram.push(Incoming::private(FIRST + person % PEOPLE).text("hello"));
        let whole = |text: &str| text == "Here is the answer." || text.starts_with("I run commands");
        move |sent| {
            (sent.chat_id, sent.reply_to) == (pushed.chat_id, Some(pushed.message_id)) && whole(&sent.text)
        }
    }

    /// One turn after the other: how long until a person sees anything, and until the answer is there.
    async fn one_by_one(&self, name: &str, turns: usize) -> Result<()> {
        let (mut reactions, mut replies) = (Vec::new(), Vec::new());
        for turn in 0..turns + turns / 10 {
            // What the turn before left to be written is not this one's.
            tokio::time::sleep(Duration::from_millis(10)).await;
            let before: Vec<usize> =
                REACTIONS.iter().map(|name| self.telegram.request_count(*name)).collect();
            let sent = self.telegram.sent_count();
            let started = Instant::now();
            let is_answer = self.ask(i64::try_from(turn)?);
            self.telegram.wait_for_newest(PATIENCE, sent, |newest| newest.iter().any(&is_answer)).await?;
            let replied = started.elapsed();
            let seen = REACTIONS.iter().zip(before).filter_map(|(name, before)| {
                self.telegram.requests(*name).get(before).map(|request| request.at)
            });
            // The first tenth warms up.
            if turn >= turns / 10 {
                reactions.push(seen.min().context("a reaction")?.saturating_duration_since(started));
                replies.push(replied);
            }
            self.forget();
        }
        println!("update to first reaction, {name}: {}", told(reactions));
        println!("update to reply, {name}:          {}", told(replies));
        Ok(())
    }

    /// Everybody writes at the same moment.
    async fn at_once(&self, name: &str, turns: usize) -> Result<()> {
        let sent = self.telegram.sent_count();
        let started = Instant::now();
        self.everybody(turns, sent).await?;
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "turns at once, {name}:            {:.0} turns/s ({turns} in {seconds:.2} s)",
            turns as f64 / seconds
        );
        self.forget();
        Ok(())
    }

    async fn everybody(&self, turns: usize, sent: usize) -> Result<()> {
        let answers: Vec<_> = (0..turns).map(|person| self.ask(person as i64)).collect();
        // As many messages as turns are looked through once, and not one for each.
        let all = |newest: &[SentMessage]| {
            newest.len() >= turns && answers.iter().all(|is_answer| newest.iter().any(is_answer))
        };
        self.telegram.wait_for_newest(PATIENCE, sent, all).await?;
        Ok(())
    }

    /// What the process holds after one turn, and after one of each of many people.
    async fn sessions(&self, people: usize) -> Result<()> {
        self.everybody(1, self.telegram.sent_count()).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let one = self.memory()?;
        self.everybody(people, self.telegram.sent_count()).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let all = self.memory()?;
        let each = all.saturating_sub(one) as f64 / people as f64;
        println!("memory with {people} sessions:       {all} KiB, {one} KiB with one ({each:.1} KiB each)");
        Ok(())
    }

    fn memory(&self) -> Result<u64> {
        super::memory_of(&self.serving.pid().to_string(), "VmRSS:")
    }

    fn forget(&self) {
        if let Some(llm) = &self.llm {
            llm.forget();
        }
    }
}

/// The middle and the slow end of some times.
fn told(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    format!("p50 {:?}  p99 {:?} ({} turns)", at(50), at(99), times.len())
}
