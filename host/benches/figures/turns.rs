//! Whole turns, from the update to the reply, through the real program between a Telegram and a model on loopback
//! that answer at once. What is measured is the gateway's own: two processes wake each other, and the disk is real.

use super::watch;
use anyhow::{Context, Result};
use std::time::{Duration, Instant};
use support::home::Home;
use support::llm::{Dialect, LlmServer, Turn};
use support::serving::Serving;
use support::telegram::{Incoming, SentMessage, TelegramServer};

/// People, each alone with the bot, so that no limit of one chat is met.
const PEOPLE: i64 = 1000;
const FIRST: i64 = 5_000_000_001;
/// People who write at once, over and over.
const AT_ONCE: usize = 20;
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

/// A line of the table in `docs/benchmarks.md`: what, its goal, what was measured.
pub(crate) type Row = (&'static str, &'static str, String);

/// Times of turns, and what many sessions hold.
pub(crate) async fn measure(turns: usize, at_once: usize) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for model in [Model::None, Model::Null] {
        let [part, reaction, reply, many] = model.words();
        watch::part(part);
        let stand = Stand::start(model).await?;
        let (reactions, replies) = stand.one_by_one(turns).await?;
        rows.push((reaction, "", told(reactions)));
        rows.push((reply, if model == Model::Null { "p50 ≤ 5 ms" } else { "" }, told(replies)));
        rows.push((many, "", stand.at_once(at_once).await?));
    }
    watch::part("memory of sessions");
    let held = Stand::start(Model::Null).await?.sessions(at_once.min(PEOPLE as usize)).await?;
    rows.push(("resident memory after one turn of each of so many people", "", held));
    watch::part("memory over time");
    let held = Stand::start(Model::Null).await?.over_time(turns * 10).await?;
    rows.push(("the same over many turns of a few people", "no growth by the turn", held));
    Ok(rows)
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    /// The provider `commands`.
    None,
    /// A model that answers at once.
    Null,
}

impl Model {
    /// The part of the run, and its rows.
    fn words(self) -> [&'static str; 4] {
        match self {
            Self::None => [
                "turns without a model",
                "update to first reaction, `commands`",
                "update to reply, `commands`",
                "so many people at the same moment, `commands`",
            ],
            Self::Null => [
                "turns with a null model",
                "update to first reaction, a model that answers at once",
                "update to reply, a model that answers at once",
                "so many people at the same moment, a model that answers at once",
            ],
        }
    }
}

impl Stand {
    async fn start(model: Model) -> Result<Self> {
        let telegram = TelegramServer::start().await?;
        let users: Vec<i64> = (FIRST..).take(PEOPLE as usize).collect();
        let mut home = Home::new().telegram(&telegram.api_url(), &users);
        let mut llm = None;
        if model == Model::Null {
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
    async fn one_by_one(&self, turns: usize) -> Result<(Vec<Duration>, Vec<Duration>)> {
        let (mut reactions, mut replies) = (Vec::new(), Vec::new());
        for turn in 0..turns + turns / 10 {
            // What the turn before left to be written is not this one's.
            tokio::time::sleep(Duration::from_millis(10)).await;
            let before = self.telegram.next_request();
            let sent = self.telegram.sent_count();
            let started = Instant::now();
            let is_answer = self.ask(i64::try_from(turn)?);
            self.telegram.wait_for_newest(PATIENCE, sent, |newest| newest.iter().any(&is_answer)).await?;
            let replied = started.elapsed();
            let since = self.telegram.requests_since(before).into_iter();
            let seen =
                since.filter(|request| REACTIONS.contains(&&*request.method)).map(|request| request.at);
            // The first tenth warms up.
            if turn >= turns / 10 {
                reactions.push(seen.min().context("a reaction")?.saturating_duration_since(started));
                replies.push(replied);
            }
            self.forget();
        }
        Ok((reactions, replies))
    }

    /// Everybody writes at the same moment.
    async fn at_once(&self, turns: usize) -> Result<String> {
        let sent = self.telegram.sent_count();
        let started = Instant::now();
        self.everybody(turns, sent).await?;
        let seconds = started.elapsed().as_secs_f64();
        self.forget();
        Ok(format!("{:.0} turns/s ({turns} in {seconds:.2} s)", turns as f64 / seconds))
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
    async fn sessions(&self, people: usize) -> Result<String> {
        self.everybody(1, self.telegram.sent_count()).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let one = self.memory()?;
        self.everybody(people, self.telegram.sent_count()).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let all = self.memory()?;
        let each = all.saturating_sub(one) as f64 / people as f64;
        Ok(format!("{all} KiB with {people}, {one} KiB with one ({each:.1} KiB each)"))
    }

    /// What the process holds after each fifth of many turns, of as many people as write at once.
    async fn over_time(&self, turns: usize) -> Result<String> {
        let mut held = Vec::new();
        for _ in 0..5 {
            for _ in 0..turns / AT_ONCE / 5 {
                self.everybody(AT_ONCE, self.telegram.sent_count()).await?;
                self.forget();
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            held.push(self.memory()?.to_string());
        }
        Ok(format!("{} KiB ({turns} turns of {AT_ONCE} people, by fifths)", held.join(", ")))
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
    format!("p50 {:.2?}, p99 {:.2?} ({} turns)", at(50), at(99), times.len())
}
