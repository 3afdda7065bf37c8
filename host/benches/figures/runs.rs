//! Workflows, through the real program: what a check takes, what a task takes, and what runs cost
//! that wait.

use super::process::{cpu_time_of, memory_of};
use super::turns::{Row, told};
use super::{median, watch};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};
use support::home::Home;
use support::platform::{Message, Platform, Telegram};
use support::runs::multiply;
use support::serving::Serving;
use support::telegram::{Incoming, SentMessage};

const PATIENCE: Duration = Duration::from_secs(120);
/// Runs that wait.
const WAITING: u32 = 10_000;
/// Tasks of a long run.
const TASKS: usize = 60;

const ASK: &str = "workflow: ask\non: { command: ask }\ntasks:\n\
    \x20 - { id: ask, send: { to: \"telegram:5000000002\", text: \"A question\" } }\n\
    \x20 - { id: answer, wait: { reply_to: ask, timeout: 100h } }\n";

/// All of it; few rounds where it only has to work.
pub(crate) async fn measure(quick: bool) -> Result<Vec<Row>> {
    watch::part("checks of workflows");
    let mut rows = checks(if quick { 1 } else { 10 })?;
    watch::part("tasks of a run");
    rows.push(tasks(if quick { 1 } else { 10 })?);
    watch::part("runs that wait");
    rows.extend(waiting(if quick { 10 } else { 300 }, if quick { 100 } else { WAITING }).await?);
    Ok(rows)
}

/// One file that names 100 pictures; and 100 files, by a process each.
fn checks(rounds: usize) -> Result<Vec<Row>> {
    let home = Home::new();
    let folder = home.dir().join("flows");
    std::fs::create_dir_all(folder.join("img"))?;
    for n in 0..100 {
        let picture = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), n.to_string().as_bytes()].concat();
        std::fs::write(folder.join(format!("img/{n:03}.png")), picture)?;
        let text = format!(
            "workflow: w{n}\nagents: [{{ id: a, actions: [{{ id: b, prompt: c, \
             attachments: [{{ type: image, path: img/{n:03}.png }}] }}] }}]\n\
             tasks: [{{ id: t, agent: a, action: b }}]\n"
        );
        std::fs::write(folder.join(format!("w{n}.yaml")), text)?;
    }
    let all = "workflow: all\nagents: [{ id: a, actions: [{ id: b, prompt: c, \
               attachments: [{ type: image, paths: [\"img/*.png\"] }] }] }]\n\
               tasks: [{ id: t, agent: a, action: b }]\n";
    std::fs::write(folder.join("all.yaml"), all)?;
    let check = |name: &str, pictures: usize| -> Result<Duration> {
        let file = folder.join(name);
        let started = Instant::now();
        let ran = home.run(&["workflow", "check", file.to_str().context("text")?]);
        let time = started.elapsed();
        let found = ran.json()["tasks"][0]["attachments"].as_array().map_or(0, Vec::len);
        ensure!(ran.code == Some(0) && found == pictures, "{ran:?}");
        Ok(time)
    };
    let one = (0..rounds).map(|_| check("all.yaml", 100)).collect::<Result<Vec<_>>>()?;
    let (started, mut each) = (Instant::now(), Vec::new());
    for n in 0..100 {
        each.push(check(&format!("w{n}.yaml"), 1)?);
    }
    let all = started.elapsed();
    Ok(vec![
        (
            "`workflow check` of a file that attaches 100 files".into(),
            "≤ 200 ms",
            format!("{:.1?} (median of {rounds}, a process each)", median(one)),
        ),
        (
            "`workflow check` of 100 workflows, a process each".into(),
            "",
            format!("{all:.0?}, {:.1?} each (median)", median(each)),
        ),
    ])
}

/// What a task more costs, its call included: a run of many against one of one.
fn tasks(rounds: usize) -> Result<Row> {
    let home = Home::new();
    let run = |tasks: usize| -> Result<Duration> {
        let mut text = "workflow: w\ntasks:\n".to_owned();
        for n in 0..tasks {
            writeln!(text, "  - {{ id: t{n}, tool: file_info, with: {{ path: /shared }} }}")?;
        }
        let file = home.dir().join("w.yaml");
        std::fs::write(&file, text)?;
        let started = Instant::now();
        let ran = home.run(&["run", file.to_str().context("text")?]);
        let time = started.elapsed();
        ensure!(ran.code == Some(0), "{ran:?}");
        Ok(time)
    };
    let (mut many, mut few) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        few.push(run(1)?);
        many.push(run(TASKS)?);
    }
    let (many, few) = (median(many), median(few));
    let each = many.saturating_sub(few) / u32::try_from(TASKS - 1)?;
    Ok((
        "a task of a run, its call of `file_info` included".into(),
        "≤ 5 ms",
        format!("{each:.2?} ({TASKS} tasks {many:.1?}, one {few:.1?}; medians of {rounds})"),
    ))
}

/// What waiting runs cost: memory, and time of those who write meanwhile.
async fn waiting(turns: usize, runs: u32) -> Result<Vec<Row>> {
    let platform = Telegram::start().await?;
    let people: Vec<i64> = (0..turns.max(2)).map(Telegram::person).collect();
    let home = Home::new().config(&platform.section(&people)).config("[workflows]\ndir = \"offered\"\n");
    std::fs::create_dir(home.dir().join("offered"))?;
    std::fs::write(home.dir().join("offered/ask.yaml"), ASK)?;
    people.iter().for_each(|person| platform.0.open_chat(*person));
    let serving = serve(&home, &platform)?;
    platform.0.push(Incoming::private(people[0]).text("/ask"));
    let asks = |sent: &SentMessage| sent.text == "A question";
    let question = platform.0.wait_for_message(PATIENCE, asks).await?;
    let is_waiting = |sent: &SentMessage| sent.text.contains("waits for");
    platform.0.wait_for_message(PATIENCE, is_waiting).await?;
    // Neither is the process that has just carried the run out.
    serving.kill();
    let serving = serve_quietly(&home, &platform)?;
    let (one, reply_one) = cost(&platform, &serving, &people).await?;
    let idle_one = idle(&serving).await?;
    serving.kill();
    multiply(&home.state().join("cofferdam.db"), runs)?;
    let serving = serve_quietly(&home, &platform)?;
    let (many, reply_many) = cost(&platform, &serving, &people).await?;
    let idle_many = idle(&serving).await?;
    // The reply is found among all of them.
    let sent = platform.0.sent_count();
    let started = Instant::now();
    platform.0.push(Incoming::private(people[1]).text("An answer").reply_to(&question.message));
    let ends =
        |sent: &[SentMessage]| sent.iter().any(|sent| sent.chat_id == people[0] && sent.reply_to.is_some());
    platform.0.wait_for_newest(PATIENCE, sent, ends).await?;
    let resumed = started.elapsed();
    let listed: Value = home.run(&["workflow", "list", "--json"]).json();
    ensure!(listed["runs"].as_array().is_some_and(|runs| !runs.is_empty()), "{listed}");
    serving.kill();
    let mb = |kib: u64| kib as f64 * 1024.0 / 1e6;
    Ok(vec![
        (
            format!("resident memory with {runs} runs that wait"),
            "≤ 20 MB more",
            format!("{:.1} MB more ({:.1} with one)", mb(many.saturating_sub(one)), mb(one)),
        ),
        (
            format!("update to reply with {runs} runs that wait"),
            "as with one",
            format!("{} (with one: {})", told(reply_many), told(reply_one)),
        ),
        (
            format!("processor time a second while nobody writes, with {runs} runs that wait"),
            "as with one",
            format!("{idle_many:.2?} (with one: {idle_one:.2?})"),
        ),
        (
            format!("a reply to the end of its run, among {runs} that wait for the same person"),
            "",
            format!("{resumed:.1?}"),
        ),
    ])
}

/// Once the disk has all that was written: a commit would wait for that too.
fn serve_quietly(home: &Home, platform: &Telegram) -> Result<Serving> {
    ensure!(Command::new("sync").status()?.success(), "sync failed");
    serve(home, platform)
}

fn serve(home: &Home, platform: &Telegram) -> Result<Serving> {
    Serving::launch(home, platform.token(), &[], &[])?.polling()
}

/// What it holds after some turns, in KiB, and what each of these took.
async fn cost(platform: &Telegram, serving: &Serving, people: &[i64]) -> Result<(u64, Vec<Duration>)> {
    let mut times = Vec::new();
    for person in people {
        // What the turn before left to be written is not this one's.
        tokio::time::sleep(Duration::from_millis(10)).await;
        let started = Instant::now();
        let written = platform.write(Message::text(*person, "hello"));
        platform.answer(&written).await?;
        times.push(started.elapsed());
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    Ok((memory_of(&serving.pid().to_string(), "VmRSS:")?, times))
}

/// Processor time of a second in which nobody writes: of ten looks in five seconds.
async fn idle(serving: &Serving) -> Result<Duration> {
    let process = serving.pid().to_string();
    let before = cpu_time_of(&process)?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    Ok(cpu_time_of(&process)?.saturating_sub(before) / 5)
}
