//! The figures of `docs/benchmarks.md`, each measured through the real gateway in this process, or
//! on the real program. Prints; asserts nothing by the clock.

#[path = "figures/calls.rs"]
mod calls;
#[path = "figures/process.rs"]
mod process;
#[path = "figures/runs.rs"]
mod runs;
#[path = "figures/turns.rs"]
mod turns;
#[path = "figures/watch.rs"]
mod watch;

use anyhow::Result;
use calls::Bench;
use process::memory_of;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::home::Home;
use support::serving::Serving;
use support::telegram::TelegramServer;

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
    // So that nobody compares a program with itself.
    println!("program: {}", support::program::cofferdam().display());
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

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
