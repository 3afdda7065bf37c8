//! A gateway between a platform and a model on loopback, and the waves that it lives through.

use super::answers::{Answers, copies, repeats};
use super::faults::{Disk, Kills, Planned, Random, moment, plan};
use super::gateway::Gateway;
use super::growth::{self, Held};
use super::people::{Outcome, PEOPLE, Question, model, users};
use super::platforms::{Effect, RequestRecord, Soaked};
use super::rows;
use super::told::Told;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use support::home::Home;
use support::llm::{Dialect, LlmServer};
use support::platform::{Sent, Written};

/// Longer than a wave takes that is not stuck: pauses between attempts add up.
const PATIENCE: Duration = Duration::from_secs(180);
/// A file is given up when it could not be fetched so often.
const FETCHES: usize = 3;
/// Long conversations are shortened; nobody has too little for a run. Anyone may look how it is.
const CONFIG: &str = "[turns]\nhistory_tokens = 1500\nuser_tokens_per_day = 1000000000\n\
[metrics]\nlisten = \"127.0.0.1:0\"\n";

pub(super) struct Stand<P> {
    platform: P,
    llm: LlmServer,
    gateway: Gateway,
    questions: Vec<Written>,
    answers: Answers,
    told: Told,
    tally: Tally,
    /// After each wave of the last part, which is one process.
    life: Vec<Held>,
    began: Instant,
}

/// What has happened.
#[derive(Debug, Default)]
struct Tally {
    waves: usize,
    kills: usize,
    full_disks: usize,
    clock_jumps: usize,
    /// Updates that came once more, and waves whose ids say another order than they came in.
    duplicates: usize,
    reordered: usize,
    /// Requests to the platform that went wrong, by how.
    platform: BTreeMap<&'static str, usize>,
    /// Those of them that had taken effect.
    unheard: usize,
    model: BTreeMap<&'static str, usize>,
    /// Questions that were answered with an error in plain words, or with the code of one.
    honest: usize,
    failed: BTreeMap<String, usize>,
}

impl<P: Soaked> Stand<P> {
    pub(super) async fn start(turns: usize) -> Result<Self> {
        let (platform, llm) = (P::start().await?, LlmServer::start().await?);
        llm.otherwise(model);
        let home = Home::new().config(&platform.section(&users::<P>()));
        let home = home.model(&llm, Dialect::Chat, "").config(CONFIG);
        let gateway = Gateway::start(home, &platform, turns)?;
        let (questions, answers, told) = (Vec::new(), Answers::on(P::sends_once), Told::default());
        let (tally, life, began) = (Tally::default(), Vec::new(), Instant::now());
        Ok(Self { platform, llm, gateway, questions, answers, told, tally, life, began })
    }

    /// Turns that were asked for.
    pub(super) fn asked(&self) -> usize {
        self.questions.len()
    }

    /// The end of the log, for whoever reads a failed run.
    pub(super) fn tail(&self) -> String {
        self.gateway.tail()
    }

    /// Some messages, some faults, all answers, and then rest. In the first wave nothing fails, and
    /// everybody writes.
    pub(super) async fn wave(&mut self, random: &mut Random, messages: usize, kills: Kills) -> Result<()> {
        self.tally.waves += 1;
        let mut planned = Planned::default();
        if self.tally.waves > 1 {
            planned = plan((&self.platform, &self.llm), random, kills);
            planned.disk = planned.disk.filter(|_| self.gateway.has_disks_of_its_own());
            if let Some(clock) = self.gateway.clock().filter(|_| random.once_in(4)) {
                clock.jump(i64::try_from(random.below(2 * P::JUMP_MAX))? - i64::try_from(P::JUMP_MAX)?)?;
                self.tally.clock_jumps += 1;
            }
        }
        for kind in &planned.model {
            *self.tally.model.entry(*kind).or_default() += 1;
        }
        let messages = if self.tally.waves == 1 { PEOPLE } else { messages };
        let lived = self.live(random, messages, &planned).await;
        let held = lived.with_context(|| format!("in wave {} with {planned:?}", self.tally.waves))?;
        if kills == Kills::None {
            self.life.push(held);
        }
        Ok(())
    }

    async fn live(&mut self, random: &mut Random, messages: usize, planned: &Planned) -> Result<Held> {
        let (first, sent) = (self.questions.len(), self.platform.sent_count());
        let request = self.platform.next_request();
        if let Some(disk) = planned.disk {
            self.gateway.fill(disk);
            self.tally.full_disks += 1;
        }
        self.push(random, messages)?;
        if planned.kill {
            moment(&self.platform, random).await;
            self.gateway.kill();
            let dead = self.platform.sent_count();
            self.gateway.launch()?;
            self.answers.killed(dead, self.platform.sent_count());
            self.tally.kills += 1;
        }
        if let Some(disk) = planned.disk {
            moment(&self.platform, random).await;
            self.gateway.make_room(disk);
        }
        let asked = self.questions[first..].to_vec();
        let all = |newest: &[Sent]| (first..).map(Question).zip(&asked).all(|one| is_answered(one, newest));
        self.platform.wait_for(PATIENCE, sent, all).await?;
        let held = self.gateway.rest().await?;
        let fetches = self.note_faults(request);
        self.platform.clear_faults();
        let newest = self.platform.wait_for(PATIENCE, sent, |_| true).await?;
        let outcomes = self.answers.judge((&asked, first), (&newest, sent))?;
        let outcomes = outcomes.into_iter().map(|answered| answered.outcome);
        self.believe((first..).map(Question).zip(outcomes), planned, fetches)?;
        ensure!(self.llm.violations().is_empty(), "{:?}", self.llm.violations());
        self.llm.forget();
        self.gateway.has_not_panicked()?;
        Ok(held)
    }

    /// Writes the messages, out of order, some of them twice, and some of earlier waves once more.
    fn push(&mut self, random: &mut Random, messages: usize) -> Result<()> {
        let mut incoming = Vec::new();
        for question in (self.questions.len()..).take(messages).map(Question) {
            let anybody = random.below(PEOPLE as u64) as usize;
            incoming.push(question.message::<P>(if question.0 < PEOPLE { question.0 } else { anybody }));
        }
        let pushed = if random.once_in(3) {
            self.tally.reordered += 1;
            self.platform.write_reordered(incoming, random)
        } else {
            self.platform.write_all(incoming)
        };
        for _ in 0..random.below(4) {
            // Of those that the gateway still remembers.
            let recent = &self.questions[self.questions.len().saturating_sub(1000)..];
            let again = random.below((recent.len() + pushed.len()) as u64) as usize;
            let again = recent.iter().chain(&pushed).nth(again).expect("so many");
            self.platform.repeat(again)?;
            self.tally.duplicates += 1;
        }
        self.questions.extend(pushed);
        Ok(())
    }

    /// Notes what has become of the requests to the platform from this one on; how many for files
    /// went wrong.
    fn note_faults(&mut self, request: u64) -> usize {
        let requests = self.platform.requests_since(request);
        for request in requests.iter().filter(|request| request.fault.is_some()) {
            let kind = match request.status {
                Some(429) => "429",
                Some(500..) => "5xx",
                Some(_) => "truncated or unreadable",
                None => "connection closed",
            };
            *self.tally.platform.entry(kind).or_default() += 1;
            self.tally.unheard += usize::from(request.fault == Some(Effect::Taken));
        }
        self.answers.note::<P>(&requests, &self.questions);
        let is_fetch = |one: &&RequestRecord| ["getFile", "download"].contains(&one.method.as_str());
        requests.iter().filter(|request| request.fault.is_some()).filter(is_fetch).count()
    }

    /// Notes what the answers of a wave say, where they may say so.
    fn believe(
        &mut self,
        answered: impl Iterator<Item = (Question, Outcome)>,
        planned: &Planned,
        fetches: usize,
    ) -> Result<()> {
        let mut honest = 0;
        for (question, outcome) in answered {
            match &outcome {
                Outcome::Done => {}
                Outcome::Failed(code) => {
                    *self.tally.failed.entry(code.clone()).or_default() += 1;
                    let was_given_up = code == "attachment_unavailable" && fetches >= FETCHES;
                    let may = was_given_up || (planned.disk.is_some() && Disk::may_cause(code));
                    ensure!(
                        may,
                        "{question:?} failed with {code}, though nothing was planned that does that"
                    );
                }
                Outcome::Honest => honest += 1,
            }
            self.told.note(question, &outcome, &self.gateway)?;
        }
        let failed = planned.model.len();
        ensure!(
            honest <= failed || planned.disk.is_some(),
            "{honest} were told of an error, and the model failed {failed} times"
        );
        self.tally.honest += honest;
        Ok(())
    }

    /// Holds the end against what must be true of it; what happened, for whoever reads it.
    pub(super) async fn end(mut self) -> Result<String> {
        let fifths = growth::judge(&self.life)?;
        let sent = self.platform.wait_for(PATIENCE, 0, |_| true).await?;
        let answered = self.answers.judge((&self.questions, 0), (&sent, 0))?;
        self.gateway.stop()?;
        // Where the disk of the audit was full, outcomes are missing until the next start settles
        // them.
        self.gateway.launch()?;
        self.gateway.stop()?;
        self.told.hold(&self.gateway)?;
        let turns = self.questions.len();
        let deletions = sent.iter().filter(|message| message.deleted).count();
        let rows = rows::hold(&self.gateway.database()?, turns, deletions)?;
        let audit = self.gateway.verified()?;
        let others = sent.iter().filter(|message| !message.deleted).count() - copies(&answered);
        // A sign of life that nobody knows of is not taken away.
        let unknown = self.tally.unheard + self.tally.kills * PEOPLE;
        ensure!(others <= unknown, "{others} messages that are no answers stayed");
        let files = self.told.files();
        let (seconds, repeats) = (self.began.elapsed().as_secs(), repeats(&answered));
        Ok(format!(
            "{turns} turns in {seconds} s, {files} files; {repeats}; {others} other messages\n{:#?}\n\
             the last part, by fifths, the most in a quiet moment:\n{fifths}rows: {rows}\naudit: {audit}",
            self.tally
        ))
    }
}

/// Whether one of these messages is a whole answer.
fn is_answered((question, asked): (Question, &Written), sent: &[Sent]) -> bool {
    let to_it =
        |sent: &&Sent| (sent.place, sent.reply_to, sent.deleted) == (asked.place, Some(asked.id), false);
    sent.iter().filter(to_it).any(|sent| question.outcome(&sent.text).is_some())
}
