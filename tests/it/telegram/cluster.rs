//! Nodes that share a store in a real PostgreSQL and one state folder: one hears the bot, all of
//! them answer, and what one had begun that is gone goes on at another one.

mod clock;
mod full;
mod heads;
mod homes;
mod moves;
mod partition;
mod schedule;
mod server;
mod survival;
mod ways;

use super::approvals::{APPROVE, WRITE, always, answered, asked, press};
use super::chaos::{PEOPLE, Random, content, fault, message};
use super::metrics::{get, numbers, told_in, watched};
use super::tracer::{Tracer, available};
use super::world::{ANN, BEN, CAT, PATIENCE, World, save};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use support::guests::sha256;
use support::home::{Home, Ran};
use support::postgres::{PostgresServer, Relay, new_schema, shared};
use support::samples;
use support::serving::Serving;
use support::telegram::{Hold, Incoming, Media, Pushed, SentMessage, Target};

/// The shortest that is taken.
const LEASE: Duration = Duration::from_secs(3);
/// From a node's silence to another one's service, a debug build on a busy machine.
const TAKEN_OVER_MAX: Duration = Duration::from_secs(20);
/// What a node says in the end that was taken out.
const TAKEN_OVER: &str = "others took its work over";

fn cluster(home: Home) -> Home {
    watched(home.config("[cluster]\nlease = \"3s\"\n"))
}

fn node(world: &World, name: &str) -> anyhow::Result<Serving> {
    Serving::launch(&world.home, world.server.token(), &[], &[("COFFERDAM_CLUSTER_NODE", name)])
}

/// Node `b`, which answers while `a` hears the bot.
fn work_beside(world: &mut World) -> anyhow::Result<()> {
    world.launch(&[], &[("COFFERDAM_CLUSTER_NODE", "b")])?;
    world.says("another node hears telegram-")
}

/// Both of them, and the schema that they share; `a` hears the bot.
async fn two(
    server: &PostgresServer,
    fit: impl FnOnce(Home) -> Home,
) -> anyhow::Result<(World, Serving, String)> {
    let schema = new_schema();
    let mut world = World::stopped(|home| fit(cluster(home.postgres(server, &schema)))).await?;
    let first = node(&world, "a")?.polling()?;
    work_beside(&mut world)?;
    Ok((world, first, schema))
}

/// Node and duties, as `status` has them.
fn nodes(world: &World) -> Vec<(String, usize)> {
    let status = world.home.run(&["status", "--json"]).json();
    let nodes = status["nodes"].as_array().expect("nodes").iter();
    nodes
        .map(|node| {
            let name = node["node"].as_str().expect("a name").to_owned();
            (name, node["duties"].as_array().expect("duties").len())
        })
        .collect()
}

/// Waits until these nodes are there, with so many duties: one that is late for a moment is not
/// told.
async fn are_there(world: &World, expected: &[(&str, usize)]) {
    let expected: Vec<_> = expected.iter().map(|(name, duties)| ((*name).to_owned(), *duties)).collect();
    let since = Instant::now();
    while nodes(world) != expected {
        assert!(since.elapsed() < PATIENCE, "not {expected:?}: {:?}", nodes(world));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Has a chat's session be this node's, as if that one had taken it first.
fn give(server: &PostgresServer, schema: &str, (world, chat): (&World, i64), node: &str) {
    let session = world.session(chat);
    let (channel, _) = session.split_once(':').expect("a channel");
    // The first message makes it 0, as if that one had taken it then.
    let kept = format!("CREATE OR REPLACE RULE given AS ON DELETE TO {schema}.claim");
    server.sql(&format!("{kept} WHERE OLD.messages < 0 DO INSTEAD NOTHING"));
    server.sql(&format!(
        "INSERT INTO {schema}.claim (channel, session, holder, messages)
         SELECT '{channel}', '{session}', holder, -1 FROM {schema}.node WHERE name = '{node}'"
    ));
}

/// Whether a message is there and is more than a sign that an answer is to come.
fn is_answer(sent: &SentMessage) -> bool {
    !sent.deleted && !sent.text.starts_with('⏳')
}

/// Ends all nodes and holds everything against what is true of every run.
fn end(world: World, others: impl IntoIterator<Item = Serving>, messages: usize) -> anyhow::Result<()> {
    for other in others {
        other.end(PATIENCE)?;
    }
    world.end(messages)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_turn_of_a_node_that_is_killed_goes_on_at_another_one() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::a_turn_of_a_node_that_is_killed") else { return Ok(()) };
    let (mut world, first, schema) = two(server, |home| home).await?;
    are_there(&world, &[("a", 2), ("b", 0)]).await;
    let status = world.home.run(&["status"]);
    assert_eq!(status.code, Some(0), "{status:?}");
    let told = status.stdout.lines().find(|line| line.starts_with("node a: process ")).expect("it is told");
    assert!(told.contains(", turns, telegram-") && told.ends_with(", workflows"), "{told}");
    assert!(
        status.stdout.lines().any(|line| line.starts_with("node b: process ") && line.ends_with(", turns"))
    );
    let (code, body) = get(told_in(&world.log())?, "/healthz")?;
    assert_eq!((code, body.as_str()), (200, "ok\n"), "who hears no bot is well");
    let bytes = samples::jpeg(10_000);
    let gate = world.server.gate(Target::method("getFile"), Hold::BeforeEffect);
    let photo = Incoming::private(ANN).photo(Media::with_content("p", bytes.clone()));
    let question = world.server.push(photo.caption(&save(0, "/shared/a.jpg")));
    gate.reached().await?;
    first.kill();
    gate.release();
    let since = Instant::now();
    let answer = world.answer(&question).await?.text;
    let took = since.elapsed();
    println!("the turn of a killed node was answered after {took:?}, its lease being {LEASE:?}");
    assert!(took < TAKEN_OVER_MAX, "{took:?}");
    assert!(answer.contains(r#""saved":true"#), "{answer}");
    assert!(world.saved("/shared/a.jpg") == bytes);
    world.says("polling as ")?;
    assert_eq!(nodes(&world), [("b".to_owned(), 2)]);
    let again = node(&world, "a")?.says("another node hears telegram-")?;
    world.ask(Incoming::private(BEN).text("/file_info path=/shared")).await?;
    end(world, [again], 2)?;
    for table in ["node", "duty", "claim"] {
        assert_eq!(server.sql(&format!("SELECT count(*) FROM {schema}.{table}")), "0", "{table}");
    }
    Ok(())
}

/// The file is there, and who goes on finds that in the audit.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_killed_node_had_published_is_settled_before_another_one_goes_on() -> anyhow::Result<()> {
    const NAME: &str = "telegram::cluster::what_a_killed_node_had_published";
    let Some(server) = shared(NAME).filter(|_| available(NAME)) else { return Ok(()) };
    let bytes = samples::jpeg(400_000);
    // As much as the turn writes: were it counted twice, the call that runs again would be refused.
    let share = format!("[turns]\nwritten_bytes = \"{} B\"\n", bytes.len());
    let (world, first, _) = two(server, |home| home.config(&share)).await?;
    // The session has its folders, so that they are not among the calls that are counted.
    world.ask(Incoming::private(ANN).text("/file_info path=/tmp")).await?;
    let gate = world.server.gate(Target::download(), Hold::InBody(399_999));
    let photo = Incoming::private(ANN).photo(Media::with_content("p", bytes.clone()));
    let question = world.server.push(photo.caption(&save(0, "/shared/new/a.jpg")));
    gate.reached().await?;
    // The first of the call is its intent.
    let audit = world.home.state().join("node-a/audit.jsonl");
    let tracer = Tracer::kills(first.pid(), "write", 2, Some(&audit));
    gate.release();
    let answer = world.answer(&question).await?.text;
    drop((tracer, first));
    assert!(answer.contains(r#""saved":true"#), "{answer}");
    assert!(world.saved("/shared/new/a.jpg") == bytes);
    let records = world.home.audit();
    let outcomes: Vec<_> =
        records.iter().filter(|record| record["files"][0]["path"] == "/shared/new/a.jpg").collect();
    let settled: Vec<_> = outcomes.iter().filter(|record| record["reconciled"] == true).collect();
    assert_eq!(settled.len(), 1, "{outcomes:#?}");
    assert_eq!(settled[0]["settled_by"], "b", "who has settled it is told: {settled:#?}");
    end(world, [], 2)
}

/// Writes a file.
const KEEP: &str = "workflow: keep\non: { command: keep }\ntasks:\n\
    \x20 - { id: write, tool: file_write, with: { path: /shared/kept.txt, content: one } }\n\
    output: \"kept\"\n";

/// Writes none.
const SEE: &str = "workflow: see\non: { command: see }\ntasks:\n\
    \x20 - { id: list, tool: file_list, with: { path: /shared } }\n\
    output: \"seen\"\n";

/// The same for a run of a workflow, which another node carries out from there on. Where some audit
/// cannot be settled, that of one which had begun no call yet waits for nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_run_had_published_is_settled_before_another_node_goes_on_with_it() -> anyhow::Result<()> {
    const NAME: &str = "telegram::cluster::what_a_run_had_published";
    let Some(server) = shared(NAME).filter(|_| available(NAME)) else { return Ok(()) };
    let fit = |home: Home| {
        let home = home.offering("keep.yaml", KEEP);
        std::fs::write(home.dir().join("offered/see.yaml"), SEE).expect("written");
        home
    };
    let (mut world, first, _) = two(server, fit).await?;
    world.ask(Incoming::private(ANN).text("/file_info path=/tmp")).await?;
    // No file, but a folder in its place: it cannot be read.
    let chain = world.home.state().join("node-c");
    std::fs::create_dir_all(chain.join("audit.jsonl"))?;
    // The first of the call is its intent.
    let audit = world.home.state().join("node-a/audit.jsonl");
    let tracer = Tracer::kills(first.pid(), "write", 2, Some(&audit));
    let asked = world.server.push(Incoming::private(BEN).text("/keep"));
    world.says("runs that had begun a call wait until the audit is settled")?;
    let status = || {
        let ran: Ran = world.home.command(&["status"]).env("COFFERDAM_CLUSTER_NODE", "b").output()?.into();
        anyhow::Ok(ran.stdout)
    };
    let since = Instant::now();
    while !status()?.contains("`cofferdam workflow cancel RUN` ends one: keep-") {
        assert!(since.elapsed() < PATIENCE, "{}", status()?);
    }
    let seen = world.server.push(Incoming::private(ANN).text("/see"));
    assert_eq!(world.answer(&seen).await?.text, "seen");
    let is_end = |sent: &SentMessage| sent.chat_id == asked.chat_id && sent.text.starts_with("kept");
    assert!(!world.server.sent_messages().iter().any(is_end), "it waits");
    std::fs::rename(&chain, world.home.dir().join("removed"))?;
    let ended = world.server.wait_for_message(PATIENCE, is_end).await;
    drop((tracer, first));
    ended.map_err(|error| anyhow::anyhow!("{error}\n{}", world.log()))?;
    assert!(!status()?.contains("workflow cancel"), "{}", status()?);
    let records = world.home.audit();
    let of_file: Vec<_> =
        records.iter().filter(|record| record["files"][0]["path"] == "/shared/kept.txt").collect();
    let told: Vec<_> = of_file.iter().map(|record| (&record["event"], &record["settled_by"])).collect();
    // It goes on as if it had done it just now.
    let (settled, again) = (json!("b"), &Value::Null);
    let [intent, outcome] = ["intent", "outcome"].map(Value::from);
    assert_eq!(told, [(&intent, again), (&outcome, &settled), (&outcome, again)], "{of_file:#?}");
    let sent = world.server.sent_messages().len();
    end(world, [], sent)
}

/// Each node has a chain of its own. Who cuts one is shown by the database, and by what the others
/// have written down.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_audit_of_each_node_is_vouched_for_by_the_others() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::the_audit_of_each_node") else { return Ok(()) };
    let (mut world, first, schema) = two(server, |home| home).await?;
    for (node, who) in [("a", ANN), ("b", BEN)] {
        give(server, &schema, (&world, who), node);
        world
            .ask(Incoming::private(who).text(&format!("/file_write path=/shared/{node} content=one")))
            .await?;
    }
    first.end(PATIENCE)?;
    let chain =
        |node: &str| std::fs::read_to_string(world.home.state().join(format!("node-{node}/audit.jsonl")));
    let whole = chain("a")?;
    let last = sha256(whole.lines().last().expect("a record").as_bytes());
    let since = Instant::now();
    while !chain("b")?.contains(&last) {
        assert!(since.elapsed() < TAKEN_OVER_MAX, "b does not write down how far a was");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let verify = |world: &World| world.home.run(&["audit", "verify"]);
    let sound = verify(&world);
    assert_eq!(sound.code, Some(0), "{sound:?}");
    assert!(sound.stdout.starts_with("node a: audit ok: "), "{sound:?}");
    assert!(
        sound.stdout.contains("\nIt holds every head of it that nodes have told.\nnode b: audit ok: "),
        "{sound:?}"
    );
    let shown = world.home.run(&["audit", "show"]).stdout;
    assert!(shown.lines().any(|line| line.starts_with("a ")) && shown.contains("heads    a "), "{shown}");
    // Who takes over what a node has left settles its chain, and may add to it: nobody is there any
    // more who might.
    world.stop()?;
    let file = world.home.state().join("node-a/audit.jsonl");
    assert_eq!(std::fs::read_to_string(&file)?, whole, "there was nothing to settle");
    // Its last record is cut away.
    let cut = &whole[..whole.trim_end().rfind('\n').expect("several records") + 1];
    std::fs::write(&file, cut)?;
    for witness in ["the head in the database (seq ", "the head that node b has recorded (seq "] {
        let bad = verify(&world);
        assert_eq!(bad.code, Some(3), "{bad:?}");
        assert!(bad.stdout.starts_with("node a: audit BAD at line "), "{bad:?}");
        assert!(bad.stdout.contains(&format!("all up to {witness}")), "{bad:?}");
        assert!(bad.stdout.contains("\nnode b: audit ok: "), "{bad:?}");
        server.sql(&format!("DELETE FROM {schema}.audit_head WHERE node = 'a'"));
    }
    std::fs::write(&file, &whole)?;
    assert_eq!(verify(&world).code, Some(0));
    // Without its folder it is gone, although its row is, too.
    let (folder, away) = (world.home.state().join("node-a"), world.home.dir().join("away"));
    std::fs::rename(&folder, &away)?;
    let gone = verify(&world);
    assert_eq!(gone.code, Some(3), "{gone:?}");
    let said = "\nnode a: audit BAD: it is gone, with all up to the head that node b has recorded (seq ";
    assert!(gone.stdout.contains(said), "{gone:?}");
    std::fs::rename(&away, &folder)?;
    assert_eq!(verify(&world).code, Some(0));
    end(world, [], 2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_that_ends_hands_over_at_once() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::a_node_that_ends") else { return Ok(()) };
    let (mut world, first, _) = two(server, |home| home).await?;
    world.ask(Incoming::private(ANN).text("/file_write path=/shared/a content=one")).await?;
    first.end(PATIENCE)?;
    world.says("polling as ")?;
    let answer = world.ask(Incoming::private(ANN).text("/file_read path=/shared/a")).await?;
    assert!(answer.contains("one"), "{answer}");
    // Each listens for files and messages from outside, under its name.
    let mut say = world.home.command(&["say", &format!("telegram:{ANN}"), "hello"]);
    let said = say.env("COFFERDAM_CLUSTER_NODE", "b").output()?;
    assert!(said.status.success(), "{said:?}");
    world.end(3)
}

/// Messages of many chats at once: those of a chat are answered in order, each once, and both nodes
/// have a part in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn both_nodes_answer_and_each_chat_in_its_order() -> anyhow::Result<()> {
    const WAVES_MAX: usize = 10;
    let Some(server) = shared("telegram::cluster::both_nodes_answer") else { return Ok(()) };
    let (world, first, _) = two(server, |home| home).await?;
    let chats: Vec<(i64, i64)> =
        [ANN, BEN, CAT].into_iter().flat_map(|who| (1..=8).map(move |thread| (who, thread))).collect();
    let write = |(who, thread): (i64, i64), n: usize| {
        let text = format!("/file_write path=/shared/{who}-{thread}-{n} content=hello");
        Incoming::private(who).thread(thread).text(&text)
    };
    let done = || -> anyhow::Result<[f64; 2]> {
        let calls =
            |log: &str| Ok::<_, anyhow::Error>(numbers(told_in(log)?)?.sum("cofferdam_tool_calls_total"));
        Ok([calls(&first.log())?, calls(&world.log())?])
    };
    // A node may have done all before the other one has looked: then there is more to do.
    let mut pushed = Vec::new();
    while pushed.is_empty() || done()?.contains(&0.0) && pushed.len() < WAVES_MAX * 4 * chats.len() {
        let first = pushed.len() / chats.len();
        let messages = (first..first + 4).flat_map(|n| chats.iter().map(move |chat| write(*chat, n)));
        pushed.extend(world.server.push_all(messages));
        world.server.wait_for_messages(PATIENCE, pushed.len()).await?;
    }
    let sent = world.server.sent_messages();
    for n in 0..chats.len() {
        let of_chat: Vec<&Pushed> = pushed.iter().skip(n).step_by(chats.len()).collect();
        let asked: Vec<_> = of_chat.iter().map(|pushed| Some(pushed.message_id)).collect();
        let answers =
            sent.iter().filter(|sent| asked.contains(&sent.reply_to) && sent.chat_id == of_chat[0].chat_id);
        assert_eq!(answers.map(|sent| sent.reply_to).collect::<Vec<_>>(), asked, "in order, and once");
    }
    let done = done()?;
    assert!(done[0] > 0.0 && done[1] > 0.0 && done[0] + done[1] == pushed.len() as f64, "{done:?}");
    end(world, [first], pushed.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_concerns_a_turn_reaches_the_node_that_has_it() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::what_concerns_a_turn") else { return Ok(()) };
    let (world, first, schema) = two(server, always).await?;
    give(server, &schema, (&world, ANN), "b");
    world.server.push(Incoming::private(ANN).text(WRITE));
    let approval = asked(&world, 0).await?;
    world.logs("an approval is shown").await?;
    // The one that hears the bot is the other one.
    world.server.push(press(ANN, &approval, APPROVE));
    answered(&world, "{").await?;
    assert!(!first.log().contains("an approval is shown"), "it was the other node's");
    give_again(server, &schema, (&world, ANN), "b");
    world.server.push(Incoming::private(ANN).text(&WRITE.replace("/shared/a", "/shared/b")));
    // The buttons of the first one are gone.
    asked(&world, 0).await?;
    world.server.push(Incoming::private(ANN).text("/cancel"));
    answered(&world, "cancelled").await?;
    assert!(!world.host("/shared/b").exists());
    end(world, [first], 4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_whose_audit_cannot_be_settled_is_in_nobodys_way() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::a_node_whose_audit_cannot_be") else { return Ok(()) };
    let (world, first, schema) = two(server, always).await?;
    // No file, but a folder in its place: it cannot be read.
    let chain = world.home.state().join("node-c");
    std::fs::create_dir_all(chain.join("audit.jsonl"))?;
    let session = world.session(BEN);
    let (channel, _) = session.split_once(':').expect("a channel");
    server.sql(&format!("INSERT INTO {schema}.claim VALUES ('{channel}', '{session}', 'c/gone')"));
    world.logs("what a node has left waits until its audit is settled").await?;
    give(server, &schema, (&world, ANN), "b");
    world.server.push(Incoming::private(ANN).text(WRITE));
    asked(&world, 0).await?;
    world.server.push(Incoming::private(ANN).text("/cancel"));
    answered(&world, "cancelled").await?;
    // Nor of a node that starts.
    let third = node(&world, "d")?.says("another node hears telegram-")?;
    give(server, &schema, (&world, CAT), "d");
    world.ask(Incoming::private(CAT).text("/file_info path=/shared")).await?;
    // Nor of the work of another one that goes.
    give_again(server, &schema, (&world, ANN), "a");
    let gate = world.server.gate(Target::method("getFile"), Hold::BeforeEffect);
    let photo = Incoming::private(ANN).photo(Media::with_content("p", samples::jpeg(10_000)));
    let photo = world.server.push(photo.caption(&save(0, "/shared/a.jpg")));
    gate.reached().await?;
    first.kill();
    gate.release();
    assert!(world.answer(&photo).await?.text.contains(r#""saved":true"#));
    // Its own work is taken over once it can be.
    let question = world.server.push(Incoming::private(BEN).text("/file_info path=/shared"));
    // At once: who looks at it just now would make an empty chain in a folder that is only emptied.
    std::fs::rename(&chain, world.home.dir().join("removed"))?;
    assert!(world.answer(&question).await?.text.contains("directory"));
    end(world, [third], 5)
}

/// The same once more: a session is left to any node a moment after its last turn.
fn give_again(server: &PostgresServer, schema: &str, of: (&World, i64), node: &str) {
    let left = format!("SELECT count(*) FROM {schema}.claim WHERE session = '{}'", of.0.session(of.1));
    let until = Instant::now() + PATIENCE;
    while server.sql(&left) != "0" {
        assert!(Instant::now() < until, "it is not left");
        std::thread::sleep(Duration::from_millis(20));
    }
    give(server, schema, of, node);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_that_slept_writes_nothing_when_it_wakes() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::a_node_that_slept") else { return Ok(()) };
    let (mut world, mut first, schema) = two(server, |home| home).await?;
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    // What is out and not noted yet is sent again, as after a kill.
    let unsent = format!("SELECT count(*) FROM {schema}.part WHERE state = 'pending'");
    while server.sql(&unsent) != "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    first.signal(Signal::STOP)?;
    let question = world.server.push(Incoming::private(ANN).text("/file_info path=/tmp"));
    world.says("polling as ")?;
    let answer = world.answer(&question).await?.text;
    assert!(answer.contains("directory"), "{answer}");
    assert_eq!(nodes(&world), [("b".to_owned(), 2)], "nobody waits for it");
    first.signal(Signal::CONT)?;
    first.gives_up(PATIENCE, TAKEN_OVER)?;
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn one_name_is_of_one_node_and_all_have_one_state_folder() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::one_name_is_of_one_node") else { return Ok(()) };
    let schema = new_schema();
    let fit = |home: Home| cluster(home.postgres(server, &schema));
    let mut world = World::stopped(fit).await?;
    world.launch(&[], &[("COFFERDAM_CLUSTER_NODE", "a")])?;
    world.says("polling as ")?;
    node(&world, "a")?.gives_up(PATIENCE, "another cofferdam serve uses ")?;
    let elsewhere = World::stopped(fit).await?;
    let other_folder = "node \"a\" has another state folder";
    node(&elsewhere, "b")?.gives_up(PATIENCE, other_folder)?;
    for (home, tells) in [(&elsewhere.home, true), (&world.home, false)] {
        let mut doctor = home.command(&["doctor", "--offline"]);
        let told: Ran = doctor.env("COFFERDAM_CLUSTER_NODE", "b").output()?.into();
        assert_eq!(told.stdout.contains(other_folder), tells, "{told:?}");
    }
    assert_eq!(nodes(&world), [("a".to_owned(), 2)], "who is refused leaves nothing");
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    world.end(1)
}

/// Eight people in a flood limit would keep a node from serving anybody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_reply_that_the_messenger_keeps_waiting_takes_nobodys_place() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::a_reply_that_the_messenger") else { return Ok(()) };
    let fit = |home: Home| cluster(home.postgres(server, &new_schema()).config("[turns]\nat_once = 1\n"));
    let world = World::stopped(fit).await?;
    let only = node(&world, "a")?.polling()?;
    let gate = world.server.gate(Target::method("sendMessage"), Hold::BeforeEffect);
    let held = world.server.push(Incoming::private(ANN).text("/file_info path=/shared"));
    gate.reached().await?;
    let next = world.server.push(Incoming::private(BEN).text("/file_info path=/shared"));
    assert!(world.answer(&next).await?.text.contains("directory"));
    gate.release();
    assert!(world.answer(&held).await?.text.contains("directory"));
    end(world, [only], 2)
}
