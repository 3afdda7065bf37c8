//! A gateway between a platform and the people whom runs ask, and the waves that it lives through.

use super::asked::{AGREE, ASK, Asked, Begun, Fate, PEOPLE, REPLIES_MAX, SEND};
use super::audited;
use super::copies::Copies;
use crate::soak::faults::{Random, moment};
use crate::soak::gateway::Gateway;
use crate::soak::platforms::Soaked;
use crate::soak::rows;
use anyhow::{Context, Result, ensure};
use std::time::{Duration, Instant};
use support::home::Home;
use support::platform::{Platform, Sent, Telegram, Written};
use support::telegram::{Incoming, Pushed, SentMessage};

/// Longer than a wave takes that is not stuck: pauses between attempts add up.
const PATIENCE: Duration = Duration::from_secs(180);
const CONFIG: &str = "[metrics]\nlisten = \"127.0.0.1:0\"\n[workflows]\ndir = \"offered\"\n";
/// Longer than who does not reply is waited for.
const DAYS: i64 = 2 * 24 * 60 * 60;
/// By so much the clock is set at most while the gateway runs, to and fro.
const SET_MAX: u64 = 6 * 60 * 60;
/// Tasks of what goes on with runs, beside those of the channel.
const TASKS_MORE: u64 = 2;

pub(super) struct Stand {
    platform: Telegram,
    gateway: Gateway,
    begun: Vec<Begun>,
    copies: Copies,
    /// What the clock is ahead by.
    ahead: i64,
    tally: Tally,
    began: Instant,
}

/// What has happened.
#[derive(Debug, Default)]
struct Tally {
    waves: usize,
    days: i64,
    clock_set: usize,
    platform_faults: usize,
    /// Messages of people that came once more, or out of order.
    doubled: usize,
    reordered: usize,
    replies: usize,
    answered: usize,
    denied: usize,
    silent: usize,
    cancelled: usize,
    /// Messages that are out more than once, where nobody could know.
    repeats: usize,
}

impl Stand {
    pub(super) async fn start(runs: usize) -> Result<Self> {
        let platform = Telegram::start().await?;
        let people: Vec<i64> = (0..PEOPLE).map(Telegram::person).collect();
        people.iter().for_each(|person| platform.0.open_chat(*person));
        let home = Home::new().config(&platform.section(&people)).config(CONFIG);
        let offered = home.dir().join("offered");
        std::fs::create_dir(&offered)?;
        for (name, text) in [("ask", ASK), ("send", SEND), ("agree", AGREE)] {
            std::fs::write(offered.join(format!("{name}.yaml")), text)?;
        }
        let gateway = Gateway::start(home, &platform, runs * 4)?.with_tasks(TASKS_MORE);
        let (begun, copies, ahead) = (Vec::new(), Copies::default(), 0);
        Ok(Self { platform, gateway, begun, copies, ahead, tally: Tally::default(), began: Instant::now() })
    }

    /// Runs that were begun.
    pub(super) fn begun(&self) -> usize {
        self.begun.len()
    }

    /// The end of the log, for who reads a failed soak.
    pub(super) fn tail(&self) -> String {
        self.gateway.tail()
    }

    /// Some runs, some faults, all ends, and then rest. In the first wave nothing fails.
    pub(super) async fn wave(&mut self, random: &mut Random, runs: usize) -> Result<()> {
        self.tally.waves += 1;
        let is_rough = self.tally.waves > 1;
        let days = is_rough && self.gateway.clock().is_some() && random.once_in(3);
        let (first, from, request) =
            (self.begun.len(), self.platform.sent_count(), self.platform.next_request());
        if is_rough {
            for _ in 0..random.below(4) {
                self.platform.fail(random);
                self.tally.platform_faults += 1;
            }
            if !days && random.once_in(3) {
                let to_and_fro = i64::try_from(random.below(2 * SET_MAX))? - i64::try_from(SET_MAX)?;
                self.set_clock(to_and_fro)?;
                self.tally.clock_set += 1;
            }
        }
        self.begin(random, runs, days)?;
        if is_rough && random.once_in(2) {
            self.kill(random, 0).await?;
        }
        let wave = self.begun[first..].to_vec();
        self.wait(from, "questions", &wave, |one, sent| !questions(one, sent).is_empty()).await?;
        let awaited: Vec<_> = wave.iter().filter(|one| one.asked.is_awaited_waiting()).cloned().collect();
        self.wait(from, "waiting", &awaited, |one, sent| acknowledgement(one, sent).is_some()).await?;
        self.act(random, &wave, from)?;
        if days {
            self.kill(random, DAYS).await?;
        } else if is_rough && random.once_in(2) {
            self.kill(random, 0).await?;
        }
        self.wait(from, "ends", &wave, |one, sent| !ends(one, sent).is_empty()).await?;
        self.gateway.rest().await?;
        self.copies.note(&self.platform.requests_since(request));
        self.platform.clear_faults();
        self.judge(&wave, from).await?;
        self.gateway.has_not_panicked()
    }

    /// People begin runs, out of order, some of them twice.
    fn begin(&mut self, random: &mut Random, runs: usize, days: bool) -> Result<()> {
        let first = self.begun.len();
        let asked: Vec<_> = (first..first + runs).map(|n| Asked::next(n, random, days)).collect();
        let messages = asked.iter().map(Asked::message).collect();
        let written = if random.once_in(2) {
            self.tally.reordered += 1;
            self.platform.write_reordered(messages, random)
        } else {
            self.platform.write_all(messages)
        };
        for _ in 0..random.below(4) {
            self.platform.repeat(&random.one_of(&written))?;
            self.tally.doubled += 1;
        }
        self.begun.extend(asked.into_iter().zip(written).map(|(asked, written)| Begun { asked, written }));
        Ok(())
    }

    /// What people do with the questions: they reply, twice or thrice, press, cancel, or nothing;
    /// all of it comes out of order, and some of it again.
    fn act(&mut self, random: &mut Random, wave: &[Begun], from: usize) -> Result<()> {
        let sent = self.platform.0.sent_messages();
        let newest = sent.get(from..).unwrap_or_default();
        let mut incoming = Vec::new();
        for one in wave {
            let of_it: Vec<_> = newest.iter().filter(|message| is_question(one, message)).collect();
            let question = random.one_of(&of_it);
            let is_pressed = one.asked.workflow == "agree";
            match one.asked.fate {
                Fate::Silence | Fate::Cancelled => {}
                fate if is_pressed => {
                    let rows = &question.message["reply_markup"]["inline_keyboard"];
                    let button = usize::from(fate == Fate::Denied);
                    // Of copies that nobody knows of, one may have no buttons any more.
                    if let Some(data) = rows[0][button]["callback_data"].as_str() {
                        let person = Telegram::person(one.asked.to);
                        incoming.push(Incoming::callback(person, &question.message, data));
                    }
                }
                _ => {
                    for which in 0..1 + random.below(REPLIES_MAX as u64) as usize {
                        let reply = Incoming::private(Telegram::person(one.asked.to));
                        let reply = reply.text(&one.asked.reply(which)).reply_to(&question.message);
                        incoming.push(reply);
                        self.tally.replies += 1;
                    }
                }
            }
        }
        let pushed = self.push_reordered(random, incoming);
        for _ in 0..random.below(6) {
            let again = pushed.get(random.below(pushed.len() as u64) as usize).context("some")?;
            self.platform.0.redeliver(again.update_id)?;
            self.tally.doubled += 1;
        }
        for one in wave.iter().filter(|one| matches!(one.asked.fate, Fate::Cancelled | Fate::Contested)) {
            let newest: Vec<_> = newest.iter().map(sent_of).collect();
            let run = acknowledgement(one, &newest).context("it waits")?;
            let ran = self.gateway.command(&["workflow", "cancel", &run])?;
            let is_too_late = one.asked.fate == Fate::Contested && ran.code == Some(1);
            ensure!(ran.code == Some(0) || is_too_late, "{ran:?}");
        }
        Ok(())
    }

    /// Updates whose numbers say another order than they come in. All of them are above those of
    /// before, as a platform's are: a poll confirms what is below what it asks for.
    fn push_reordered(&self, random: &mut Random, incoming: Vec<Incoming>) -> Vec<Pushed> {
        if incoming.is_empty() {
            return Vec::new();
        }
        let base = 800_000_000 + i64::try_from(self.platform.next_request()).expect("few") * 100;
        let shift = random.below(incoming.len() as u64) as usize;
        let ids: Vec<i64> = (base..).take(incoming.len()).collect();
        let shifted = ids.iter().cycle().skip(shift);
        self.platform.0.push_all(incoming.into_iter().zip(shifted).map(|(one, id)| one.update_id(*id)))
    }

    /// Kills the gateway at some moment; so many seconds go by before the next one is up.
    async fn kill(&mut self, random: &mut Random, seconds: i64) -> Result<()> {
        moment(&self.platform, random).await;
        self.gateway.kill();
        let dead = self.platform.sent_count();
        if seconds > 0 {
            self.set_clock(seconds)?;
            self.tally.days += seconds / (24 * 60 * 60);
        }
        self.gateway.launch()?;
        self.copies.killed(dead, self.platform.sent_count());
        Ok(())
    }

    fn set_clock(&mut self, by: i64) -> Result<()> {
        self.ahead += by;
        self.gateway.clock().map_or(Ok(()), |clock| clock.jump(self.ahead))
    }

    /// Waits until this holds of each of these runs.
    async fn wait(
        &self,
        from: usize,
        what: &str,
        wave: &[Begun],
        holds: impl Fn(&Begun, &[Sent]) -> bool,
    ) -> Result<()> {
        let all = |newest: &[Sent]| wave.iter().all(|one| holds(one, newest));
        let waited = self.platform.wait_for(PATIENCE, from, all).await;
        if let Err(error) = waited {
            let newest = self.platform.wait_for(PATIENCE, from, |_| true).await?;
            let missing: Vec<_> = wave.iter().filter(|one| !holds(one, &newest)).collect();
            return Err(error.context(format!("{what}: {missing:?}")));
        }
        Ok(())
    }

    /// Holds what came of each run against what may.
    async fn judge(&mut self, wave: &[Begun], from: usize) -> Result<()> {
        let sent = self.platform.wait_for(PATIENCE, from, |_| true).await?;
        for one in wave {
            let place = |found: Vec<&'_ Sent>| -> Vec<(usize, Sent)> {
                let is_it =
                    |message: &&Sent| found.iter().any(|f| (f.place, f.id) == (message.place, message.id));
                (from..)
                    .zip(&sent)
                    .filter(|(_, message)| is_it(message))
                    .map(|(n, m)| (n, m.clone()))
                    .collect()
            };
            let mut repeats = 0;
            for (what, found) in [
                (one.asked.question(), place(questions(one, &sent))),
                (format!("the end of {:?}", one.asked), place(ends(one, &sent))),
            ] {
                let found: Vec<_> = found.iter().map(|(n, message)| (*n, message)).collect();
                let text = &found.first().context("it was waited for")?.1.text;
                let same = found.iter().all(|(_, message)| message.text == *text);
                ensure!(same || what.starts_with("question"), "{what} is told in two ways: {found:?}");
                repeats += self.copies.judge(&what, &found)?;
            }
            self.tally.repeats += repeats;
            let end = &ends(one, &sent)[0].text;
            let resumed = one.asked.resumed_by(end)?;
            let file = self.gateway.seen(self.gateway.home.host(&one.asked.path()));
            let written = std::fs::read_to_string(file).ok();
            match (&resumed, &written) {
                (Some(text), written) => {
                    ensure!(*written == Some(format!("{text};")), "{one:?}: {written:?}");
                    self.tally.answered += 1;
                }
                // It may have been cancelled behind the reply.
                (None, Some(_)) => ensure!(one.asked.fate == Fate::Contested, "{one:?}: {written:?}"),
                (None, None) => {}
            }
            self.tally.denied += usize::from(end.starts_with("approval_denied"));
            self.tally.cancelled += usize::from(end.starts_with("cancelled"));
            self.tally.silent += usize::from(one.asked.fate == Fate::Silence);
        }
        Ok(())
    }

    /// Holds the end against what must be true of it; what happened, for who reads it.
    pub(super) fn end(mut self) -> Result<String> {
        self.gateway.stop()?;
        let runs = self.begun.len();
        let messages = runs * (2 + REPLIES_MAX);
        let rows = rows::hold(&self.gateway.database()?, messages, 0)?;
        let state = self.gateway.seen(self.gateway.home.state());
        let audited = audited::hold(&state, runs, self.copies.kills())?;
        let audit = self.gateway.verified()?;
        Ok(format!(
            "{runs} runs in {} s, {} kills\n{:#?}\naudit: {audited}; {audit}\nrows: {rows}",
            self.began.elapsed().as_secs(),
            self.copies.kills(),
            self.tally
        ))
    }
}

/// The messages by which a run asks.
fn questions<'a>(one: &Begun, sent: &'a [Sent]) -> Vec<&'a Sent> {
    let to = Telegram::person(one.asked.to);
    // Who has decided sees that behind the question.
    let is_it = |text: &str| text.lines().next() == Some(one.asked.question().as_str());
    sent.iter().filter(|message| message.place == to && is_it(&message.text)).collect()
}

fn is_question(one: &Begun, message: &SentMessage) -> bool {
    !questions(one, &[sent_of(message)]).is_empty()
}

/// The messages that answer the one that began a run, but for signs of life.
fn answers<'a>(one: &Begun, sent: &'a [Sent]) -> impl Iterator<Item = &'a Sent> {
    let Written { place, id, .. } = one.written;
    sent.iter()
        .filter(move |message| (message.place, message.reply_to) == (place, Some(id)))
        .filter(|message| message.is_whole())
}

fn is_acknowledgement(message: &Sent) -> bool {
    message.text.contains(" waits for ") && message.text.ends_with("its answer comes here.")
}

/// The id of a run that is known to wait.
fn acknowledgement(one: &Begun, sent: &[Sent]) -> Option<String> {
    let said = answers(one, sent).find(|message| is_acknowledgement(message))?;
    Some(said.text.split(' ').next()?.to_owned())
}

/// The messages that tell the end of a run.
fn ends<'a>(one: &Begun, sent: &'a [Sent]) -> Vec<&'a Sent> {
    answers(one, sent).filter(|message| !is_acknowledgement(message)).collect()
}

/// What is looked at of a message.
fn sent_of(message: &SentMessage) -> Sent {
    Sent {
        place: message.chat_id,
        id: message.message_id,
        reply_to: message.reply_to,
        text: message.text.clone(),
        source: String::new(),
        files: Vec::new(),
        buttons: Vec::new(),
        deleted: message.deleted,
    }
}
