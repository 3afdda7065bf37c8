//! Nodes that have a workspace each: what is done for a person is done where their files are.

use super::*;
use crate::telegram::world::GROUP;
use std::path::PathBuf;

const OWN: &str = "[workspace]\nroot = \"workspace\"\nper_user = true\naffinity = \"user\"\n";

/// Writes the name of the one who asks.
const WRITE_ALONG: &str = "workflow: note\non: { command: note }\ntasks:\n\
    \x20 - { id: write, tool: file_write, with: { path: /shared/noted.txt, content: noted } }\n\
    output: \"noted\"\n";

/// Asks Ann, and writes what she says for the one who asks.
const ASK_ALONG: &str = "workflow: ask\non: { command: ask }\ntasks:\n\
    \x20 - { id: ask, send: { to: \"telegram:5000000001\", text: \"When is it?\" } }\n\
    \x20 - { id: answer, wait: { reply_to: ask, timeout: 24h } }\n\
    \x20 - { id: keep, tool: file_write, with: { path: /shared/answer.txt, content: \"{{ tasks.answer.output.text }}\" } }\n\
    output: \"kept\"\n";

fn workspace(world: &World, node: &str) -> PathBuf {
    world.home.dir().join(format!("workspace-{node}"))
}

/// What a person has at a node below `/shared`, if anything.
fn at(world: &World, (node, person): (&str, i64), name: &str) -> Option<String> {
    let shared = workspace(world, node).join(format!("users/telegram-{person}/shared"));
    std::fs::read_to_string(shared.join(name)).ok()
}

/// What Ann and Ben have there at each node, if anything.
fn at_all(world: &World, name: &str) -> [[Option<String>; 2]; 2] {
    ["a", "b"].map(|node| [ANN, BEN].map(|person| at(world, (node, person), name)))
}

/// Starts a node with its own workspace. Its log has what guests say.
fn start(world: &World, node: &str) -> anyhow::Result<Serving> {
    let root = workspace(world, node);
    let root = root.to_str().expect("UTF-8");
    let environment =
        [("COFFERDAM_CLUSTER_NODE", node), ("COFFERDAM_WORKSPACE_ROOT", root), ("COFFERDAM_LOG", "debug")];
    Serving::launch(&world.home, world.server.token(), &[], &environment)
}

/// Both of them, with Ann at home at `a` and Ben at `b`: on a busy machine a node that is late gets
/// nobody new.
async fn two_homes(
    server: &PostgresServer,
    fit: impl FnOnce(Home) -> Home,
) -> anyhow::Result<(World, [Serving; 2], String)> {
    let schema = new_schema();
    let world = World::stopped(|home| fit(cluster(home.postgres(server, &schema)).config(OWN))).await?;
    let a = start(&world, "a")?.polling()?;
    let b = start(&world, "b")?.says("another node hears telegram-")?;
    server.sql(&format!(
        "INSERT INTO {schema}.home (person, node) VALUES ('telegram:{ANN}', 'a'), ('telegram:{BEN}', 'b')"
    ));
    Ok((world, [a, b], schema))
}

fn write(name: &str, content: &str) -> String {
    format!("/file_write path=/shared/{name} content={content}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_done_for_a_person_is_done_where_their_files_are() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::homes::what_is_done_for_a_person") else { return Ok(()) };
    let (world, [a, b], _) = two_homes(server, |home| home.offering("note.yaml", WRITE_ALONG)).await?;
    for (person, name) in [(ANN, "ann"), (BEN, "ben")] {
        let said = world.ask(Incoming::private(person).text(&write("own", name))).await?;
        assert!(said.contains("/shared/own"), "{said}");
    }
    let of = |name: &str| at_all(&world, name);
    let (ann, ben) = (Some("ann".to_owned()), Some("ben".to_owned()));
    assert_eq!(of("own"), [[ann.clone(), None], [None, ben.clone()]]);
    // In a group as well, and in order.
    for round in 0..3 {
        for (person, name) in [(ANN, "ann"), (BEN, "ben")] {
            world.server.push(Incoming::group(GROUP, person).text(&write(&format!("group{round}"), name)));
        }
    }
    let in_group = |sent: &SentMessage| sent.chat_id == GROUP;
    let until = Instant::now() + PATIENCE;
    let answered = || world.server.sent_messages().into_iter().filter(in_group).collect::<Vec<_>>();
    while answered().len() < 6 {
        assert!(Instant::now() < until, "{:#?}", answered());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let order: Vec<_> = answered().iter().map(|sent| sent.reply_to).collect();
    assert!(order.is_sorted(), "{order:?}");
    for round in 0..3 {
        let both = [[ann.clone(), None], [None, ben.clone()]];
        assert_eq!(of(&format!("group{round}")), both, "{round}");
    }
    // A run of a workflow, though the other node looks after all of them.
    let said = world.ask(Incoming::private(BEN).text("/note")).await?;
    assert_eq!(said, "noted");
    assert_eq!(of("noted.txt"), [[None, None], [None, Some("noted".to_owned())]]);
    // What is for a node that is away waits for it, and nobody else does.
    b.kill();
    let waits = world.server.push(Incoming::private(BEN).text("/file_read path=/shared/own"));
    world.ask(Incoming::private(ANN).text("/file_read path=/shared/own")).await?;
    let until = Instant::now() + PATIENCE;
    let status = || world.home.run(&["status"]).stdout;
    while !status().contains("node b: not there; people whose files it has: 1,") {
        assert!(Instant::now() < until, "{}", status());
    }
    assert_eq!(world.home.run(&["status"]).code, Some(3), "somebody waits for it");
    let answer =
        |sent: &SentMessage| sent.reply_to == Some(waits.message_id) && sent.chat_id == waits.chat_id;
    assert!(!world.server.sent_messages().iter().any(answer));
    let before = workspace(&world, "b").join(format!("users/telegram-{CAT}/shared"));
    std::fs::create_dir_all(&before)?;
    std::fs::write(before.join("before"), "cat")?;
    let b = start(&world, "b")?.says("another node hears telegram-")?;
    assert!(world.answer(&waits).await?.text.contains("ben"));
    // Who has files somewhere from before is at home there.
    assert!(world.ask(Incoming::private(CAT).text("/file_read path=/shared/before")).await?.contains("cat"));
    // Or another one gets the files.
    let rehome = || world.home.run(&["store", "rehome", "b", "a"]);
    let early = rehome();
    assert!(early.code == Some(2) && early.stderr.contains("another serve uses the store"), "{early:?}");
    b.kill();
    let waits = world.server.push(Incoming::private(BEN).text("/file_read path=/shared/own"));
    let until = Instant::now() + PATIENCE;
    let users = |node| workspace(&world, node).join(format!("users/telegram-{BEN}"));
    let copied = std::process::Command::new("cp").arg("-a").arg(users("b")).arg(users("a")).status()?;
    assert!(copied.success());
    let nowhere = world.home.run(&["store", "rehome", "b", "c"]);
    assert!(nowhere.code == Some(2) && nowhere.stderr.contains("node c is not there"), "{nowhere:?}");
    let nobody = world.home.run(&["store", "rehome", "B", "a"]);
    let told = "no node B was ever there; write one of a, b";
    assert!(nobody.code == Some(2) && nobody.stderr.contains(told), "{nobody:?}");
    let mut moved = rehome();
    while moved.code != Some(0) {
        assert!(Instant::now() < until, "{moved:?}");
        moved = rehome();
    }
    assert!(moved.stdout.starts_with("people of node b that belong to node a now: 2\n"), "{moved:?}");
    assert!(world.answer(&waits).await?.text.contains("ben"));
    let status = world.home.run(&["status"]);
    assert!(status.code == Some(0) && !status.stdout.contains("not there"), "{status:?}");
    let count = world.server.sent_messages().len();
    end(world, [a], count)
}

/// What a turn of a node had published shows in its own workspace alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_killed_node_had_published_is_settled_by_itself_alone() -> anyhow::Result<()> {
    const NAME: &str = "telegram::cluster::homes::what_a_killed_node_had_published";
    let Some(server) = shared(NAME).filter(|_| available(NAME)) else { return Ok(()) };
    let (world, [a, b], _) = two_homes(server, |home| home).await?;
    for person in [ANN, BEN] {
        world.ask(Incoming::private(person).text("/file_info path=/shared")).await?;
    }
    let audit = world.home.state().join("node-b/audit.jsonl");
    let tracer = Tracer::kills(b.pid(), "write", 2, Some(&audit));
    let asked = world.server.push(Incoming::private(BEN).text(&write("kept", "once")));
    let until = Instant::now() + PATIENCE;
    while !world.home.run(&["status"]).stdout.contains("node b: not there") {
        assert!(Instant::now() < until, "{}", world.home.run(&["status"]).stdout);
    }
    drop((tracer, b));
    // Its reply, were there one, would be the other node's to send; its turn is not.
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    let of_file = || {
        let records = world.home.audit().into_iter();
        records.filter(|record| record["files"][0]["path"] == "/shared/kept").collect::<Vec<_>>()
    };
    assert_eq!(of_file().len(), 1, "an intent, which nobody else settles: {:#?}", of_file());
    let again = start(&world, "b")?.says("another node hears telegram-")?;
    let said = world.answer(&asked).await?.text;
    assert!(said.contains("/shared/kept"), "{said}");
    assert_eq!(at(&world, ("b", BEN), "kept").as_deref(), Some("once"));
    let told: Vec<_> = of_file().iter().map(|record| record["event"].clone()).collect();
    assert!(told.starts_with(&[json!("intent"), json!("outcome")]), "{told:?}");
    assert!(of_file().iter().all(|record| record["settled_by"].is_null()), "{:#?}", of_file());
    let count = world.server.sent_messages().len();
    end(world, [a, again], count)
}

/// The message that stops a turn comes after one that waits for another node, and is not held up.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_stops_their_turn_in_a_group_lets_the_next_person_have_theirs() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::homes::who_stops_their_turn_in_a_group") else {
        return Ok(());
    };
    // Longer than the patience of this test: the turn does not end by it.
    let fit = |home: Home| home.hostile("memory = \"16 MiB\"\ndeadline = \"120s\"");
    let (world, [a, b], _) = two_homes(server, fit).await?;
    let in_group = |person: i64, text: &str| world.server.push(Incoming::group(GROUP, person).text(text));
    let anns = in_group(ANN, "/hostile behaviour=stage_then_spin path=/shared/late");
    let a = a.says("guest: spinning")?;
    let bens = in_group(BEN, &write("next", "ben"));
    // Once what he says later elsewhere is answered, his node has looked at the group as well.
    let beside = world.server.push(Incoming::private(BEN).text(&write("beside", "ben")));
    world.answer(&beside).await?;
    let (none, ben): ([Option<String>; 2], _) = ([None, None], [None, Some("ben".to_owned())]);
    assert_eq!(at_all(&world, "beside"), [none.clone(), ben.clone()]);
    assert_eq!(at_all(&world, "next"), [none.clone(), none.clone()], "her turn runs");
    in_group(ANN, "/cancel");
    let said = world.answer(&anns).await?.text;
    let waits = said.ends_with(" 1 message is waiting and comes next.");
    assert!(said.starts_with("cancelled: ") && waits, "{said}");
    let said = world.answer(&bens).await?.text;
    assert!(said.contains("/shared/next"), "{said}");
    assert_eq!(at_all(&world, "next"), [none.clone(), ben]);
    assert_eq!(at_all(&world, "late"), [none.clone(), none], "nothing of what was stopped");
    let again = in_group(ANN, &write("again", "ann"));
    let said = world.answer(&again).await?.text;
    assert!(said.contains("/shared/again"), "{said}");
    assert_eq!(at(&world, ("a", ANN), "again").as_deref(), Some("ann"));
    let answers = |sent: &SentMessage| sent.chat_id == GROUP && is_answer(sent);
    let answers = world.server.sent_messages().into_iter().filter(answers);
    let order: Vec<_> = answers.map(|sent| sent.reply_to).collect();
    let asked = [&anns, &bens, &again].map(|pushed| Some(pushed.message_id));
    assert_eq!(order, asked, "each was answered once, and what stopped the first by nothing");
    let count = world.server.sent_messages().len();
    end(world, [a, b], count)
}

/// Nobody else learns what was stopped before that is written down: to the next node it would mean
/// the turn of the next person.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_stops_a_turn_in_a_group_stops_no_other_one() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::homes::what_stops_a_turn_in_a_group") else {
        return Ok(());
    };
    let fit = |home: Home| home.hostile("memory = \"16 MiB\"\ndeadline = \"120s\"");
    let (world, [a, b], schema) = two_homes(server, fit).await?;
    let in_group = |person: i64, text: &str| world.server.push(Incoming::group(GROUP, person).text(text));
    let anns = in_group(ANN, "/hostile behaviour=stage_then_spin path=/shared/late");
    let a = a.says("guest: spinning")?;
    let bens = in_group(BEN, &write("next", "ben"));
    // Nobody can bind the message that stops her turn, until the trigger goes.
    server.sql(&format!(
        "CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
         CREATE TRIGGER refused BEFORE UPDATE ON {schema}.inbox FOR EACH ROW
         WHEN (NEW.turn IS NOT NULL AND NEW.raw LIKE '%/cancel%') EXECUTE FUNCTION {schema}.refuse()"
    ));
    in_group(ANN, "/cancel");
    let said = world.answer(&anns).await?.text;
    assert!(said.starts_with("cancelled: "), "{said}");
    // Each node looks each second for sessions that nobody has.
    tokio::time::sleep(LEASE).await;
    let none = [[None, None], [None, None]];
    assert_eq!(at_all(&world, "next"), none, "the next turn waits for that");
    server.sql(&format!("DROP TRIGGER refused ON {schema}.inbox"));
    let said = world.answer(&bens).await?.text;
    assert!(said.contains("/shared/next"), "{said}");
    assert_eq!(at_all(&world, "next"), [[None, None], [None, Some("ben".to_owned())]]);
    let count = world.server.sent_messages().len();
    end(world, [a, b], count)
}

/// Parts of it that stand behind a message for another node are waited for as all others are.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_album_with_another_persons_message_in_it_is_answered_as_one() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::homes::an_album_with_another_persons_message") else {
        return Ok(());
    };
    let (world, [a, b], _) = two_homes(server, |home| home).await?;
    let part = |n: usize| {
        let media = Media::with_content(&format!("g-{n}"), format!("part {n}"));
        Incoming::group(GROUP, ANN).document(media.name(&format!("{n}.txt"))).media_group("g")
    };
    let album = world.server.push(part(0).caption(&save(2, "/shared/third")));
    let bens = world.server.push(Incoming::group(GROUP, BEN).text(&write("next", "ben")));
    // Each comes within the window of the one before, the last one not within that of the first.
    for n in 1..3 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        world.server.push(part(n));
    }
    let said = world.answer(&album).await?.text;
    assert!(said.contains(r#""saved":true"#), "{said}");
    assert_eq!(at(&world, ("a", ANN), "third").as_deref(), Some("part 2"));
    world.answer(&bens).await?;
    end(world, [a, b], 2)
}

/// What its run waits for comes when its node is gone and another one has its files.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_run_of_a_node_that_is_gone_goes_on_where_its_files_are_now() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::homes::a_run_of_a_node_that_is_gone") else {
        return Ok(());
    };
    let fit = |home: Home| home.offering("ask.yaml", ASK_ALONG);
    let (world, [a, b], schema) = two_homes(server, fit).await?;
    for (person, name) in [(ANN, "ann"), (BEN, "ben")] {
        world.ask(Incoming::private(person).text(&write("own", name))).await?;
    }
    let asked = world.server.push(Incoming::private(BEN).text("/ask"));
    let is_question = |sent: &SentMessage| sent.chat_id == ANN && sent.text == "When is it?";
    let question = world.server.wait_for_message(PATIENCE, is_question).await?;
    let said = world.answer(&asked).await?.text;
    assert!(said.starts_with("ask-"), "it waits: {said}");
    let until = Instant::now() + PATIENCE;
    let runs = || world.home.run(&["workflow", "list", "--json"]).json();
    // What is out and not noted yet is sent again, and she would reply to the first of two.
    let unsent = format!("SELECT count(*) FROM {schema}.part WHERE state = 'pending'");
    while runs()["runs"][0]["state"] != "waiting" || server.sql(&unsent) != "0" {
        assert!(Instant::now() < until, "{}", runs());
    }
    b.kill();
    let until = Instant::now() + PATIENCE;
    let status = || world.home.run(&["status"]).stdout;
    // As long as he has no files there, the run waits alone.
    let at_home = |node: &str| {
        server.sql(&format!("UPDATE {schema}.home SET node = '{node}' WHERE person = 'telegram:{BEN}'"))
    };
    at_home("a");
    while !status().contains("node b: not there; open runs whose files it has: 1; ") {
        assert!(Instant::now() < until, "{}", status());
    }
    assert_eq!(world.home.run(&["status"]).code, Some(3), "a run waits for it");
    at_home("b");
    let waits = "node b: not there; people whose files it has: 1, and their messages wait; \
                 open runs whose files it has: 1; ";
    while !status().contains(waits) {
        assert!(Instant::now() < until, "{}", status());
    }
    let users = |node| workspace(&world, node).join(format!("users/telegram-{BEN}"));
    let copied = std::process::Command::new("cp").arg("-a").arg(users("b")).arg(users("a")).status()?;
    assert!(copied.success());
    let moved = world.home.run(&["store", "rehome", "b", "a"]);
    let told = "people of node b that belong to node a now: 1\nopen runs of node b that go on at node a: 1\n";
    assert_eq!(moved.stdout, told, "{moved:?}");
    assert!(!status().contains("not there"), "{}", status());
    world.server.push(Incoming::private(ANN).text("at noon").reply_to(&question.message));
    let is_end = |sent: &SentMessage| {
        sent.chat_id == BEN && sent.reply_to == Some(asked.message_id) && sent.text == "kept"
    };
    world.server.wait_for_message(PATIENCE, is_end).await?;
    assert_eq!(at_all(&world, "answer.txt"), [[None, Some("at noon".to_owned())], [None, None]]);
    let count = world.server.sent_messages().len();
    end(world, [a], count)
}

/// It would have to be, before a run goes on that was that node's.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_does_not_wait_for_an_audit_that_cannot_be_settled() -> anyhow::Result<()> {
    const STOP_MAX: Duration = Duration::from_secs(10);
    let Some(server) = shared("telegram::cluster::homes::a_stop_does_not_wait") else { return Ok(()) };
    let (world, [a, b], schema) = two_homes(server, |home| home).await?;
    // No file, but a folder in its place: it cannot be read.
    let chain = world.home.state().join("node-c");
    std::fs::create_dir_all(chain.join("audit.jsonl"))?;
    server.sql(&format!("INSERT INTO {schema}.heir (node, heir) VALUES ('c', 'b')"));
    let b = b.says("runs that had begun a call wait until the audit is settled")?;
    world.ask(Incoming::private(BEN).text(&write("own", "ben"))).await?;
    assert_eq!(at(&world, ("b", BEN), "own").as_deref(), Some("ben"), "nothing else waits for it");
    b.end(STOP_MAX)?;
    std::fs::rename(&chain, world.home.dir().join("removed"))?;
    end(world, [a], 1)
}
