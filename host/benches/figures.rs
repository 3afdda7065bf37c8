//! The figures of `docs/benchmarks.md`, each measured through the real gateway in this process, or on the
//! real program. Prints; asserts nothing by the clock.

use anyhow::{Context, Result};
use cofferdam::attachments::{Attachments, Declared, Intake};
use cofferdam::config::Config;
use cofferdam::gateway::{Gateway, Role};
use cofferdam::tools::CallRequest;
use cofferdam_core::id::{Caller, TurnId};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
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

fn main() -> Result<()> {
    // `cargo test --benches` runs this too: then one round of each proves that it still works.
    let quick = std::env::args().any(|a| a == "--test") || cfg!(debug_assertions);
    let home = Home::new().config("[attachments]\nmax_bytes = \"64 MiB\"\nmax_turn_bytes = \"64 MiB\"\n");
    let config = Config::load(Some(&home.config_file()), None, &BTreeMap::new())?;
    let gateway = Gateway::open(&config, Role::Beside)?;
    let bench = Arc::new(Bench { home, config, gateway });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    println!("load average: {}", std::fs::read_to_string("/proc/loadavg")?.trim());
    // Words after `--` choose: reads, many, growth, saves, start. None: all.
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|w| w == name);
    runtime.block_on(async {
        if wanted("reads") {
            bench.small_reads(if quick { 20 } else { 20_000 }).await?;
        }
        if wanted("many") {
            bench.concurrent_reads(if quick { 64 } else { 200_000 }).await?;
        }
        if wanted("growth") {
            bench.no_growth(if quick { 100 } else { 10_000 }).await?;
        }
        if wanted("saves") {
            bench.large_saves(if quick { 1 } else { 15 }).await?;
        }
        if wanted("start") {
            start_and_idle(if quick { 1 } else { 10 }).await?;
        }
        Ok(())
    })
}

impl Bench {
    fn request(&self, n: usize, tool: &str, arguments: String, attachments: Attachments) -> CallRequest {
        let turn = TurnId::new(format!("bench-{n}"));
        CallRequest {
            id: turn.call(0),
            turn,
            caller: Caller { channel: "bench".into(), sender: "0".into() },
            tool: tool.into(),
            arguments: Ok(arguments),
            attachments,
            recent: None,
            report: None,
            journal: None,
            cancel: CancellationToken::new(),
        }
    }

    async fn read(&self, n: usize) -> Result<()> {
        let request =
            self.request(n, "file_read", r#"{"path":"/shared/4k.txt"}"#.into(), Attachments::default());
        let result = self.gateway.toolbox.call(request).await?;
        anyhow::ensure!(result["bytes"] == 4096);
        Ok(())
    }

    /// One caller, one call after the other: schema, judge, sandbox, audit.
    async fn small_reads(&self, count: usize) -> Result<()> {
        std::fs::write(self.home.host("/shared/4k.txt"), "x".repeat(4096))?;
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
        println!("file_read 4 KiB, one caller:   p50 {:?}  p99 {:?}  cpu {cpu:?} a call", at(50), at(99));
        Ok(())
    }

    /// 64 callers at once.
    async fn concurrent_reads(self: &Arc<Self>, count: usize) -> Result<()> {
        let (started, cpu) = (Instant::now(), cpu_time()?);
        let mut callers = tokio::task::JoinSet::new();
        for caller in 0..64 {
            let bench = self.clone();
            callers.spawn(async move {
                for n in 0..count / 64 {
                    bench.read(caller * count + n).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = callers.join_next().await {
            done??;
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

    fn attachment(&self, bytes: &[u8]) -> Attachments {
        let mut intake = Intake::new(&self.gateway.blobs, &self.config.attachments);
        intake.read(Declared::default(), &mut &*bytes);
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

fn native_save(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    File::open(path.parent().context("a parent")?)?.sync_all()?;
    Ok(())
}

/// From exec to the first `getUpdates`, with compiled code in the cache; then what an idle one holds.
async fn start_and_idle(rounds: usize) -> Result<()> {
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
            tokio::time::sleep(Duration::from_secs(1)).await;
            idle = memory_of(&serving.pid().to_string(), "VmRSS:")?;
        }
        serving.kill();
    }
    println!("serve, exec to polling:        {:?} (median of {rounds})", median(starts));
    println!("serve, idle with Telegram:     {:.1} MB resident", idle as f64 * 1024.0 / 1e6);
    Ok(())
}

/// Processor time of this process so far, all threads: says what a call costs on a busy machine too.
fn cpu_time() -> Result<Duration> {
    let mut total = 0;
    for task in std::fs::read_dir("/proc/self/task")? {
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

/// KiB, from `/proc/PID/status`.
fn memory_of(process: &str, what: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(what)).context("a line of it")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
