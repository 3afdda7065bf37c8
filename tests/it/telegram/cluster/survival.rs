//! Nodes that are killed, ended, put to sleep and cut off at arbitrary moments, by connections that
//! are closed and by a network that loses what is sent, under clocks that jump, and a server that
//! is gone and whose standby takes its place: each message of Telegram and of Discord is answered
//! in its turn, each file is saved once and whole, what waits for a person goes on once, a schedule
//! leaves out no time, and the audit stays sound.
//!
//! `cargo xtask test` runs short forms; `cargo xtask soak nodes [TURNS [SEED]]` as long a one as
//! wanted. Two nodes are struck; the third one is there all the time, so that it can be said
//! whether it grows. The same seed plans the same; the moments are those of the machine.

mod crowd;
mod minutes;
mod waits;

use super::ways::{Far, Ways};
use super::*;
use crate::soak::clock::Clock;
use crowd::Crowd;
use support::wires::{self, Wires};
use support::workers;
use waits::Waits;

const NODES: [&str; 3] = ["a", "b", "c"];

/// Messages of the short forms on each messenger, and of a round of them.
const MESSAGES: usize = 45;
const ROUND: usize = 5;
/// The same of a long form, at least; fewer do not tell whether something grows.
const LONG: usize = 2000;
const LONG_ROUND: usize = 100;
/// Chats of one person.
const TOPICS: usize = 8;
/// Seconds by which a clock jumps at most, to and fro.
const JUMP_MAX: u64 = 40 * 24 * 60 * 60;
/// Turns that a node or a server which goes away may end; who asked is told so.
const ENDED_MAX: usize = 16;

/// The server that takes changes, the one that has each before it is told, and how each node gets
/// there.
struct Servers {
    primary: PostgresServer,
    standby: PostgresServer,
    ways: Ways,
    /// The way of commands, which are at no wire.
    outside: Relay,
}

impl Servers {
    /// None where they cannot be.
    fn start(test: &str) -> anyhow::Result<Option<Self>> {
        let Some(primary) = PostgresServer::start(test) else { return Ok(None) };
        let standby = primary.add_standby();
        let wires = wires::available("telegram::cluster::survival (a network that loses what is sent)");
        let ways = Ways::start(wires.then(|| Wires::new(&NODES)), &primary, &NODES)?;
        let outside = Relay::start(&primary)?;
        Ok(Some(Self { primary, standby, ways, outside }))
    }

    /// The primary is gone, the standby is promoted, and has one of its own.
    async fn fail_over(&mut self, away: Duration) {
        self.primary.stop();
        tokio::time::sleep(away).await;
        self.standby.promote();
        self.ways.lead_to(&self.standby);
        self.outside.lead_to(&self.standby);
        let next = self.standby.add_standby();
        self.primary = std::mem::replace(&mut self.standby, next);
    }

    /// Starts a node, which goes by this clock.
    fn node(&self, world: &World, name: &'static str, clock: Option<&Clock>) -> anyhow::Result<Serving> {
        let moved = clock.map(Clock::environment).transpose()?;
        let moved: Vec<_> =
            moved.iter().flatten().map(|(variable, value)| (*variable, value.as_str())).collect();
        self.ways.launch(world, name, &moved)
    }
}

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strike {
    Kill,
    Stop,
    Sleep,
    /// Its connections to the database are closed, and new ones, too.
    Close,
    /// What it and these say to each other is lost.
    Lose(&'static [Far]),
}

/// Each kind of strike comes before any comes again.
struct Strikes {
    kinds: Vec<Strike>,
    left: Vec<Strike>,
}

impl Strikes {
    fn of(servers: &Servers) -> Self {
        let mut kinds = vec![Strike::Kill, Strike::Stop, Strike::Sleep, Strike::Close];
        if servers.ways.are_wired() {
            let far: [&[Far]; 3] = [&[Far::Database], &[Far::Messengers], &[Far::Database, Far::Messengers]];
            kinds.extend(far.map(Strike::Lose));
        }
        Self { kinds, left: Vec::new() }
    }

    fn draw(&mut self, random: &mut Random) -> Strike {
        if self.left.is_empty() {
            self.left.clone_from(&self.kinds);
        }
        self.left.swap_remove(random.below(self.left.len() as u64) as usize)
    }
}

/// A node that is struck, and its clock.
struct Struck {
    name: &'static str,
    serving: Serving,
    clock: Option<Clock>,
}

impl Struck {
    fn start(world: &World, name: &'static str, servers: &Servers) -> anyhow::Result<Self> {
        let folder = world.home.dir().join(format!("clock-of-{name}"));
        std::fs::create_dir_all(&folder)?;
        let clock = Clock::make(&folder)?;
        let serving = servers.node(world, name, clock.as_ref())?;
        Ok(Self { name, serving, clock })
    }

    /// Something happens to it, and then it is there again.
    async fn strike(
        self,
        world: &World,
        servers: &Servers,
        (how, random): (Strike, &mut Random),
    ) -> anyhow::Result<Self> {
        let Self { name, mut serving, clock } = self;
        let (relay, long) = (servers.ways.relay(name), LEASE + Duration::from_secs(2));
        if let Some(clock) = &clock {
            clock.jump(i64::try_from(random.below(2 * JUMP_MAX))? - i64::try_from(JUMP_MAX)?)?;
        }
        match how {
            Strike::Kill => drop(serving.kill()),
            Strike::Stop => drop(serving.stop(Signal::TERM, PATIENCE)?),
            Strike::Sleep | Strike::Close | Strike::Lose(_) => {
                match how {
                    Strike::Sleep => serving.signal(Signal::STOP)?,
                    Strike::Lose(far) => servers.ways.cut(name, far),
                    _ => relay.cut(),
                }
                // Perhaps not for so long that others take its work over.
                tokio::time::sleep(if random.below(3) == 0 { LEASE / 3 } else { long }).await;
                match how {
                    Strike::Sleep => serving.signal(Signal::CONT)?,
                    Strike::Lose(far) => servers.ways.mend(name, far),
                    _ => relay.mend(),
                }
                // Who only lost its messengers had its lease all the time.
                let has_lease = how == Strike::Lose(&[Far::Messengers]);
                match serving.wait(if has_lease { Duration::ZERO } else { long }) {
                    Ok(status) => assert_eq!(status.code(), Some(2), "{}", serving.whole_log()),
                    // It was not away for long, or had not joined the others.
                    Err(_) => drop(serving.stop(Signal::TERM, PATIENCE)?),
                }
            }
        }
        let serving = servers.node(world, name, clock.as_ref())?;
        Ok(Self { name, serving, clock })
    }

    /// A signal ends one by itself that has begun just now.
    async fn is_up(&self) {
        let hears = |log: &str, channel: &str, says: &str| {
            log.contains(says) || log.contains(&format!(" hears {channel}-"))
        };
        let is_up = |log: &str| {
            hears(log, "telegram", "polling as ") && hears(log, "discord", "listening on Discord as")
        };
        let since = Instant::now();
        while !is_up(&self.serving.log()) {
            assert!(since.elapsed() < PATIENCE, "a node does not begin: {}", self.serving.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The numbered message, in a chat of its sender.
fn in_chat(n: usize) -> Incoming {
    message(n).thread(i64::try_from(1 + n / PEOPLE.len() % TOPICS).expect("few"))
}

/// The ends of all logs.
fn logs(world: &World, others: &[Struck]) -> String {
    let logs = others.iter().map(|other| other.serving.log()).chain([world.log()]);
    let logs: Vec<String> = logs
        .map(|log| {
            let lines: Vec<_> = log.lines().collect();
            lines[lines.len().saturating_sub(150)..].join("\n")
        })
        .collect();
    logs.join("\n---\n")
}

/// Waits until each message has an answer; of those that have none it tells what the store and the
/// nodes know.
async fn are_answered(
    world: &World,
    servers: &Servers,
    others: &[Struck],
    pushed: &[Pushed],
) -> anyhow::Result<()> {
    for question in pushed {
        let is_it = |sent: &SentMessage| {
            is_answer(sent) && (sent.chat_id, sent.reply_to) == (question.chat_id, Some(question.message_id))
        };
        let Err(error) = world.server.wait_for_message(PATIENCE, is_it).await else { continue };
        let sent = world.server.sent_messages();
        let is_open = |asked: &&Pushed| {
            let to = (asked.chat_id, Some(asked.message_id));
            !sent.iter().any(|sent| is_answer(sent) && (sent.chat_id, sent.reply_to) == to)
        };
        let open: Vec<_> = pushed.iter().filter(is_open).collect();
        let rows = |of: &str| {
            servers.primary.sql(&format!("SELECT row_to_json(row) FROM (SELECT * FROM here.{of}) AS row"))
        };
        let ids: Vec<_> = open.iter().map(|asked| asked.update_id.to_string()).collect();
        let stored = [
            "node",
            "duty",
            "claim",
            "reply WHERE finished_at IS NULL",
            "inbox WHERE done_at IS NULL",
            &format!("inbox WHERE update_id IN ({})", ids.join(", ")),
        ];
        let stored: Vec<_> = stored.into_iter().map(|of| format!("{of}:\n{}", rows(of))).collect();
        anyhow::bail!("{open:?} have no answer\n{}\n{}\n{error}", stored.join("\n"), logs(world, others));
    }
    Ok(())
}

/// Holds the answers on Telegram against what must be true of them: how many turns ended without
/// the database, and how many answers came again.
fn judge(world: &World, pushed: &[Pushed]) -> (usize, usize) {
    let mut sent = world.server.sent_messages();
    // Those who wait are judged by themselves.
    sent.retain(|sent| PEOPLE.contains(&sent.chat_id));
    let mut answers: BTreeMap<_, Vec<&SentMessage>> = BTreeMap::new();
    for sent in &sent {
        answers.entry((sent.chat_id, sent.reply_to)).or_default().push(sent);
    }
    assert_eq!(answers.len(), pushed.len(), "what is no answer was sent");
    let mut ended = 0;
    for (n, question) in pushed.iter().enumerate() {
        let of_it = &answers[&(question.chat_id, Some(question.message_id))];
        if of_it.iter().any(|sent| sent.text.contains("its database")) {
            ended += 1;
        } else if n % 4 > 1 {
            assert!(world.saved(&format!("/shared/{n}")) == content(n), "{n}");
            let said: Vec<_> = of_it.iter().filter(|sent| is_answer(sent)).collect();
            let is_saved = said.iter().all(|sent| sent.text.contains(r#""saved":true"#));
            assert!(!said.is_empty() && is_saved, "{n}: {of_it:?}");
        }
    }
    // Each chat in its order: of each message the first answer counts.
    for chat in 0..PEOPLE.len() * TOPICS {
        let asked: Vec<_> = pushed.iter().skip(chat).step_by(PEOPLE.len() * TOPICS).collect();
        let mut seen = BTreeSet::new();
        let first = sent.iter().filter(|sent| {
            asked.iter().any(|asked| (sent.chat_id, sent.reply_to) == (asked.chat_id, Some(asked.message_id)))
        });
        let order: Vec<_> = first.map(|sent| sent.reply_to).filter(|of| seen.insert(*of)).collect();
        assert_eq!(
            order,
            asked.iter().map(|asked| Some(asked.message_id)).collect::<Vec<_>>(),
            "chat {chat}"
        );
    }
    (ended, sent.len() - answers.len())
}

/// Lives through so many messages on each messenger; the server fails over with each so many
/// rounds.
async fn survives(test: &str, seed: u64, messages: usize, rounds_per_server: usize) -> anyhow::Result<()> {
    let (mut random, began) = (Random(seed), Instant::now());
    let Some(mut servers) = Servers::start(test)? else { return Ok(()) };
    let mut crowd = Crowd::start(&mut servers.ways).await?;
    let url = servers.outside.url();
    let fit = |home: Home, api_url: &str| {
        let home = crowd.fit(waits::fit(cluster(home.postgres_at(&url, "here")), api_url));
        if messages < LONG { home } else { minutes::fit(home) }
    };
    let mut world = servers.ways.world(fit).await?;
    let a = Struck::start(&world, "a", &servers)?;
    a.is_up().await;
    servers.ways.launch_own(&mut world, "b")?;
    world.says("another node hears telegram-")?;
    let mut waits = Waits::new(&world);
    crowd.greet().await?;
    let mut kinds = Strikes::of(&servers);
    let mut others = vec![a, Struck::start(&world, "c", &servers)?];
    let (mut pushed, mut held, mut strikes, mut failovers) = (Vec::new(), Vec::new(), 0, 0);
    let round = if messages < LONG { ROUND } else { LONG_ROUND };
    while pushed.len() < messages {
        // One of each waits for two rounds.
        match pushed.len() / round % 4 {
            0 => waits.begin(&world),
            2 => waits.decide(&world).await?,
            _ => {}
        }
        let next = pushed.len()..pushed.len() + round;
        let (first, first_there) = (next.start, crowd.push(round));
        pushed.extend(world.server.push_all(next.map(in_chat)));
        fault(&world, &mut random);
        crowd.fault(&mut random);
        let target = ["getUpdates", "getFile", "sendChatAction", "sendMessage"][random.below(4) as usize];
        let count = world.server.requests(target).len() + random.below(3) as usize;
        let _ = world.server.wait_for_requests(Duration::from_millis(700), target, count).await;
        if pushed.len() / round % rounds_per_server == rounds_per_server - 1 {
            // One that begins without its server says so and ends.
            for other in &others {
                other.is_up().await;
            }
            servers.fail_over(Duration::from_millis(random.below(2 * LEASE.as_millis() as u64))).await;
            failovers += 1;
        } else {
            let struck = others.remove(random.below(2) as usize);
            let how = kinds.draw(&mut random);
            others.push(struck.strike(&world, &servers, (how, &mut random)).await?);
            strikes += 1;
        }
        if messages >= LONG {
            are_answered(&world, &servers, &others, &pushed[first..]).await?;
            crowd
                .are_answered(first_there)
                .await
                .map_err(|e| anyhow::anyhow!("{e}\n{}", logs(&world, &others)))?;
            held.push(workers::memory(world.serving().pid()).expect("it runs"));
        }
    }
    are_answered(&world, &servers, &others, &pushed).await?;
    crowd.are_answered(0).await.map_err(|e| anyhow::anyhow!("{e}\n{}", logs(&world, &others)))?;
    let mut ended =
        waits.finish(&world).await.map_err(|e| anyhow::anyhow!("{e}\n{}", logs(&world, &others)))?;
    world.server.wait_until_idle(PATIENCE, "sendMessage").await?;
    ended += crowd.judge(&world).await?;
    let (mut minutes, mut ended_minutes) = (0, 0);
    if messages >= LONG {
        (minutes, ended_minutes) = minutes::judge(&world, &servers, strikes + failovers).await?;
    }
    ended += ended_minutes;
    let (ended_here, repeated) = judge(&world, &pushed);
    ended += ended_here;
    assert!(ended <= (strikes + failovers) * ENDED_MAX, "{ended} ended");
    // A node may be struck between a message and its acknowledgement, in each chat.
    assert!(repeated <= (strikes + failovers) * PEOPLE.len() * TOPICS, "{repeated} repeated");
    let fifth = |n: usize| held[held.len() * n / 5..held.len() * (n + 1) / 5].iter().copied().max();
    if let (Some(second), Some(last)) = (fifth(1), fifth(4)) {
        assert!(last <= second + second / 20 + 2048, "memory grows: {held:?} KiB");
    }
    println!(
        "{messages} messages on each of two messengers and three nodes in {} s, seed {seed}: {strikes} strikes, \
         {failovers} failovers, {minutes} minutes of a schedule, {repeated} answers repeated, {ended} turns ended \
         without the database; memory of the third node by fifths {:?} KiB",
        began.elapsed().as_secs(),
        [0, 1, 2, 3, 4].map(fifth)
    );
    for other in &others {
        other.is_up().await;
    }
    let sent = world.server.sent_messages().len();
    end(world, others.into_iter().map(|other| other.serving), sent)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn three_nodes_survive_of_one_kind() -> anyhow::Result<()> {
    survives("telegram::cluster::survival::three_nodes_survive_of_one_kind", 1, MESSAGES, usize::MAX).await
}

/// With servers that fail over; the one that `cargo xtask soak nodes` runs for long.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn three_nodes_survive_of_another_kind() -> anyhow::Result<()> {
    const TEST: &str = "telegram::cluster::survival::three_nodes_survive_of_another_kind";
    let asked = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let messages = asked("SOAK_NODES_TURNS").map(usize::try_from).transpose()?;
    survives(TEST, asked("SOAK_SEED").unwrap_or(2), messages.map_or(MESSAGES, |n| n.max(LONG)), 4).await
}
