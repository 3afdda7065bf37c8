//! Foreign guests as tools: ripgrep beside the same version of this machine, a tool in Python, and
//! a page from loopback by `web_fetch`. Each is called by an MCP client.

use super::server::Server;
use super::{Rounds, Row, at, tools};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::guests::{policy_of_the_guide, sha256};
use support::home::Home;

pub(super) fn measure(rounds: Rounds) -> Result<Vec<Row>> {
    Ok(vec![ripgrep(rounds)?, python(rounds)?, page(rounds)?])
}

/// One pattern over many small files, of which every hundredth has it.
fn ripgrep(rounds: Rounds) -> Result<Row> {
    let what = format!("ripgrep as a tool over {} files", rounds.files);
    let goal = "p50 ≤ 1.5 × native ripgrep";
    let (component, native) = (tools().join("ripgrep/bin/rg.wasm"), tools().join("ripgrep-native/bin/rg"));
    if !component.exists() || !native.exists() {
        return Ok((what, goal, "skipped: ripgrep is not in target/tools".into()));
    }
    let bytes = std::fs::read(component)?;
    let home = Home::new().policy("tools/rg.toml", &policy_of_the_guide("rg", &sha256(&bytes)));
    std::fs::write(home.policies_dir().join("tools/rg.wasm"), bytes)?;
    for file in 0..rounds.files {
        let folder = home.host(&format!("/shared/tree/{:03}", file / 100));
        std::fs::create_dir_all(&folder)?;
        let needle = if file % 100 == 0 { "a needle\n" } else { "" };
        std::fs::write(
            folder.join(format!("{file}.txt")),
            format!("{}{needle}", "some hay of a line\n".repeat(20)),
        )?;
    }
    let mut server = warm(&home)?;
    let arguments = json!({ "pattern": "needle", "paths": ["/shared/tree"] });
    server.calls("rg", &arguments, 2)?;
    let ours = at(&server.calls("rg", &arguments, rounds.long)?, 50);
    let run = |threads: &[&str]| -> Result<Duration> {
        let mut times = Vec::new();
        for _ in 0..rounds.long {
            let mut rg = Command::new(&native);
            rg.args(["--json", "--no-config"]).args(threads).args(["-e", "needle", "--"]);
            rg.arg(home.host("/shared/tree")).stdin(Stdio::null());
            let started = Instant::now();
            let output = rg.output()?;
            times.push(started.elapsed());
            ensure!(output.status.success(), "{output:?}");
        }
        times.sort();
        Ok(at(&times, 50))
    };
    let (one, all) = (run(&["--threads", "1"])?, run(&[])?);
    let ratio = |native: Duration| ours.as_secs_f64() / native.as_secs_f64();
    let measured = format!(
        "{ours:.1?}; native on one thread {one:.1?}, ratio {:.2}; on all {all:.1?}, ratio {:.2}",
        ratio(one),
        ratio(all)
    );
    Ok((what, goal, measured))
}

/// What `tool new --lang python` writes, built as its `build.sh` says.
fn python(rounds: Rounds) -> Result<Row> {
    let (what, goal) = ("a warm call of a tool in Python".to_owned(), "p50 ≤ 30 ms");
    let tools = tools().join("componentize");
    if !tools.join("bin/componentize-py").exists() {
        return Ok((what, goal, "skipped: componentize-py is not in target/tools".into()));
    }
    let home = Home::new();
    let dir = home.dir().join("greeter");
    ensure!(home.run(&["tool", "new", "greeter", "--lang", "python"]).code == Some(0), "tool new");
    std::os::unix::fs::symlink(tools.canonicalize()?, dir.join("venv"))?;
    let built = Command::new("sh").arg("build.sh").current_dir(&dir).output()?;
    ensure!(built.status.success(), "{built:?}");
    let pin = ["tool", "inspect", "greeter/greeter.wasm", "--pin", "greeter/policies/tools/greeter.toml"];
    let pinned = home.run(&pin);
    ensure!(pinned.code == Some(0), "{pinned:?}");
    let home = home.config("[policies]\ndir = \"greeter/policies\"\n");
    let mut server = warm(&home)?;
    let arguments = json!({ "name": "Ada" });
    server.calls("greeter", &arguments, 2)?;
    let times = server.calls("greeter", &arguments, rounds.long)?;
    Ok((what, goal, format!("p50 {:.1?}, p99 {:.1?}", at(&times, 50), at(&times, 99))))
}

/// A page of a megabyte, as Markdown.
fn page(rounds: Rounds) -> Result<Row> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let host = listener.local_addr()?.to_string();
    std::thread::spawn(move || serve(&listener));
    let home = Home::new().own_policies().config(&format!("[network]\nallowed_private_hosts = [{host:?}]\n"));
    let profile = home.policies_dir().join("profiles/web-fetch.toml");
    let text = std::fs::read_to_string(&profile)?;
    std::fs::write(profile, text.replace("hosts = []", &format!("hosts = [{host:?}]")))?;
    let mut server = warm(&home)?;
    let arguments = json!({ "url": format!("http://{host}/page") });
    server.calls("web_fetch", &arguments, 2)?;
    let times = server.calls("web_fetch", &arguments, rounds.long)?;
    let measured = format!("p50 {:.1?}, p99 {:.1?}", at(&times, 50), at(&times, 99));
    Ok(("`web_fetch` of a page of 1 MB from loopback".into(), "p50 ≤ 40 ms", measured))
}

/// Answers every request with the page.
fn serve(listener: &TcpListener) {
    let paragraph = "<p>Some words of a page with a <a href=\"/x\">link</a> in them.</p>\n";
    let body =
        format!("<!doctype html><title>A page</title>{}", paragraph.repeat(1_000_000 / paragraph.len()));
    for mut stream in listener.incoming().flatten() {
        let mut head = Vec::new();
        let mut piece = [0; 1024];
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read(&mut piece) {
                Ok(length @ 1..) => head.extend_from_slice(&piece[..length]),
                _ => break,
            }
        }
        let length = body.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        );
        // Who has read enough is gone.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
    }
}

/// The server of a home, its components compiled before.
fn warm(home: &Home) -> Result<Server> {
    let checked = home.run(&["policy", "check"]);
    ensure!(checked.code == Some(0), "{checked:?}");
    Ok(Server::start(home.command(&["mcp"])).context("cofferdam mcp")?.0)
}
