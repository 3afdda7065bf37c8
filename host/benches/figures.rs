//! The figures of `docs/benchmarks.md`, each measured through the real gateway in this process, or
//! on the real program. Prints; asserts nothing by the clock.

#[path = "figures/runs.rs"]
mod runs;
#[path = "figures/turns.rs"]
mod turns;
#[path = "figures/watch.rs"]
mod watch;

use anyhow::{Context, Result};
use cofferdam::config::Config;
use cofferdam::gateway::{Gateway, Role};
use cofferdam_agent::tools::{CallRequest, follow_work};
use cofferdam_core::id::{Caller, TurnId};
use cofferdam_warden::attachments::{Attachments, DeclaredFile, Intake};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::home::Home;
use support::serving::Serving;
use support::telegram::TelegramServer;
use tokio_util::sync::CancellationToken;

struct Bench {
    home: Home,
    config: Config,
    gateway: Gateway,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:?}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    watch::begin();
    // `cargo test --benches` runs this too: then one round of each proves that it still works.
    let quick = std::env::args().any(|a| a == "--test" || a == "quick") || cfg!(debug_assertions);
    println!("load average: {}", std::fs::read_to_string("/proc/loadavg")?.trim());
    // Words after `--` choose: reads, many, growth, saves, tools, start, turns, nodes, workflows. None:
    // all. With `quick` few rounds of each.
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    const PARTS: [&str; 9] =
        ["reads", "many", "growth", "saves", "tools", "start", "turns", "nodes", "workflows"];
    let asked: Vec<_> = words.iter().filter(|word| PARTS.contains(&word.as_str())).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|word| *word == name);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .on_thread_start(cofferdam_warden::sandbox::workers::run_anywhere)
        .enable_all()
        .build()?;
    if PARTS[..6].iter().any(|part| wanted(part)) {
        println!("\n-- calls");
        let bench = Arc::new(Bench::open()?);
        runtime.block_on(async {
            if wanted("reads") {
                watch::part("reads");
                bench.small_reads(if quick { 20 } else { 20_000 }).await?;
            }
            if wanted("many") {
                watch::part("many");
                bench.concurrent_reads(if quick { 64 } else { 200_000 }).await?;
            }
            if wanted("growth") {
                watch::part("growth");
                bench.no_growth(if quick { 100 } else { 10_000 }).await?;
            }
            if wanted("saves") {
                watch::part("saves");
                bench.large_saves(if quick { 1 } else { 15 }).await?;
            }
            if wanted("start") {
                watch::part("new workers");
                bench.new_workers(if quick { 1 } else { 20 }).await?;
            }
            if wanted("tools") {
                watch::part("tools");
                bench.many_files(if quick { 1 } else { 1000 }, if quick { 1 } else { 5 }).await?;
                bench.large_edit(if quick { 1 } else { 9 }).await?;
            }
            anyhow::Ok(())
        })?;
        watch::part("the end of the gateway");
    }
    if wanted("start") || wanted("turns") {
        println!("\n-- program");
        watch::part("start");
        let (start, idle) = runtime.block_on(start_and_idle(if quick { 1 } else { 10 }))?;
        println!("serve, exec to polling:        {start:?} (median)");
        println!("serve, idle with Telegram:     {idle:.1} MB resident");
        if wanted("turns") {
            println!("\n-- turns");
            let (turns, at_once) = if quick { (10, 20) } else { (300, 1000) };
            let mut rows = runtime.block_on(turns::measure(turns, at_once))?;
            rows.push((
                "telegram: `serve` from exec to its first poll, warm compile cache".into(),
                "< 50 ms",
                format!("{start:.1?}"),
            ));
            rows.push(("telegram: idle memory of `serve`".into(), "≤ 18 MB", format!("{idle:.1} MB")));
            print_rows(rows);
        }
    }
    if wanted("nodes") {
        println!("\n-- nodes");
        let (turns, at_once) = if quick { (5, 20) } else { (200, 500) };
        print_rows(runtime.block_on(turns::measure_nodes(turns, at_once))?);
    }
    if wanted("workflows") {
        println!("\n-- workflows");
        print_rows(runtime.block_on(runs::measure(quick))?);
    }
    watch::part("the end of the program");
    Ok(())
}

fn print_rows(rows: Vec<turns::Row>) {
    println!("\n| What | Goal | Measured |\n|---|---|---|");
    for (what, goal, measured) in rows {
        println!("| {what} | {goal} | {measured} |");
    }
}

impl Bench {
    fn open() -> Result<Self> {
        let attachments = "[attachments]\nmax_bytes = \"64 MiB\"\nmax_turn_bytes = \"64 MiB\"\n";
        let home = Home::new().config(attachments);
        let config = Config::load(Some(&home.config_file()), None, &BTreeMap::new())?;
        let gateway = Gateway::open(&config, Role::Serve)?;
        std::fs::write(home.host("/shared/4k.txt"), "x".repeat(4096))?;
        Ok(Self { home, config, gateway })
    }

    fn request(&self, n: usize, tool: &str, arguments: String, attachments: Attachments) -> CallRequest {
        let turn = TurnId::new(format!("bench-{n}"));
        CallRequest {
            printed: None,
            id: turn.call(0),
            turn,
            caller: Caller { channel: "bench".into(), sender: "0".into() },
            client: None,
            tool: tool.into(),
            arguments: Ok(arguments),
            attachments,
            session: None,
            recent: None,
            report: None,
            journal: None,
            messaging: None,
            approver: None,
            cancel: CancellationToken::new(),
        }
    }

    async fn read(&self, n: usize) -> Result<()> {
        let request =
            self.request(n, "file_read", r#"{"path":"/shared/4k.txt"}"#.into(), Attachments::default());
        let result = self.gateway.toolbox.call(request).await?.result;
        anyhow::ensure!(result["bytes"] == 4096);
        Ok(())
    }

    /// One caller, one call after the other: schema, judge, sandbox, audit.
    async fn small_reads(self: &Arc<Self>, count: usize) -> Result<()> {
        let bench = self.clone();
        // As a turn is run.
        let reads = follow_work(async move { bench.one_after_the_other(count).await });
        reads.await.map_err(|_| anyhow::anyhow!("it panicked"))?
    }

    async fn one_after_the_other(&self, count: usize) -> Result<()> {
        for n in 0..count / 10 {
            self.read(n).await?;
        }
        let mut times = Vec::with_capacity(count);
        let cpu = cpu_time()?;
        for n in 0..count {
            let started = Instant::now();
            self.read(n).await?;
            times.push(started.elapsed());
        }
        let cpu = (cpu_time()? - cpu) / u32::try_from(count)?;
        times.sort();
        let at = |p: usize| times[(times.len() - 1) * p / 100];
        let mut native = Vec::with_capacity(count);
        for _ in 0..count {
            let started = Instant::now();
            let mut file = File::open(self.home.host("/shared/4k.txt"))?;
            let mut bytes = Vec::with_capacity(usize::try_from(file.metadata()?.len())?);
            file.read_to_end(&mut bytes)?;
            native.push(started.elapsed());
        }
        println!(
            "open, fstat, read, close:      p50 {:?} (natively, to tell this machine's pace)",
            median(native)
        );
        println!("file_read 4 KiB:   p50 {:?}  p99 {:?}  cpu {cpu:?} a call", at(50), at(99));
        Ok(())
    }

    /// 64 callers at once.
    async fn concurrent_reads(self: &Arc<Self>, count: usize) -> Result<()> {
        let (started, cpu) = (Instant::now(), cpu_time()?);
        let mut callers = tokio::task::JoinSet::new();
        for caller in 0..64 {
            let bench = self.clone();
            callers.spawn(follow_work(async move {
                for n in 0..count / 64 {
                    bench.read(caller * count + n).await?;
                }
                anyhow::Ok(())
            }));
        }
        while let Some(done) = callers.join_next().await {
            done?.map_err(|_| anyhow::anyhow!("it panicked"))??;
        }
        let seconds = started.elapsed().as_secs_f64();
        let cpu = (cpu_time()? - cpu) / u32::try_from(count)?;
        println!("file_read 4 KiB, 64 callers:   {:.0} calls/s  cpu {cpu:?} a call", count as f64 / seconds);
        Ok(())
    }

    async fn no_growth(&self, count: usize) -> Result<()> {
        let before = memory("VmRSS:")?;
        for n in 0..count {
            self.read(n).await?;
        }
        let after = memory("VmRSS:")?;
        let descriptors = std::fs::read_dir("/proc/self/fd")?.count();
        println!(
            "{count} further calls:          resident {before} KiB -> {after} KiB, {descriptors} descriptors"
        );
        Ok(())
    }

    /// A call in a worker that has just been started, against one in a worker that was there; and
    /// what an idle worker holds.
    async fn new_workers(&self, rounds: usize) -> Result<()> {
        let (mut fresh, mut warm) = (Vec::new(), Vec::new());
        for n in 0..rounds {
            // Until none runs, since one more may just be being started.
            while let Some(pid) = children()?.into_iter().find(|pid| !has_ended(*pid)) {
                match rustix::process::kill_process(pid, rustix::process::Signal::KILL) {
                    Ok(()) | Err(rustix::io::Errno::SRCH) => tokio::task::yield_now().await,
                    Err(error) => return Err(error.into()),
                }
            }
            for times in [&mut fresh, &mut warm] {
                let started = Instant::now();
                self.read(n).await?;
                times.push(started.elapsed());
            }
        }
        println!(
            "a call in a new worker:        {:?} (median of {rounds}; in one that was there {:?})",
            median(fresh),
            median(warm)
        );
        for pid in children()?.into_iter().filter(|pid| !has_ended(*pid)) {
            let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", pid.as_raw_nonzero()))?;
            let kib = |what: &str| -> u64 {
                let lines = rollup.lines().filter_map(|line| line.strip_prefix(what));
                lines.filter_map(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok()).sum()
            };
            println!(
                "  an idle worker:              {} KiB resident, {} KiB in proportion, {} KiB of its own",
                kib("Rss:"),
                kib("Pss:"),
                kib("Private_Dirty:") + kib("Private_Clean:")
            );
        }
        Ok(())
    }

    async fn call(&self, n: usize, tool: &str, arguments: String) -> Result<(serde_json::Value, Duration)> {
        let started = Instant::now();
        let result =
            self.gateway.toolbox.call(self.request(n, tool, arguments, Attachments::default())).await?.result;
        Ok((result, started.elapsed()))
    }

    /// `folders` of 100 small files each: searched, against ripgrep where there is one, and listed
    /// page by page.
    async fn many_files(&self, folders: usize, rounds: usize) -> Result<()> {
        for folder in 0..folders {
            let dir = self.home.host(&format!("/shared/tree/d{folder:04}"));
            std::fs::create_dir_all(&dir)?;
            for file in 0..100 {
                let needle = if file == 50 { "the needle is here\n" } else { "" };
                std::fs::write(
                    dir.join(format!("f{file:03}.txt")),
                    format!("line one of {file}\n{needle}{}", "some words of a text\n".repeat(10)),
                )?;
            }
        }
        let (mut ours, mut native) = (Vec::new(), Vec::new());
        for n in 0..rounds {
            let arguments = r#"{"path":"/shared/tree","pattern":"no such needle"}"#.to_owned();
            let (result, time) = self.call(n, "file_search", arguments).await?;
            anyhow::ensure!(result["files_searched"] == folders * 100, "{result}");
            ours.push(time);
            let started = Instant::now();
            let ripgrep = std::process::Command::new("rg")
                .args(["--no-config", "--no-ignore", "-j", "1", "-F", "no such needle"])
                .arg(self.home.host("/shared/tree"))
                .output();
            if ripgrep.is_ok_and(|ran| ran.status.code() == Some(1)) {
                native.push(started.elapsed());
            }
        }
        let ours = median(ours);
        match native.is_empty() {
            true => println!(
                "file_search, {} files:      {ours:?} (no ripgrep here to compare with)",
                folders * 100
            ),
            false => {
                let native = median(native);
                let ratio = ours.as_secs_f64() / native.as_secs_f64();
                println!(
                    "file_search, {} files:      {ours:?} against ripgrep on one thread {native:?}; ratio {ratio:.1}",
                    folders * 100
                );
            }
        }
        let (started, mut listed, mut cursor, mut pages) = (Instant::now(), 0, serde_json::Value::Null, 0);
        loop {
            let mut arguments =
                serde_json::json!({ "path": "/shared/tree", "recursive": true, "limit": 1000 });
            if !cursor.is_null() {
                arguments["cursor"] = cursor;
            }
            let (mut result, _) = self.call(pages, "file_list", arguments.to_string()).await?;
            listed += result["entries"].as_array().map_or(0, Vec::len);
            pages += 1;
            cursor = result["cursor"].take();
            if cursor.is_null() {
                break;
            }
        }
        anyhow::ensure!(listed == folders * 101, "{listed} entries");
        println!("file_list, {listed} entries:   {:?} in {pages} pages", started.elapsed());
        Ok(())
    }

    /// One line in the middle of 10 MB is replaced and replaced back.
    async fn large_edit(&self, rounds: usize) -> Result<()> {
        let line = "some words of a text that is long\n";
        let half = line.repeat(5_000_000 / line.len());
        std::fs::write(self.home.host("/shared/large.txt"), format!("{half}before\n{half}"))?;
        let mut times = Vec::new();
        for n in 0..rounds {
            let (old, new) = if n % 2 == 0 { ("before", "after") } else { ("after", "before") };
            let edits =
                serde_json::json!([{ "old_text": format!("\n{old}\n"), "new_text": format!("\n{new}\n") }]);
            let arguments = serde_json::json!({ "path": "/shared/large.txt", "edits": edits });
            times.push(self.call(n, "file_edit", arguments.to_string()).await?.1);
        }
        println!("file_edit of 10 MB:            {:?} (median of {rounds})", median(times));
        Ok(())
    }

    fn attachment(&self, bytes: &[u8]) -> Attachments {
        let mut intake = Intake::new(&self.gateway.blobs, &self.config.attachments);
        intake.read(DeclaredFile::default(), &mut &*bytes);
        intake.finish()
    }

    /// 40 MiB through the tool against write + fsync + rename + fsync of the folder, in turn.
    async fn large_saves(&self, rounds: usize) -> Result<()> {
        let bytes: Vec<u8> = (0..40u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
        let attachments = self.attachment(&bytes);
        let (mut ours, mut native, mut extra) = (Vec::new(), Vec::new(), 0);
        for n in 0..rounds {
            let path = self.home.host(&format!("/shared/native-{n}"));
            let started = Instant::now();
            native_save(&path, &bytes)?;
            native.push(started.elapsed());
            let arguments = format!(r#"{{"index":0,"path":"/shared/ours-{n}"}}"#);
            let request = self.request(n, "attachment_save", arguments, attachments.clone());
            std::fs::write("/proc/self/clear_refs", "5")?;
            let before = memory("VmRSS:")?;
            let started = Instant::now();
            self.gateway.toolbox.call(request).await?;
            ours.push(started.elapsed());
            extra = extra.max(memory("VmHWM:")?.saturating_sub(before));
            for name in [format!("/shared/native-{n}"), format!("/shared/ours-{n}")] {
                std::fs::remove_file(self.home.host(&name))?;
            }
        }
        let mut ratios: Vec<f64> =
            ours.iter().zip(&native).map(|(o, n)| o.as_secs_f64() / n.as_secs_f64()).collect();
        ratios.sort_by(f64::total_cmp);
        println!(
            "attachment_save 40 MiB:        {:?} against native {:?}; ratio {:.2} (median of {rounds} pairs)",
            median(ours),
            median(native),
            ratios[ratios.len() / 2]
        );
        println!("  memory on top of the bytes:  {extra} KiB at most");
        Ok(())
    }
}

/// The processes that this one has started.
fn children() -> Result<Vec<rustix::process::Pid>> {
    let mut found = Vec::new();
    for task in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(task?.path().join("children")).unwrap_or_default();
        let pids = text.split_whitespace().filter_map(|pid| pid.parse().ok());
        found.extend(pids.filter_map(rustix::process::Pid::from_raw));
    }
    Ok(found)
}

fn native_save(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    File::open(path.parent().context("a parent")?)?.sync_all()?;
    Ok(())
}

/// From exec to the first `getUpdates`, with compiled code in the cache; then what an idle one
/// holds, in MB.
async fn start_and_idle(rounds: usize) -> Result<(Duration, f64)> {
    let server = TelegramServer::start().await?;
    let home = Home::new().telegram(&server.api_url(), &[1]);
    let (mut starts, mut idle) = (Vec::new(), 0);
    for n in 0..rounds {
        let polls = server.requests("getUpdates").len();
        let started = Instant::now();
        let serving = Serving::launch(&home, server.token(), &[], &[])?;
        server.wait_for_requests(Duration::from_secs(30), "getUpdates", polls + 1).await?;
        starts.push(started.elapsed());
        if n + 1 == rounds {
            tokio::time::sleep(Duration::from_secs(5)).await;
            idle = memory_of(&serving.pid().to_string(), "VmRSS:")?;
        }
        serving.kill();
    }
    Ok((median(starts), idle as f64 * 1024.0 / 1e6))
}

/// Processor time of this process and its workers so far, all threads: says what a call costs on a
/// busy machine too.
fn cpu_time() -> Result<Duration> {
    // Of workers that have ended: `cutime` and `cstime` of proc(5), in hundredths of a second.
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(13).take(2);
    let ended: u64 = fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    let mut total = cpu_time_of("self")? + Duration::from_millis(ended * 10);
    for task in std::fs::read_dir("/proc/self/task")? {
        let children = std::fs::read_to_string(task?.path().join("children")).unwrap_or_default();
        for worker in children.split_whitespace() {
            total += cpu_time_of(worker).unwrap_or_default();
        }
    }
    Ok(total)
}

/// The same of another process.
fn cpu_time_of(process: &str) -> Result<Duration> {
    let mut total = 0;
    for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let stat = std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        total += stat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(total))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn memory(what: &str) -> Result<u64> {
    memory_of("self", what)
}

/// Whether a process is gone, or only waits to be asked how it ended.
fn has_ended(pid: rustix::process::Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()));
    status.map_or(true, |status| status.contains("State:\tZ"))
}

/// KiB, from `/proc/PID/status`.
fn memory_of(process: &str, what: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(what)).context("a line of it")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
