//! Whole turns, from the event to the reply, through the real program between a platform and a
//! model on loopback that answer at once. What is measured is the gateway's own: two processes wake
//! each other, and the disk is real.

use super::watch;
use anyhow::{Context, Result};
use std::time::{Duration, Instant};
use support::discord::GatewayConnection;
use support::home::Home;
use support::llm::{Dialect, LlmServer, Turn};
use support::platform::{Discord, Message, Platform, Sent, Telegram};
use support::postgres::{PostgresServer, new_schema, shared};
use support::serving::Serving;

/// People, each alone with the bot, so that no limit of one chat is met.
const PEOPLE: usize = 1000;
/// People who write at once, over and over.
const AT_ONCE: usize = 20;
const PATIENCE: Duration = Duration::from_secs(120);

/// A running gateway and its servers.
struct Stand<P> {
    platform: P,
    llm: Option<LlmServer>,
    serving: Serving,
    /// Nodes beside it.
    beside: Vec<Serving>,
    /// What it lives in, which is gone with it.
    home: Home,
}

/// A line of the table in `docs/benchmarks.md`: what, its goal, what was measured.
pub(crate) type Row = (String, &'static str, String);

/// Times of turns, and what many sessions hold, on each platform.
pub(crate) async fn measure(turns: usize, at_once: usize) -> Result<Vec<Row>> {
    let mut rows = measure_on::<Telegram>(turns, at_once).await?;
    rows.extend(measure_on::<Discord>(turns, at_once).await?);
    watch::part("connections of Discord");
    rows.extend(connections(turns.min(50)).await?);
    Ok(rows)
}

/// The same turns with the store in SQLite, and in PostgreSQL with one, two and three gateways.
pub(crate) async fn measure_nodes(turns: usize, at_once: usize) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let Some(server) = shared("figures nodes") else { return Ok(rows) };
    let stores =
        ["SQLite", "PostgreSQL, one gateway", "PostgreSQL, two gateways", "PostgreSQL, three gateways"];
    for (nodes, name) in stores.into_iter().enumerate() {
        watch::part(name);
        let schema = new_schema();
        let stand =
            Stand::<Telegram>::start_nodes(Model::Null, (nodes > 0).then_some((server, &*schema, nodes)));
        let stand = stand.await?;
        let before = (nodes > 0).then(|| written(server));
        let (_, replies) = stand.one_by_one(turns).await?;
        rows.push((format!("{name}: update to reply"), "p50 ≤ 3 ms more than SQLite", told(replies)));
        rows.push((format!("{name}: so many people at the same moment"), "", stand.at_once(at_once).await?));
        if let Some(before) = before {
            let now = written(server);
            let each = |n: usize| (now[n] - before[n]) / (turns + turns / 10 + at_once) as f64;
            let (bytes, commits, met) = (each(0), each(1), each(2));
            let connections =
                server.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cofferdam'");
            let said = format!(
                "{bytes:.0} bytes of WAL and {commits:.1} transactions a turn, {met:.1} rolled back, {connections} connections"
            );
            rows.push((format!("{name}: in the server"), "", said));
        }
    }
    Ok(rows)
}

/// Bytes of WAL, transactions, and those that were rolled back, so far.
fn written(server: &PostgresServer) -> [f64; 3] {
    let figure = |query: &str| server.sql(query).parse().expect("a number");
    [
        figure("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"),
        figure("SELECT sum(xact_commit) FROM pg_stat_database"),
        figure("SELECT sum(xact_rollback) FROM pg_stat_database"),
    ]
}

async fn measure_on<P: Platform>(turns: usize, at_once: usize) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut row = |what: &str, goal, told| rows.push((format!("{}: {what}", P::NAME), goal, told));
    for model in [Model::None, Model::Null] {
        let [part, reaction, reply, many] = model.words();
        watch::part(part);
        let stand = Stand::<P>::start(model).await?;
        let (reactions, replies) = stand.one_by_one(turns).await?;
        row(reaction, "", told(reactions));
        row(reply, if model == Model::Null { "p50 ≤ 2.5 ms" } else { "p50 ≤ 3 ms" }, told(replies));
        row(many, "", stand.at_once(at_once).await?);
    }
    watch::part("memory of sessions");
    let held = Stand::<P>::start(Model::Null).await?.sessions(at_once.min(PEOPLE)).await?;
    row("resident memory after one turn of each of so many people", "≤ 25 KiB each", held);
    watch::part("memory over time");
    let held = Stand::<P>::start(Model::Null).await?.over_time(turns * 10).await?;
    row("the same over many turns of a few people", "no growth by the turn", held);
    Ok(rows)
}

/// How long it takes until a Discord bot hears: from exec, and after the connection broke.
async fn connections(rounds: usize) -> Result<Vec<Row>> {
    let mut stand = Stand::<Discord>::start(Model::None).await?;
    let (mut resumed, mut started) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let known = stand.platform.0.connections().len();
        let since = Instant::now();
        stand.platform.0.break_gateway();
        stand.heard_again(known).await?;
        resumed.push(since.elapsed());
    }
    for _ in 0..rounds.min(10) {
        let Stand { platform, llm, serving, beside, home } = stand;
        serving.kill();
        let known = platform.0.connections().len();
        let since = Instant::now();
        stand = Stand { serving: launch(&home, &platform, "a")?, platform, llm, beside, home };
        stand.heard_again(known).await?;
        started.push(since.elapsed());
    }
    // It lets the code of its start go after two seconds.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let idle = stand.memory()? as f64 * 1024.0 / 1e6;
    Ok(vec![
        ("discord: broken connection to resumed".into(), "", told(resumed)),
        ("discord: `serve` from exec to resumed".into(), "", told(started)),
        ("discord: idle memory of `serve`".into(), "≤ 18 MB", format!("{idle:.1} MB")),
    ])
}

fn launch<P: Platform>(home: &Home, platform: &P, node: &str) -> Result<Serving> {
    let mut command = home.command(&["serve"]);
    command.env(P::TOKEN, platform.token());
    if node != "a" {
        command.env("COFFERDAM_CLUSTER_NODE", node);
    }
    Serving::spawn(command, "1:unused")
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

impl Stand<Discord> {
    /// Waits for an open connection beyond those that were there.
    async fn heard_again(&self, known: usize) -> Result<()> {
        let is_new = |one: &GatewayConnection| one.number >= known && one.established && one.closed.is_none();
        self.platform.0.wait_for_connection(PATIENCE, is_new).await?;
        Ok(())
    }
}

impl<P: Platform> Stand<P> {
    async fn start(model: Model) -> Result<Self> {
        Self::start_nodes(model, None).await
    }

    /// With so many nodes that share a schema.
    async fn start_nodes(model: Model, nodes: Option<(&PostgresServer, &str, usize)>) -> Result<Self> {
        let platform = P::start().await?;
        let people: Vec<i64> = (0..PEOPLE).map(P::person).collect();
        let mut home = Home::new().config(&platform.section(&people));
        let mut llm = None;
        if model == Model::Null {
            let server = LlmServer::start().await?;
            server.otherwise(|_| Turn::say("Here is the answer."));
            home = home.model(&server, Dialect::Chat, "");
            llm = Some(server);
        }
        if let Some((server, schema, _)) = nodes {
            home = home.postgres(server, schema);
        }
        let serving = launch(&home, &platform, "a")?.says(P::READY)?;
        let beside = nodes
            .map_or(1..1, |(.., nodes)| 1..nodes)
            .map(|node| launch(&home, &platform, &format!("n{node}"))?.says("another node hears "));
        let beside = beside.collect::<Result<_>>()?;
        Ok(Self { platform, llm, serving, beside, home })
    }

    /// Sends the message of a person; whether one of these messages answers it.
    fn ask(&self, person: usize) -> impl Fn(&Sent) -> bool + use<P> {
        let written = self.platform.write(Message::text(P::person(person % PEOPLE), "hello"));
        let whole = |text: &str| text == "Here is the answer." || text.starts_with("I run commands");
        move |sent| (sent.place, sent.reply_to) == (written.place, Some(written.id)) && whole(&sent.text)
    }

    /// One turn after the other: how long until a person sees anything, and until the answer is
    /// there.
    async fn one_by_one(&self, turns: usize) -> Result<(Vec<Duration>, Vec<Duration>)> {
        let (mut reactions, mut replies) = (Vec::new(), Vec::new());
        for turn in 0..turns + turns / 10 {
            // What the turn before left to be written is not this one's.
            tokio::time::sleep(Duration::from_millis(10)).await;
            let before = self.platform.next_request();
            let sent = self.platform.sent_count();
            let started = Instant::now();
            let is_answer = self.ask(turn);
            self.platform.wait_for(PATIENCE, sent, |newest| newest.iter().any(&is_answer)).await?;
            let replied = started.elapsed();
            let since = self.platform.requests_since(before).into_iter();
            let seen =
                since.filter(|request| P::REACTIONS.contains(&&*request.method)).map(|request| request.at);
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
        let sent = self.platform.sent_count();
        let started = Instant::now();
        self.everybody(turns, sent).await?;
        let seconds = started.elapsed().as_secs_f64();
        self.forget();
        Ok(format!("{:.0} turns/s ({turns} in {seconds:.2} s)", turns as f64 / seconds))
    }

    async fn everybody(&self, turns: usize, sent: usize) -> Result<()> {
        let answers: Vec<_> = (0..turns).map(|person| self.ask(person)).collect();
        // As many messages as turns are looked through once, and not one for each.
        self.platform.wait_for_count(PATIENCE, sent, turns).await?;
        let all = |newest: &[Sent]| answers.iter().all(|is_answer| newest.iter().any(is_answer));
        self.platform.wait_for(PATIENCE, sent, all).await?;
        Ok(())
    }

    /// What the process holds after one turn, and after one of each of many people.
    async fn sessions(&self, people: usize) -> Result<String> {
        self.everybody(1, self.platform.sent_count()).await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let one = self.memory()?;
        self.everybody(people, self.platform.sent_count()).await?;
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
                self.everybody(AT_ONCE, self.platform.sent_count()).await?;
                self.forget();
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            held.push(self.memory()?.to_string());
        }
        Ok(format!("{} KiB ({turns} turns of {AT_ONCE} people, by fifths)", held.join(", ")))
    }

    fn memory(&self) -> Result<u64> {
        super::process::memory_of(&self.serving.pid().to_string(), "VmRSS:")
    }

    fn forget(&self) {
        if let Some(llm) = &self.llm {
            llm.forget();
        }
    }
}

/// The middle and the slow end of some times.
pub(crate) fn told(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    format!("p50 {:.2?}, p99 {:.2?} ({} turns)", at(50), at(99), times.len())
}
