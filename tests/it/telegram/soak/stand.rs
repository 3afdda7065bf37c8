//! The gateway of a long run, on disks of its own where that can be had, and the waves that it lives through.

use super::clock::Clock;
use super::faults::{Disk, Planned, Random, moment, plan};
use super::growth::Held;
use super::people::{Outcome, PEOPLE, Question, model, users};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use support::home::Home;
use support::llm::{Dialect, LlmServer};
use support::namespace::{Namespace, available};
use support::serving::Serving;
use support::telegram::{Pushed, SentMessage, TelegramServer};

/// Longer than a wave takes that is not stuck: pauses between attempts add up.
const PATIENCE: Duration = Duration::from_secs(180);
/// The clock jumps by at most so many seconds, to and fro: less than anything is forgotten after.
const JUMP_MAX: u64 = 2 * 24 * 60 * 60;

pub(super) struct Stand {
    pub(super) telegram: TelegramServer,
    pub(super) llm: LlmServer,
    home: Home,
    disks: Option<Namespace>,
    clock: Option<Clock>,
    serving: Option<Serving>,
    /// Of earlier runs, what is worth telling.
    log: String,
    questions: Vec<Pushed>,
    told: Told,
    tally: Tally,
    /// After the warm-up of the process that ends the run.
    warm: Option<Held>,
    began: Instant,
}

/// What the answers have said of files.
#[derive(Default)]
struct Told {
    /// Each is there, whole.
    there: BTreeMap<String, Question>,
    /// Each may be there, and is whole then.
    perhaps: BTreeMap<String, Question>,
}

#[derive(Debug, Default)]
struct Tally {
    waves: usize,
    kills: usize,
    full_disks: usize,
    jumps: usize,
    /// Acknowledgements that were lost on purpose.
    lost: usize,
    /// Answers that came twice.
    repeated: usize,
    honest: usize,
    failed: BTreeMap<String, usize>,
}

impl Stand {
    pub(super) async fn start(turns: usize) -> Result<Self> {
        let (telegram, llm) = (TelegramServer::start().await?, LlmServer::start().await?);
        llm.otherwise(model);
        let limits = "[turns]\nhistory_tokens = 1500\nuser_tokens_per_day = 1000000000\n";
        let home = Home::new().telegram(&telegram.api_url(), &users());
        let home = home.model(&llm, Dialect::Chat, "").config(limits);
        std::fs::create_dir_all(home.workspace())?;
        let (shared, kept) = (64 + turns / 50, 160 + turns / 25);
        let mounts = format!(
            "mount -t tmpfs -o size={shared}m none workspace; mkdir -p workspace/vault; cp -a state saved\n\
             mount -t tmpfs -o size={kept}m,mode=700 none state; cp -a saved/. state/"
        );
        let disks = available("telegram::soak (full disks)").then(|| Namespace::new(home.dir(), &mounts));
        let clock = Clock::make(home.dir())?;
        let mut stand = Self {
            telegram,
            llm,
            home,
            disks,
            clock,
            serving: None,
            log: String::new(),
            questions: Vec::new(),
            told: Told::default(),
            tally: Tally::default(),
            warm: None,
            began: Instant::now(),
        };
        stand.launch()?;
        Ok(stand)
    }

    /// Turns that were asked for.
    pub(super) fn asked(&self) -> usize {
        self.questions.len()
    }

    /// Whether its disks can be filled.
    pub(super) fn disks(&self) -> bool {
        self.disks.is_some()
    }

    fn wrapper(&self) -> Vec<String> {
        self.disks.as_ref().map(|disks| disks.wrapper().to_vec()).unwrap_or_default()
    }

    fn seen(&self, path: PathBuf) -> PathBuf {
        self.disks.as_ref().map_or_else(|| path.clone(), |disks| disks.seen(&path))
    }

    fn launch(&mut self) -> Result<()> {
        let wrapper = self.wrapper();
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        let moved = self.clock.as_ref().map(Clock::environment).transpose()?;
        let moved = moved.iter().flatten().map(|(name, value)| (*name, value.as_str()));
        let environment: Vec<_> = moved.collect();
        self.serving =
            Some(Serving::launch(&self.home, self.telegram.token(), &wrapper, &environment)?.polling()?);
        Ok(())
    }

    fn kill(&mut self) {
        let log = self.serving.take().expect("it runs").kill();
        self.keep(&log);
        self.tally.kills += 1;
    }

    fn stop(&mut self) -> Result<()> {
        let serving = self.serving.take().expect("it runs");
        let (status, log) = serving.stop(rustix::process::Signal::TERM, Duration::from_secs(10))?;
        self.keep(&log);
        ensure!(status.success() && !self.log.contains("panicked"), "{status}: {}", self.log);
        Ok(())
    }

    /// Keeps the end of a run's log, and everything that it must not say.
    fn keep(&mut self, log: &str) {
        let lines: Vec<_> = log.lines().collect();
        let wrong = lines.iter().filter(|line| line.contains("panicked"));
        let last = &lines[lines.len().saturating_sub(40)..];
        self.log = wrong.chain(last).map(|line| format!("{line}\n")).collect();
    }

    /// The end of the log, for whoever reads a failed run.
    pub(super) fn tail(&self) -> String {
        let now = self.serving.as_ref().map(Serving::log).unwrap_or_default();
        let lines: Vec<_> = now.lines().collect();
        format!("{}---\n{}", self.log, lines[lines.len().saturating_sub(60)..].join("\n"))
    }

    /// Some messages, some faults, and all answers.
    pub(super) async fn wave(&mut self, random: &mut Random, messages: usize, last_part: bool) -> Result<()> {
        self.tally.waves += 1;
        if self.tally.waves == 1 || (last_part && self.warm.is_none()) {
            // Nothing fails: the measure of what follows.
            self.live(random, messages, &Planned::default()).await?;
            if last_part {
                self.warm = Some(self.held()?);
            }
            return Ok(());
        }
        let planned = plan(self, random, last_part);
        self.tally.lost += planned.lost;
        if let Some(clock) = self.clock.as_ref().filter(|_| random.once_in(4)) {
            clock.jump(i64::try_from(random.below(2 * JUMP_MAX))? - i64::try_from(JUMP_MAX)?)?;
            self.tally.jumps += 1;
        }
        let lived = self.live(random, messages, &planned).await;
        lived.with_context(|| format!("in wave {} with {planned:?}", self.tally.waves))
    }

    async fn live(&mut self, random: &mut Random, messages: usize, planned: &Planned) -> Result<()> {
        let (first, sent) = (self.questions.len(), self.telegram.sent_count());
        if let Some(disk) = planned.disk {
            self.fill(disk);
        }
        let asked: Vec<Question> = (first..first + messages).map(Question).collect();
        self.push(random, &asked)?;
        if planned.kill {
            moment(self, random).await;
            self.kill();
            self.launch()?;
        }
        if let Some(disk) = planned.disk {
            moment(self, random).await;
            self.disks.as_ref().expect("it was filled").sh(&format!("rm {}", disk.filler()));
        }
        let questions = self.questions[first..].to_vec();
        let answered = |newest: &[SentMessage]| {
            let one = |(question, pushed): (&Question, &Pushed)| {
                outcomes(newest, *question, pushed).next().is_some()
            };
            asked.iter().zip(&questions).all(one)
        };
        let newest = self.telegram.wait_for_newest(PATIENCE, sent, answered).await?;
        self.telegram.wait_until_idle(PATIENCE, "sendMessage").await?;
        for (question, pushed) in asked.iter().zip(&questions) {
            let said: Vec<Outcome> = outcomes(&newest, *question, pushed).collect();
            self.believe(*question, &said, planned)?;
        }
        self.telegram.clear_faults();
        ensure!(self.llm.violations().is_empty(), "{:?}", self.llm.violations());
        self.llm.forget();
        ensure!(!self.log.contains("panicked"), "{}", self.log);
        Ok(())
    }

    fn fill(&mut self, disk: Disk) {
        self.tally.full_disks += 1;
        self.disks.as_ref().expect("asked before").sh(&format!("cat /dev/zero > {} || true", disk.filler()));
    }

    /// Writes the messages, out of order, some of them twice, and some of earlier waves once more.
    fn push(&mut self, random: &mut Random, asked: &[Question]) -> Result<()> {
        let mut incoming = Vec::new();
        for question in asked {
            let ahead = if random.once_in(5) { i64::try_from(random.below(1 << 31))? - (1 << 30) } else { 0 };
            incoming.push(question.message(random.below(PEOPLE as u64) as usize, ahead));
        }
        if random.once_in(3) {
            // Their ids say another order than that in which they come.
            let base = 800_000_000 + i64::try_from(self.questions.len())? * 10;
            let ids: Vec<i64> = (base..).take(incoming.len()).collect();
            let shift = random.below(incoming.len() as u64) as usize;
            let shifted = ids.iter().cycle().skip(shift);
            incoming = incoming.into_iter().zip(shifted).map(|(one, id)| one.update_id(*id)).collect();
        }
        let pushed = self.telegram.push_all(incoming);
        for _ in 0..random.below(4) {
            // Of those that the gateway still remembers.
            let recent = &self.questions[self.questions.len().saturating_sub(1000)..];
            let again = random.below((recent.len() + pushed.len()) as u64) as usize;
            let again = recent.iter().chain(&pushed).nth(again).expect("so many");
            self.telegram.redeliver(again.update_id)?;
        }
        self.questions.extend(pushed);
        Ok(())
    }

    /// Notes what an answer says, where it may say so.
    fn believe(&mut self, question: Question, said: &[Outcome], planned: &Planned) -> Result<()> {
        let outcome = said.first().expect("it is answered");
        ensure!(said.iter().all(|other| other == outcome), "{question:?} has different answers: {said:?}");
        self.tally.repeated += said.len() - 1;
        let most = self.tally.lost + self.tally.kills * PEOPLE;
        ensure!(self.tally.repeated <= most, "{question:?} is answered {} times", said.len());
        let path = question.path();
        match outcome {
            Outcome::Done => {
                let Some(path) = path else { return Ok(()) };
                let bytes = std::fs::read(self.seen(self.home.host(&path))).context(path.clone())?;
                ensure!(bytes == question.content().into_bytes(), "{path} is not what was sent");
                self.told.there.insert(path, question);
            }
            Outcome::Failed(code) => {
                *self.tally.failed.entry(code.clone()).or_default() += 1;
                let is_of_disk =
                    ["no_space", "write_failed", "internal", "attachment_unavailable", "durability_unknown"];
                let may = planned.disk.is_some() && is_of_disk.contains(&code.as_str());
                ensure!(may, "{question:?} failed with {code}, though nothing was planned that does that");
                let Some(path) = path else { return Ok(()) };
                if ["no_space", "write_failed", "attachment_unavailable"].contains(&code.as_str()) {
                    ensure!(!self.seen(self.home.host(&path)).exists(), "{path} is there, though it failed");
                } else {
                    self.told.perhaps.insert(path, question);
                }
            }
            Outcome::Honest => {
                self.tally.honest += 1;
                ensure!(
                    planned.model > 0 || planned.disk.is_some(),
                    "{question:?} is not answered for no reason"
                );
                self.told.perhaps.extend(path.map(|path| (path, question)));
            }
        }
        Ok(())
    }

    fn held(&mut self) -> Result<Held> {
        let process = self.serving.as_ref().context("it runs")?.pid();
        Held::now(process, &self.seen(self.home.state()))
    }

    /// Holds the end against what must be true of it; what happened, for whoever reads it.
    pub(super) async fn end(mut self) -> Result<String> {
        let (warm, held) = (self.warm.context("it was warm")?, self.held()?);
        held.has_not_grown_since(warm)?;
        self.stop()?;
        // Where the disk of the audit was full, outcomes are missing until the next start settles them.
        self.launch()?;
        self.stop()?;
        self.workspace_is_as_told()?;
        let wrapper = self.wrapper();
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        let mut verify = match wrapper.as_slice() {
            [] => self.home.command(&["audit", "verify", "--json"]),
            wrapper => self.home.command_under(wrapper, &["audit", "verify", "--json"]),
        };
        let ran = support::home::Ran::from(verify.output()?);
        ensure!(ran.code == Some(0) && ran.json()["intents_open"] == 0, "{ran:?}");
        let seconds = self.began.elapsed().as_secs();
        let (turns, files) = (self.questions.len(), self.told.there.len());
        Ok(format!(
            "{turns} turns in {seconds} s, {files} files; {:?}\nwarm: {warm}\nend:  {held}\naudit: {}",
            self.tally,
            ran.stdout.trim()
        ))
    }

    /// The workspace holds what was said to be saved, and nothing but that and what may be.
    fn workspace_is_as_told(&self) -> Result<()> {
        let shared = self.seen(self.home.host("/shared"));
        let mut found = BTreeSet::new();
        let mut dirs = vec![shared.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir)? {
                let path = entry?.path();
                if path.is_dir() {
                    dirs.push(path);
                    continue;
                }
                let below: &Path = path.strip_prefix(&shared)?;
                let guest = format!("/shared/{}", below.display());
                let question = self.told.there.get(&guest).or_else(|| self.told.perhaps.get(&guest));
                let question = question.with_context(|| format!("nobody was told of {guest}"))?;
                ensure!(
                    std::fs::read(&path)? == question.content().into_bytes(),
                    "{guest} is not what was sent"
                );
                found.insert(guest);
            }
        }
        let missing: Vec<_> = self.told.there.keys().filter(|path| !found.contains(*path)).collect();
        ensure!(missing.is_empty(), "these were saved and are gone: {missing:?}");
        Ok(())
    }
}

/// The whole answers to a question among these messages.
fn outcomes<'a>(
    sent: &'a [SentMessage],
    question: Question,
    asked: &'a Pushed,
) -> impl Iterator<Item = Outcome> + 'a {
    let to_it =
        |sent: &&SentMessage| (sent.chat_id, sent.reply_to) == (asked.chat_id, Some(asked.message_id));
    sent.iter()
        .filter(to_it)
        .filter(|sent| !sent.deleted)
        .filter_map(move |sent| question.outcome(&sent.text))
}
