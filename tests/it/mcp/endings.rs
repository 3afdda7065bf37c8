//! How a server ends: its client leaves, a signal comes, somebody kills it. Nothing is
//! half-written.

use super::END_MAX;
use super::world::{Server, meta, outcomes};
use anyhow::{Context, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::home::Home;
use support::workers::{resident_code, until};

fn hostile() -> Home {
    Home::new().hostile("memory = \"16 MiB\"\ndeadline = \"60s\"")
}

/// A server with a call that runs until somebody ends it.
fn busy(home: &Home) -> anyhow::Result<(Server, i64)> {
    let mut server = Server::start(home, json!({}))?;
    let arguments = json!({ "behaviour": "report_until:step", "path": "/shared/go" });
    let call = json!({ "name": "hostile", "arguments": arguments, "_meta": { "progressToken": 1 } });
    let id = server.begin("tools/call", call)?;
    while !server.next()?["params"]["message"].as_str().is_some_and(|said| said.starts_with("step ")) {}
    Ok((server, id))
}

#[test]
fn what_was_asked_before_the_input_ended_is_answered() -> anyhow::Result<()> {
    for meta in [json!({}), json!({ "progressToken": 1 })] {
        let home = Home::new();
        let mut server = Server::start(&home, json!({}))?;
        let arguments = json!({ "path": "/shared/a", "content": "late" });
        let write = json!({ "name": "file_write", "arguments": arguments, "_meta": meta });
        let id = server.begin("tools/call", write)?;
        server.close();
        let answer = server.answer(id)?;
        ensure!(answer["result"]["isError"] == false, "{meta}: {answer}");
        ensure!(server.ended()?.code() == Some(0), "{meta}");
        ensure!(std::fs::read_to_string(home.host("/shared/a"))? == "late", "{meta}");
    }
    Ok(())
}

/// It goes on reporting, and nobody takes that any more.
#[test]
fn a_call_that_reports_when_the_input_ends_is_answered() -> anyhow::Result<()> {
    let home = hostile();
    std::fs::create_dir_all(home.host("/shared"))?;
    let (mut server, id) = busy(&home)?;
    server.close();
    std::fs::write(home.host("/shared/go"), "")?;
    let answer = server.answer(id)?;
    ensure!(answer["result"]["isError"] == false, "{answer}");
    ensure!(server.ended()?.code() == Some(0), "{}", server.log());
    Ok(())
}

#[test]
fn a_server_that_was_asked_nothing_ends_with_its_input() -> anyhow::Result<()> {
    let home = Home::new();
    Server::launch(&home)?.end()?;
    Server::start(&home, json!({}))?.end()
}

/// It is memory for nothing.
#[test]
fn a_server_that_is_up_lets_the_code_of_its_start_go() -> anyhow::Result<()> {
    let home = Home::new();
    let mut server = Server::start(&home, json!({}))?;
    let is_small = || matches!(resident_code(server.pid()), (resident, all) if resident < all / 4);
    until("less of the program in memory", is_small);
    server.is_well()?;
    server.end()
}

#[test]
fn a_call_that_does_not_end_is_cancelled_by_the_end_of_input_and_by_a_signal() -> anyhow::Result<()> {
    for signal in [None, Some(Signal::TERM), Some(Signal::INT)] {
        let home = hostile();
        let (mut server, _) = busy(&home)?;
        match signal {
            None => server.close(),
            Some(signal) => server.signal(signal)?,
        }
        let status = server.ended()?;
        ensure!(status.code() == Some(0), "{signal:?}: {status} {}", server.log());
        let last = outcomes(&home).pop().context("audited")?;
        ensure!(last["code"] == "cancelled", "{signal:?}: {last}");
    }
    Ok(())
}

#[test]
fn a_signal_ends_a_server_whose_client_neither_writes_nor_reads() -> anyhow::Result<()> {
    for signal in [Some(Signal::TERM), None] {
        let home = Home::new();
        std::fs::create_dir_all(home.host("/shared"))?;
        std::fs::write(home.host("/shared/a"), "x".repeat(100_000))?;
        let mut command = home.command(&["mcp"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut stdin = child.stdin.take().context("piped")?;
        // More answers than the pipe and the server hold: some of them are stuck.
        for n in 0..40 {
            let mut call = json!({ "name": "file_read", "arguments": { "path": "/shared/a" } });
            call["_meta"] = meta(json!({}));
            writeln!(
                stdin,
                "{}",
                json!({ "jsonrpc": "2.0", "id": n, "method": "tools/call", "params": call })
            )?;
        }
        until("answers that are stuck", || outcomes(&home).len() >= 2);
        let pid = Pid::from_raw(i32::try_from(child.id())?).context("a pid")?;
        match signal {
            Some(signal) => kill_process(pid, signal)?,
            None => drop(stdin),
        }
        let started = Instant::now();
        while child.try_wait()?.is_none() {
            ensure!(started.elapsed() < END_MAX, "{signal:?}: it goes on");
            std::thread::sleep(Duration::from_millis(5));
        }
        ensure!(child.wait()?.code() == Some(0), "{signal:?}");
    }
    Ok(())
}

/// Of its last words not all are read: there is no room for more refusals.
#[test]
fn a_server_whose_client_takes_no_refusals_ends_with_its_input() -> anyhow::Result<()> {
    let home = Home::new();
    let mut command = home.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut stdin = child.stdin.take().context("piped")?;
    // More than the pipe and the server hold.
    stdin.write_all("nonsense\n".repeat(5000).as_bytes())?;
    drop(stdin);
    let mut stdout = BufReader::new(child.stdout.take().context("piped")?);
    ensure!(stdout.read_line(&mut String::new())? > 0, "it is up");
    let started = Instant::now();
    while child.try_wait()?.is_none() {
        ensure!(started.elapsed() < END_MAX, "it goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
    ensure!(child.wait()?.code() == Some(0));
    Ok(())
}

#[test]
fn a_server_that_is_killed_leaves_nothing_half_written() -> anyhow::Result<()> {
    let home = hostile();
    let (mut server, _) = busy(&home)?;
    let content = "x".repeat(1 << 20);
    for n in 0..20 {
        let arguments = json!({ "path": format!("/shared/f{n}"), "content": content });
        server.begin("tools/call", json!({ "name": "file_write", "arguments": arguments }))?;
    }
    // As soon as the first of them is done, others are under way.
    while !server.next()?["result"]["structuredContent"].is_object() {}
    server.signal(Signal::KILL)?;
    server.ended()?;
    for n in 0..20 {
        let file = home.host(&format!("/shared/f{n}"));
        if let Ok(found) = std::fs::read(&file) {
            ensure!(found == content.as_bytes(), "{} has {} bytes", file.display(), found.len());
        }
    }
    // The next one settles what is open, and the chain is whole.
    let mut next = Server::start(&home, json!({}))?;
    let listed = next.call("file_list", json!({ "path": "/shared" }))?;
    ensure!(listed["isError"] == false, "{listed}");
    next.end()?;
    let ran = home.run(&["audit", "verify"]);
    ensure!(ran.code == Some(0), "{ran:?}");
    ensure!(home.leftovers().is_empty(), "{:?}", home.leftovers());
    Ok(())
}

/// What a client that is killed does to its ends of both pipes.
#[test]
fn a_client_that_is_killed_leaves_nothing_half_written() -> anyhow::Result<()> {
    let home = Home::new();
    let content = "x".repeat(1 << 20);
    let mut command = home.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut stdin = child.stdin.take().context("piped")?;
    let mut stdout = BufReader::new(child.stdout.take().context("piped")?);
    for n in 0..20 {
        let arguments = json!({ "path": format!("/shared/f{n}"), "content": content });
        let mut call = json!({ "name": "file_write", "arguments": arguments });
        call["_meta"] = meta(json!({}));
        writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "id": n, "method": "tools/call", "params": call }))?;
    }
    // One is done, others are under way.
    ensure!(stdout.read_line(&mut String::new())? > 0);
    drop((stdin, stdout));
    let started = Instant::now();
    while child.try_wait()?.is_none() {
        ensure!(started.elapsed() < END_MAX, "it goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
    ensure!(child.wait()?.code() == Some(0));
    for n in 0..20 {
        if let Ok(found) = std::fs::read(home.host(&format!("/shared/f{n}"))) {
            ensure!(found == content.as_bytes(), "f{n} has {} bytes", found.len());
        }
    }
    ensure!(home.leftovers().is_empty(), "{:?}", home.leftovers());
    ensure!(home.run(&["audit", "verify"]).code == Some(0));
    Ok(())
}

#[test]
fn two_servers_share_a_workspace_and_its_audit() -> anyhow::Result<()> {
    let home = Home::new();
    let mut servers = [Server::start(&home, json!({}))?, Server::start(&home, json!({}))?];
    let mut ids: Vec<(usize, i64)> = Vec::new();
    for n in 0..20 {
        for (at, server) in servers.iter_mut().enumerate() {
            let arguments = json!({ "path": format!("/shared/{at}-{n}"), "content": "x" });
            ids.push((
                at,
                server.begin("tools/call", json!({ "name": "file_write", "arguments": arguments }))?,
            ));
        }
    }
    for (at, id) in ids {
        let answer: Value = servers[at].answer(id)?;
        ensure!(answer["result"]["isError"] == false, "{answer}");
    }
    for server in servers {
        server.end()?;
    }
    let ran = home.run(&["audit", "verify"]);
    ensure!(ran.code == Some(0), "{ran:?}");
    ensure!(outcomes(&home).iter().filter(|outcome| outcome["code"].is_null()).count() == 40);
    Ok(())
}
