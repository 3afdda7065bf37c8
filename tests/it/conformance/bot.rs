//! A channel of `serve`: a bot on a platform that stands on loopback.

use super::channel::{Channel, Lasting, Verdict};
use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use std::time::{Duration, Instant};
use support::containing;
use support::guests::sha256;
use support::home::Home;
use support::platform::{Gate, Message, PATIENCE, Platform, Sent, Step, Written};
use support::serving::Serving;

/// What the design promises of every stop.
const STOP_MAX: Duration = Duration::from_secs(10);
/// The number of the person who is served, and of one who is not.
const ANN: usize = 0;
const EVE: usize = 1;

/// The bot, its platform, and the gateway's folder.
pub(super) struct Bot<P> {
    platform: P,
    home: Home,
    serving: Option<Serving>,
    /// What earlier runs have logged.
    log: String,
    /// How many messages there were when the last one was written.
    before: usize,
    question: Option<Sent>,
    /// Questions that were decided, by where they are and their ids: no answers.
    decided: Vec<(i64, i64)>,
}

impl<P: Platform> Bot<P> {
    fn launch(&mut self) -> Result<()> {
        let mut command = self.home.command(&["serve"]);
        command.env("COFFERDAM_LOG", "trace").env(P::TOKEN, self.platform.token());
        self.serving = Some(Serving::spawn(command, "1:unused")?.says(P::READY)?);
        Ok(())
    }

    fn log(&self) -> String {
        let now = self.serving.as_ref().map(Serving::log).unwrap_or_default();
        format!("{}{now}", self.log)
    }

    /// The end of the log, for whoever reads a failed test.
    fn tail(&self) -> String {
        let log = self.log();
        let worth = |line: &&str| ["ERROR", "WARN", "INFO", "cofferdam:"].iter().any(|w| line.contains(w));
        let lines: Vec<_> = log.lines().filter(worth).collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// The first message of the bot from the `from`th on that is so.
    async fn first(&self, from: usize, mut is_it: impl FnMut(&Sent) -> bool) -> Result<Sent> {
        let all = self.platform.wait_for(PATIENCE, from, |all| all.iter().any(&mut is_it)).await;
        let all = all.with_context(|| self.tail())?;
        all.into_iter().find(|sent| is_it(sent)).context("it was accepted")
    }

    /// Everything that was sent.
    async fn sent(&self) -> Result<Vec<Sent>> {
        self.platform.wait_for(PATIENCE, 0, |_| true).await
    }

    fn of_ann(message: Message) -> Message {
        Message { person: P::person(ANN), ..message }
    }

    /// A secret is in no message, no line of the log and no file.
    fn keeps(&self, secret: &str, sent: &[Sent]) -> Result<()> {
        let told = sent.iter().find(|sent| sent.source.contains(secret));
        ensure!(told.is_none(), "a secret is said: {told:?}");
        let line = self.log.lines().find(|line| line.contains(secret));
        ensure!(line.is_none(), "a secret is in the log: {line:?}");
        for folder in [self.home.state(), self.home.workspace()] {
            let found = containing(&folder, secret.as_bytes());
            ensure!(found.is_empty(), "a secret is in {found:?}");
        }
        Ok(())
    }

    /// Waits until nothing is kept of replies: a message is there before the gateway has noted
    /// that.
    fn rest(&self) -> Result<()> {
        let outgoing = self.home.state().join("outgoing");
        let held = || std::fs::read_dir(&outgoing).into_iter().flatten().count();
        let started = Instant::now();
        while held() > 0 {
            ensure!(started.elapsed() < PATIENCE, "bytes of replies are left\n{}", self.tail());
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl<P: Platform> Channel for Bot<P> {
    const NAME: &'static str = P::NAME;
    type Asked = Written;

    async fn start(fit: impl FnOnce(Home) -> Home) -> Result<Self> {
        let platform = P::start().await?;
        let home = fit(Home::new()).config(&platform.section(&[P::person(ANN)]));
        let (serving, log, before, question, decided) = (None, String::new(), 0, None, Vec::new());
        let mut bot = Self { platform, home, serving, log, before, question, decided };
        bot.launch()?;
        Ok(bot)
    }

    fn home(&self) -> &Home {
        &self.home
    }

    fn sender() -> String {
        P::person(ANN).to_string()
    }

    fn write_all(&mut self, messages: Vec<Message>) -> Vec<Written> {
        self.before = self.platform.sent_count();
        self.platform.write_all(messages.into_iter().map(Self::of_ann).collect())
    }

    async fn answer(&mut self, to: Written) -> Result<String> {
        let is_it = |sent: &Sent| sent.answers(&to) && !self.decided.contains(&(sent.place, sent.id));
        Ok(self.first(0, is_it).await?.text)
    }

    async fn files(&mut self, count: usize) -> Result<Vec<(String, String)>> {
        let all = |sent: &[Sent]| sent.iter().flat_map(|sent| sent.files.clone()).collect::<Vec<_>>();
        let sent = self.platform.wait_for(PATIENCE, self.before, |sent| all(sent).len() >= count).await;
        let sent = sent.with_context(|| self.tail())?;
        Ok(all(&sent).into_iter().map(|(name, bytes)| (name, sha256(&bytes))).collect())
    }

    async fn question(&mut self) -> Result<String> {
        let asked = self.first(self.before, |sent| sent.buttons.len() == 2).await?;
        let text = asked.text.clone();
        self.question = Some(asked);
        Ok(text)
    }

    async fn decide(&mut self, verdict: Verdict) -> Result<()> {
        let asked = self.question.take().context("a question")?;
        self.platform.press(P::person(ANN), &asked, verdict as usize)?;
        // It says how it ended, and can be decided no more.
        let same = |sent: &Sent| (sent.place, sent.id) == (asked.place, asked.id);
        self.first(0, |sent| same(sent) && sent.buttons.is_empty()).await?;
        self.decided.push((asked.place, asked.id));
        Ok(())
    }

    async fn is_doing(&mut self, words: &str) -> Result<()> {
        self.first(self.before, |sent| sent.text.starts_with(&format!("⏳ {words}"))).await?;
        Ok(())
    }

    fn cancel(&mut self) {
        self.platform.write(Self::of_ann(Message::text(0, "/cancel")));
    }

    async fn end(mut self, messages: usize, secrets: &[&str]) -> Result<()> {
        if self.serving.is_some() {
            self.rest()?;
            self.stop()?;
        }
        let sent = self.sent().await?;
        let texts: Vec<_> = sent.iter().filter(|sent| !sent.deleted).map(|sent| &sent.text).collect();
        ensure!(texts.len() == messages, "{texts:#?}\n{}", self.tail());
        ensure!(!self.log.contains("panicked"), "{}", self.tail());
        ensure!(self.platform.violations().is_empty(), "{:?}", self.platform.violations());
        if self.home.state().join("audit.jsonl").exists() {
            let ran = self.home.run(&["audit", "verify", "--json"]);
            ensure!(ran.code == Some(0) && ran.json()["intents_open"] == 0, "{ran:?}");
        }
        ensure!(self.home.leftovers().is_empty(), "{:?}", self.home.leftovers());
        let spooled = std::fs::read_dir(self.home.state().join("blobs")).into_iter().flatten().count();
        ensure!(spooled == 0, "bytes of attachments are left in the state");
        for secret in secrets.iter().copied().chain([self.platform.secret()]) {
            self.keeps(secret, &sent)?;
        }
        Ok(())
    }
}

impl<P: Platform> Lasting for Bot<P> {
    const PART_MAX: usize = P::PART_MAX;

    fn repeat(&self, asked: Written) -> Result<()> {
        self.platform.repeat(&asked)
    }

    fn stranger() -> String {
        P::person(EVE).to_string()
    }

    fn write_as_stranger(&self, message: Message) -> Written {
        self.platform.write(Message { person: P::person(EVE), ..message })
    }

    fn fetches(&self) -> usize {
        self.platform.fetches()
    }

    async fn says(&self, words: &str) -> Result<()> {
        self.first(0, |sent| sent.text.contains(words)).await?;
        Ok(())
    }

    async fn parts(&self, last: &str) -> Result<Vec<(String, bool)>> {
        self.first(self.before, |sent| sent.is_whole() && sent.text.contains(last)).await?;
        let parts = self.sent().await?.split_off(self.before);
        let parts = parts.into_iter().filter(|sent| !sent.deleted);
        Ok(parts.map(|sent| (sent.text.clone(), P::is_code_closed(&sent))).collect())
    }

    fn hold(&self, step: Step) -> Gate {
        self.platform.hold(step)
    }

    fn messages(&self) -> usize {
        self.platform.sent_count()
    }

    fn kill(&mut self) {
        self.log += &self.serving.take().expect("it runs").kill();
    }

    fn stop(&mut self) -> Result<()> {
        let (status, log) = self.serving.take().expect("it runs").stop(Signal::TERM, STOP_MAX)?;
        self.log += &log;
        ensure!(status.code() == Some(0), "{status}: {}", self.tail());
        Ok(())
    }

    fn start_again(&mut self) -> Result<()> {
        self.launch()
    }
}
