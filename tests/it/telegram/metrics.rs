//! `/healthz` and `/metrics` of a running bot, asked on loopback as a watcher does, and as somebody
//! who means ill.

use super::world::{ANN, PATIENCE, World, save};
use rustix::fs::{FlockOperation, flock};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use support::guests::{self, sha256};
use support::home::{Home, builtin_tools};
use support::llm::{Call, Dialect, LlmServer, Turn};
use support::prometheus::Page;
use support::telegram::{Fault, Hold, Incoming, Media};

pub(crate) fn watched(home: Home) -> Home {
    home.config("[metrics]\nlisten = \"127.0.0.1:0\"\n")
}

/// Where the monitor answers, as the log says.
pub(super) async fn monitor(world: &World) -> anyhow::Result<SocketAddr> {
    world.logs("/metrics and /healthz answer").await?;
    told_in(&world.log())
}

/// The same, of a log that says it.
pub(crate) fn told_in(log: &str) -> anyhow::Result<SocketAddr> {
    let line = log.lines().find_map(|line| line.strip_suffix("/metrics and /healthz answer"));
    let (_, port) = line.and_then(|line| line.rsplit_once("http://127.0.0.1:")).expect("it says where");
    let port = port.parse()?;
    Ok(SocketAddr::from(([127, 0, 0, 1], port)))
}

/// What comes back for these bytes; empty when the connection is closed without a word.
fn told(address: SocketAddr, request: &[u8]) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request)?;
    let mut told = Vec::new();
    match stream.read_to_end(&mut told) {
        // It hung up with something unread.
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        read => drop(read?),
    }
    Ok(String::from_utf8(told)?)
}

/// The status and the body of a page.
pub(crate) fn get(address: SocketAddr, path: &str) -> anyhow::Result<(u16, String)> {
    let told = told(address, format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes())?;
    let (head, body) = told.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).expect("a status").parse()?;
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    Ok((status, body.to_owned()))
}

pub(crate) fn numbers(address: SocketAddr) -> anyhow::Result<Page> {
    let (status, body) = get(address, "/metrics")?;
    assert_eq!(status, 200);
    Page::parse(&body)
}

/// Waits until the health says this.
pub(super) async fn until(address: SocketAddr, expected: &str) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        let (status, body) = get(address, "/healthz")?;
        assert_eq!(status, if body == "ok\n" { 200 } else { 503 }, "{body}");
        if body.contains(expected) {
            return Ok(());
        }
        anyhow::ensure!(started.elapsed() < PATIENCE, "not {expected:?}: {body}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_people_ask_for_is_counted_and_who_they_are_is_not() -> anyhow::Result<()> {
    let world = World::running_in(watched).await?;
    let address = monitor(&world).await?;
    assert_eq!(get(address, "/healthz")?, (200, "ok\n".to_owned()));
    let before = numbers(address)?;
    assert_eq!((before.sum("cofferdam_tool_calls_total"), before.sum("cofferdam_turns_total")), (0.0, 0.0));
    let file = Incoming::private(ANN).document(Media::with_content("d", "four").name("a.txt"));
    world.ask(file.caption(&save(0, "/shared/a"))).await?;
    world.ask(Incoming::private(ANN).text("/file_read path=/shared/missing")).await?;
    world.ask(Incoming::private(ANN).text("/file_read path=/nowhere")).await?;
    world.ask(Incoming::private(ANN).text("/nope x=1")).await?;
    world.server.fault("sendMessage", 1, Fault::api_error(400, "Bad Request: no"));
    world.server.push(Incoming::private(ANN).text("hello"));
    world.logs("a part of a reply was not sent").await?;
    let page = numbers(address)?;
    let calls = |tool, code| page.get("cofferdam_tool_calls_total", &[("tool", tool), ("code", code)]);
    assert_eq!(calls("attachment_save", "ok"), Some(1.0));
    assert_eq!(calls("file_read", "not_found"), Some(1.0));
    assert_eq!(calls("file_read", "path_denied"), Some(1.0));
    // A tool that there is not has no name of its own, else whoever asks could fill the page.
    assert_eq!((calls("other", "unknown_tool"), calls("nope", "unknown_tool")), (Some(1.0), None));
    let value =
        |name: &str| page.get(&format!("cofferdam_{name}"), &[]).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(value("tool_call_duration_seconds_count"), 4.0);
    assert_eq!(page.get("cofferdam_turns_total", &[("outcome", "answered")]), Some(5.0));
    assert_eq!(page.get("cofferdam_messages_sent_total", &[("kind", "text")]), Some(4.0));
    assert_eq!(page.get("cofferdam_messages_failed_total", &[("kind", "text")]), Some(1.0));
    assert_eq!(value("updates_received_total"), 5.0);
    assert_eq!(value("audit_seq"), world.home.audit().len() as f64);
    assert_eq!(value("audit_records_total"), value("audit_seq"));
    assert_eq!((value("workspace_bytes"), value("workspace_max_bytes")), (4.0, (10u64 << 30) as f64));
    assert!(value("workers_started_total") >= 1.0 && value("last_poll_age_seconds") < 60.0);
    assert!(page.get("process_resident_memory_bytes", &[]).is_some_and(|bytes| bytes > 1e6));
    assert!(page.get("cofferdam_build_info", &[("version", "0.1.0")]) == Some(1.0));
    assert_eq!((value("calls_waiting"), value("reload_refused")), (0.0, 0.0));
    for label in page.labels() {
        let person = label.contains('/') || label.chars().filter(char::is_ascii_digit).count() > 6;
        assert!(!person, "{label:?}");
    }
    world.end(4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_models_requests_and_tokens_are_counted() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    let call = Call::new("file_list", serde_json::json!({ "path": "/shared" }));
    llm.script([
        Turn::status(503),
        Turn::calls([call]).usage(100, 20),
        Turn::say("done").usage(7, 3),
        Turn::status(400),
        Turn::say("one two").in_pieces(2).ends_after(2),
    ]);
    let world = World::running_in(|home| watched(home.model(&llm, Dialect::Chat, ""))).await?;
    let address = monitor(&world).await?;
    world.ask(Incoming::private(ANN).text("list it")).await?;
    world.ask(Incoming::private(ANN).text("and again")).await?;
    world.ask(Incoming::private(ANN).text("and once more")).await?;
    let page = numbers(address)?;
    let requests = |outcome| page.get("cofferdam_model_requests_total", &[("outcome", outcome)]);
    assert_eq!(
        (requests("answered"), requests("failed"), requests("broke_off")),
        (Some(2.0), Some(1.0), Some(1.0))
    );
    assert_eq!(page.get("cofferdam_model_retries_total", &[]), Some(1.0));
    let tokens = |direction| page.get("cofferdam_model_tokens_total", &[("direction", direction)]);
    // What broke off costs too: four bytes are a token where nobody counts, read and written.
    let broke_off = llm.requests().last().expect("asked").bytes as u64 / 4;
    assert_eq!((tokens("input"), tokens("output")), (Some((107 + broke_off) as f64), Some(24.0)));
    assert_eq!(page.get("cofferdam_turns_total", &[("outcome", "open")]), Some(2.0));
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn tokens_of_an_answer_that_is_stopped_are_counted() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    llm.script([Turn::say("half of it").in_pieces(2).usage(100, 10).stalls_after(4)]);
    let world = World::running_in(|home| watched(home.model(&llm, Dialect::Anthropic, ""))).await?;
    let address = monitor(&world).await?;
    world.server.push(Incoming::private(ANN).text("go on"));
    world.server.wait_for_message(PATIENCE, |sent| sent.text.ends_with(" …")).await?;
    world.server.push(Incoming::private(ANN).text("/cancel"));
    world.server.wait_for_message(PATIENCE, |sent| sent.text.starts_with("Cancelled: ")).await?;
    let read = numbers(address)?.get("cofferdam_model_tokens_total", &[("direction", "input")]);
    assert_eq!(read, Some(100.0));
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn health_names_what_fails_and_recovers() -> anyhow::Result<()> {
    let mut world = World::stopped(watched).await?;
    let gate = world.server.gate("getMe", Hold::BeforeAnswer);
    world.launch(&["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"], &[])?;
    let address = monitor(&world).await?;
    gate.reached().await?;
    assert_eq!(get(address, "/healthz")?, (503, "polling: the channel has not answered yet\n".to_owned()));
    gate.release();
    until(address, "ok\n").await?;
    // Nothing can be written any more, and then it can.
    let pid = rustix::process::Pid::from_raw(i32::try_from(world.serving().pid())?);
    let allow = |current| {
        let limit = rustix::process::Rlimit { current, maximum: None };
        rustix::process::prlimit(pid, rustix::process::Resource::Fsize, limit).map(drop)
    };
    allow(Some(0))?;
    until(address, "database: it cannot be written, so no message is taken since 2").await?;
    allow(None)?;
    until(address, "ok\n").await?;
    world.logs("the gateway's health has changed").await?;
    // An audit that somebody takes away is not written any more.
    let audit = world.home.state().join("audit.jsonl");
    world.ask(Incoming::private(ANN).text("/file_read path=/shared/x")).await?;
    std::fs::rename(&audit, audit.with_extension("kept"))?;
    std::fs::write(&audit, "")?;
    std::fs::remove_file(audit.with_extension("kept"))?;
    until(address, "audit: no record can be written").await?;
    let (status, body) = get(address, "/metrics")?;
    assert!(status == 200 && !body.contains(world.home.dir().to_str().expect("text")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn health_says_why_the_model_answers_nobody_until_it_does() -> anyhow::Result<()> {
    let llm = LlmServer::start().await?;
    llm.script([Turn::status(404), Turn::say("hello"), Turn::status(401)]);
    let world = World::running_in(|home| watched(home.model(&llm, Dialect::Chat, ""))).await?;
    let address = monitor(&world).await?;
    assert_eq!(get(address, "/healthz")?, (200, "ok\n".to_owned()), "nothing was tried yet");
    let next = async |said: &str| -> anyhow::Result<String> {
        // What was found is told again for a second.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        world.ask(Incoming::private(ANN).text("hi")).await?;
        tokio::time::sleep(Duration::from_millis(1100)).await;
        let (status, body) = get(address, "/healthz")?;
        assert_eq!(status, if said.is_empty() { 200 } else { 503 }, "{body}");
        assert!(body.contains(said) && !body.contains(llm.key()), "{body}");
        Ok(body)
    };
    let body = next(": not found (HTTP status 404").await?;
    assert!(body.starts_with("model: it answers no request since 2") && body.lines().count() == 1, "{body}");
    next("").await?;
    next(": the key is not accepted (HTTP status 401").await?;
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_cold_start_is_told_while_it_compiles() -> anyhow::Result<()> {
    let policy = "safety = \"read-only\"\n[arguments]\nname = \"value\"";
    let with_hello = |home: Home| watched(home.tool("hello", "file-read-only", "minimal", policy));
    let mut world = World::stopped(with_hello).await?;
    let cache = world.home.state().join("cache");
    for entry in std::fs::read_dir(&cache)? {
        std::fs::remove_file(entry?.path())?;
    }
    // As if another process compiled it, for as long as this test wants.
    let turn = cache.join(format!("{}.compiling", sha256(&guests::bytes("minimal"))));
    let turn = std::fs::File::create(turn)?;
    flock(&turn, FlockOperation::LockExclusive)?;
    world.launch(&[], &[])?;
    let address = monitor(&world).await?;
    // They are loaded by name, so those behind `hello` wait.
    let (all, before) = (builtin_tools(), "hello".to_owned());
    let done = all.iter().filter(|name| **name < before).count();
    until(address, &format!("starting: compiled {done} of {} tools\n", all.len() + 1)).await?;
    let (status, metrics) = get(address, "/metrics")?;
    // What is not known yet is left out.
    assert!(status == 200 && !metrics.contains("cofferdam_workspace_max_bytes"), "{metrics}");
    drop(turn);
    until(address, "ok\n").await?;
    world.ask(Incoming::private(ANN).text("/hello name=Ann")).await?;
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn few_are_answered_shortly_and_only_on_this_machine() -> anyhow::Result<()> {
    let world = World::running_in(watched).await?;
    let address = monitor(&world).await?;
    let status = |request: &str| {
        told(address, request.as_bytes()).map(|told| told.chars().skip(9).take(3).collect::<String>())
    };
    assert_eq!(status("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n")?, "421");
    assert_eq!(status("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")?, "404");
    assert_eq!(status("DELETE /metrics HTTP/1.1\r\n\r\n")?, "405");
    assert_eq!(status("\x16\x03\x01\r\n\r\n")?, "400");
    assert_eq!(status(&format!("GET /metrics HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(8 << 10)))?, "431");
    assert_eq!(status(&format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65)))?, "431");
    let head = told(address, b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    // A task for each that is connected, which ends with it.
    let tasks = || numbers(address).map(|page| page.get("cofferdam_tasks", &[]).expect("told"));
    let mut five = Vec::new();
    for _ in 0..5 {
        five.push(TcpStream::connect(address)?);
    }
    let (most, started) = (tasks()?, Instant::now());
    drop(five);
    while tasks()? > most - 5.0 {
        anyhow::ensure!(started.elapsed() < PATIENCE, "there are still more than {most} - 5 tasks");
    }
    // Eight that say nothing hold the places, and lose them after 5 s.
    let mut silent = Vec::new();
    for _ in 0..8 {
        silent.push(TcpStream::connect(address)?);
    }
    let started = Instant::now();
    let mut answered = told(address, b"GET /healthz HTTP/1.0\r\n\r\n")?;
    assert_eq!(answered, "", "the ninth is hung up on");
    for mut stream in silent {
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut nothing = Vec::new();
        stream.read_to_end(&mut nothing)?;
        assert_eq!(nothing, b"");
        let _ = stream.shutdown(Shutdown::Both);
    }
    while answered.is_empty() {
        anyhow::ensure!(started.elapsed() < PATIENCE, "nobody is answered any more");
        answered = told(address, b"GET /healthz HTTP/1.0\r\n\r\n")?;
    }
    assert!(answered.ends_with("\r\n\r\nok\n"), "{answered}");
    world.end(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_the_key_nobody_may_ask_and_a_place_that_is_taken_is_told() -> anyhow::Result<()> {
    let world = World::running().await?;
    assert!(!world.log().contains("/healthz"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let other = Home::new().telegram(&world.server.api_url(), &[ANN]);
    let other = other.config(&format!("[metrics]\nlisten = \"{}\"\n", taken.local_addr()?));
    let mut command = other.command(&["serve"]);
    let ran = support::home::Ran::from(command.env("TELEGRAM_BOT_TOKEN", world.server.token()).output()?);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("[metrics] listen: cannot listen on 127.0.0.1:")
            && ran.stderr.contains("write another port"),
        "{ran:?}"
    );
    world.end(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_reload_that_was_refused_is_seen_until_one_is_not() -> anyhow::Result<()> {
    let world = World::running_in(watched).await?;
    let address = monitor(&world).await?;
    let good = std::fs::read_to_string(world.home.config_file())?;
    std::fs::write(world.home.config_file(), format!("{good}nope = 1\n"))?;
    world.serving().signal(rustix::process::Signal::USR1)?;
    world.logs("the one before stays in force").await?;
    let refused = |page: &Page| {
        let ended = |outcome| page.get("cofferdam_reloads_total", &[("outcome", outcome)]).expect("counted");
        (page.get("cofferdam_reload_refused", &[]).expect("told"), ended("refused"), ended("applied"))
    };
    assert_eq!(refused(&numbers(address)?), (1.0, 1.0, 0.0));
    assert_eq!(get(address, "/healthz")?.0, 200, "the last good one works");
    std::fs::write(world.home.config_file(), good)?;
    world.serving().signal(rustix::process::Signal::USR1)?;
    world.logs("was reloaded and is in force").await?;
    assert_eq!(refused(&numbers(address)?), (0.0, 1.0, 1.0));
    world.end(0)
}
