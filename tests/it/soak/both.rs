//! Telegram and Discord side by side, with one gateway: people of either write, and either fails.
//! What one of them counts alone is counted together here, in the order in which it was looked at.

use super::faults::Random;
use super::platforms::{RequestRecord, Soaked};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use support::platform::{Discord, Gate, Message, Platform, Sent, Step, Telegram, Written};

/// How often it is looked whether something has come.
const LOOK: Duration = Duration::from_millis(10);

/// Both.
pub(super) struct Both {
    telegram: Telegram,
    discord: Discord,
    /// How many messages each had sent at each look, and how many requests had come.
    sent: Marks,
    requests: Marks,
}

/// What was counted of both, each time that it was more than before.
#[derive(Default)]
struct Marks(Mutex<Vec<(u64, u64)>>);

impl Marks {
    fn all(&self) -> Vec<(u64, u64)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a look; the sum.
    fn note(&self, counted: (u64, u64)) -> u64 {
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = marks.last().copied().unwrap_or_default();
        // Of two who look at once the later one has seen all that the other one has.
        let counted = (counted.0.max(last.0), counted.1.max(last.1));
        if counted != last {
            marks.push(counted);
        }
        counted.0 + counted.1
    }

    /// What each had at the look with this sum.
    fn at(&self, sum: u64) -> (u64, u64) {
        let found = self.all().into_iter().find(|mark| mark.0 + mark.1 == sum);
        found.unwrap_or_else(|| if sum == 0 { (0, 0) } else { panic!("nobody has counted {sum}") })
    }
}

/// Whether an id of a person or a place is Discord's: a snowflake.
fn is_discords(id: i64) -> bool {
    id > 1 << 50
}

impl Both {
    fn count(&self) -> (u64, u64) {
        (self.telegram.sent_count() as u64, self.discord.sent_count() as u64)
    }

    /// The messages of both from this sum on, in the order of the looks.
    async fn newest(&self, from: usize) -> anyhow::Result<Vec<Sent>> {
        self.sent.note(self.count());
        let (telegrams, discords) = self.sent.at(from as u64);
        let now = Duration::from_secs(1);
        let telegram = self.telegram.wait_for(now, telegrams as usize, |_| true).await?;
        let discord = self.discord.wait_for(now, discords as usize, |_| true).await?;
        let (mut telegram, mut discord) = (telegram.into_iter(), discord.into_iter());
        let mut all = Vec::new();
        let mut before = (telegrams, discords);
        for mark in self.sent.all().into_iter().filter(|mark| mark.0 + mark.1 > from as u64) {
            all.extend(telegram.by_ref().take((mark.0 - before.0) as usize));
            all.extend(discord.by_ref().take((mark.1 - before.1) as usize));
            before = mark;
        }
        // What has come since the look.
        all.extend(telegram);
        all.extend(discord);
        Ok(all)
    }

    /// Each message to its platform; what comes back is in their order.
    fn write_with(
        &self,
        messages: Vec<Message>,
        telegrams: impl FnOnce(Vec<Message>) -> Vec<Written>,
        discords: impl FnOnce(Vec<Message>) -> Vec<Written>,
    ) -> Vec<Written> {
        let to_discord: Vec<bool> = messages.iter().map(|message| is_discords(message.person)).collect();
        let (there, here): (Vec<_>, Vec<_>) =
            messages.into_iter().partition(|message| is_discords(message.person));
        let (mut here, mut there) = (telegrams(here).into_iter(), discords(there).into_iter());
        let next = |is_there: &bool| if *is_there { there.next() } else { here.next() };
        to_discord.iter().map(next).collect::<Option<_>>().expect("one for each")
    }
}

impl Platform for Both {
    const NAME: &'static str = "both";
    const READY: &'static str = Telegram::READY;
    const TOKEN: &'static str = Telegram::TOKEN;
    const PART_MAX: usize = Discord::PART_MAX;
    const REACTIONS: &'static [&'static str] = &[];
    const SENDS_ONCE: bool = false;

    async fn start() -> anyhow::Result<Self> {
        let (telegram, discord) = (Telegram::start().await?, Discord::start().await?);
        Ok(Self { telegram, discord, sent: Marks::default(), requests: Marks::default() })
    }

    fn section(&self, people: &[i64]) -> String {
        let (there, here): (Vec<i64>, Vec<i64>) = people.iter().partition(|person| is_discords(**person));
        self.telegram.section(&here) + &self.discord.section(&there)
    }

    fn token(&self) -> &str {
        self.telegram.token()
    }

    fn secret(&self) -> &str {
        self.telegram.secret()
    }

    /// In turns.
    fn person(number: usize) -> i64 {
        if number.is_multiple_of(2) { Telegram::person(number / 2) } else { Discord::person(number / 2) }
    }

    fn write_all(&self, messages: Vec<Message>) -> Vec<Written> {
        self.write_with(messages, |here| self.telegram.write_all(here), |there| self.discord.write_all(there))
    }

    fn repeat(&self, written: &Written) -> anyhow::Result<()> {
        if is_discords(written.place) { self.discord.repeat(written) } else { self.telegram.repeat(written) }
    }

    fn press(&self, person: i64, below: &Sent, button: usize) -> anyhow::Result<()> {
        match is_discords(person) {
            true => self.discord.press(person, below, button),
            false => self.telegram.press(person, below, button),
        }
    }

    fn hold(&self, step: Step) -> Gate {
        self.telegram.hold(step)
    }

    fn sent_count(&self) -> usize {
        self.sent.note(self.count()) as usize
    }

    async fn wait_for(
        &self,
        time: Duration,
        from: usize,
        mut accept: impl FnMut(&[Sent]) -> bool,
    ) -> anyhow::Result<Vec<Sent>> {
        let began = Instant::now();
        loop {
            let newest = self.newest(from).await?;
            if accept(&newest) {
                return Ok(newest);
            }
            if began.elapsed() > time {
                let told: Vec<_> =
                    newest.iter().map(|sent| (sent.place, sent.reply_to, &sent.text)).collect();
                anyhow::bail!("there is instead: {told:?}");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn wait_for_count(&self, time: Duration, from: usize, count: usize) -> anyhow::Result<()> {
        self.wait_for(time, from, |newest| newest.len() >= count).await.map(drop)
    }

    fn next_request(&self) -> u64 {
        self.requests.note((self.telegram.next_request(), self.discord.next_request()))
    }

    fn requests_since(&self, number: u64) -> Vec<RequestRecord> {
        let (telegrams, discords) = self.requests.at(number);
        [self.telegram.requests_since(telegrams), self.discord.requests_since(discords)].concat()
    }

    fn fetches(&self) -> usize {
        self.telegram.fetches() + self.discord.fetches()
    }

    fn is_code_closed(sent: &Sent) -> bool {
        if is_discords(sent.place) { Discord::is_code_closed(sent) } else { Telegram::is_code_closed(sent) }
    }

    fn violations(&self) -> Vec<String> {
        [self.telegram.violations(), self.discord.violations()].concat()
    }
}

impl Soaked for Both {
    const REQUESTS: &'static [&'static str] =
        &["getUpdates", "getFile", "sendMessage", "typing", "create_message", "gateway"];
    /// Those of either, of which most are shared.
    const TASKS_MAX: u64 = 20;
    const JUMP_MAX: u64 = Discord::JUMP_MAX;

    fn tokens(&self) -> Vec<(&'static str, String)> {
        [self.telegram.tokens(), self.discord.tokens()].concat()
    }

    fn readies() -> Vec<&'static str> {
        [Telegram::readies(), Discord::readies()].concat()
    }

    fn sends_once(place: i64) -> bool {
        is_discords(place)
    }

    fn fail(&self, random: &mut Random) -> String {
        match random.once_in(2) {
            true => format!("telegram {}", self.telegram.fail(random)),
            false => format!("discord {}", self.discord.fail(random)),
        }
    }

    fn clear_faults(&self) {
        self.telegram.clear_faults();
        self.discord.clear_faults();
    }

    fn write_reordered(&self, messages: Vec<Message>, random: &mut Random) -> Vec<Written> {
        let (mut of_one, mut of_other) = (random.row(), random.row());
        self.write_with(
            messages,
            |here| reordered(&self.telegram, here, &mut of_one),
            |there| reordered(&self.discord, there, &mut of_other),
        )
    }

    fn said(request: &RequestRecord) -> Option<(i64, i64, String)> {
        Telegram::said(request).or_else(|| Discord::said(request))
    }

    fn request_count(&self, kind: &str, since: u64) -> usize {
        let (telegrams, discords) = self.requests.at(since);
        match Telegram::REQUESTS.contains(&kind) {
            true => self.telegram.request_count(kind, telegrams),
            false => self.discord.request_count(kind, discords),
        }
    }
}

/// Of nobody there is no other order.
fn reordered<P: Soaked>(platform: &P, messages: Vec<Message>, random: &mut Random) -> Vec<Written> {
    if messages.is_empty() { Vec::new() } else { platform.write_reordered(messages, random) }
}
