//! Nodes that share a store in a real PostgreSQL and one state folder: one serves, the others stand
//! by, and the one that takes over goes on where the one before stopped.

use super::metrics::{get, told_in, watched};
use super::world::{ANN, PATIENCE, World, save};
use rustix::process::Signal;
use std::time::{Duration, Instant};
use support::home::Home;
use support::postgres::{PostgresServer, new_schema, shared};
use support::samples;
use support::serving::Serving;
use support::telegram::{Hold, Incoming, Media, Target};

/// The shortest that is taken.
const LEASE: Duration = Duration::from_secs(3);
/// From a node's silence to another one's service, a debug build on a busy machine.
const TAKEN_OVER_MAX: Duration = Duration::from_secs(20);

fn cluster(home: Home) -> Home {
    watched(home.config("[cluster]\nlease = \"3s\"\n"))
}

fn node(world: &World, name: &str) -> anyhow::Result<Serving> {
    Serving::launch(&world.home, world.server.token(), &[], &[("COFFERDAM_CLUSTER_NODE", name)])
}

/// Node `b`, which stands by while `a` serves.
fn stand_by(world: &mut World) -> anyhow::Result<()> {
    world.launch(&[], &[("COFFERDAM_CLUSTER_NODE", "b")])?;
    world.says("node b stands by: node a serves (process ")
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

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_turn_of_a_node_that_is_killed_goes_on_at_the_one_that_stood_by() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::a_turn_of_a_node_that_is_killed") else { return Ok(()) };
    let schema = new_schema();
    let mut world = World::stopped(|home| cluster(home.postgres(server, &schema))).await?;
    let first = node(&world, "a")?.polling()?;
    stand_by(&mut world)?;
    assert_eq!(nodes(&world), [("a".to_owned(), 1), ("b".to_owned(), 0)]);
    let status = world.home.run(&["status"]);
    assert_eq!(status.code, Some(0), "{status:?}");
    assert!(status.stdout.contains("\nnode a: serves, process "), "{status:?}");
    assert!(status.stdout.contains("\nnode b: stands by, process "), "{status:?}");
    let (code, body) = get(told_in(&world.log())?, "/healthz")?;
    assert_eq!((code, body.as_str()), (200, "ok\n"), "who stands by is well");
    let bytes = samples::jpeg(10_000);
    let gate = world.server.gate(Target::method("getFile"), Hold::BeforeEffect);
    let photo = Incoming::private(ANN).photo(Media::with_content("p", bytes.clone()));
    let question = world.server.push(photo.caption(&save(0, "/shared/a.jpg")));
    gate.reached().await?;
    first.kill();
    gate.release();
    let since = Instant::now();
    world.says("polling as ")?;
    let took = since.elapsed();
    assert!(took < TAKEN_OVER_MAX, "{took:?}");
    let answer = world.answer(&question).await?.text;
    assert!(answer.contains(r#""saved":true"#), "{answer}");
    assert!(world.saved("/shared/a.jpg") == bytes);
    assert_eq!(nodes(&world), [("b".to_owned(), 1)]);
    // A node of this name is waited for no longer, and stands by in its turn.
    let again = node(&world, "a")?.says("node a stands by: node b serves")?;
    let (status, log) = again.stop(Signal::TERM, PATIENCE)?;
    assert!(status.success(), "{log}");
    world.end(1)?;
    assert_eq!(server.sql(&format!("SELECT count(*) FROM {schema}.node")), "0");
    assert_eq!(server.sql(&format!("SELECT count(*) FROM {schema}.duty")), "0");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_that_ends_hands_over_at_once() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::a_node_that_ends") else { return Ok(()) };
    let schema = new_schema();
    let mut world = World::stopped(|home| cluster(home.postgres(server, &schema))).await?;
    let first = node(&world, "a")?.polling()?;
    stand_by(&mut world)?;
    world.ask(Incoming::private(ANN).text("/file_write path=/shared/a content=one")).await?;
    let (status, log) = first.stop(Signal::TERM, PATIENCE)?;
    assert!(status.success(), "{log}");
    world.says("polling as ")?;
    let answer = world.ask(Incoming::private(ANN).text("/file_read path=/shared/a")).await?;
    assert!(answer.contains("one"), "{answer}");
    // It listens for files from outside, as one that had nobody to wait for.
    let said = world.home.run(&["say", &format!("telegram:{ANN}"), "hello"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_that_slept_writes_nothing_when_it_wakes() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::a_node_that_slept") else { return Ok(()) };
    let schema = new_schema();
    let mut world = World::stopped(|home| cluster(home.postgres(server, &schema))).await?;
    let mut first = node(&world, "a")?.polling()?;
    stand_by(&mut world)?;
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    // What is out and not noted yet is sent again, as after a kill.
    let unsent = format!("SELECT count(*) FROM {schema}.part WHERE state = 'pending'");
    while server.sql(&unsent) != "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    first.signal(Signal::STOP)?;
    let question = world.server.push(Incoming::private(ANN).text("/file_info path=/tmp"));
    world.logs("waiting to take over: the node before, process ").await?;
    assert_eq!(nodes(&world), [("b".to_owned(), 1)], "the duty is another one's");
    first.signal(Signal::CONT)?;
    let status = first.wait(PATIENCE)?;
    let log = first.whole_log();
    assert!(status.code() == Some(2) && log.contains("another one took its duty over"), "{status} {log}");
    world.says("polling as ")?;
    let answer = world.answer(&question).await?.text;
    assert!(answer.contains("directory"), "{answer}");
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nodes_outlive_their_server_and_one_of_them_serves_again() -> anyhow::Result<()> {
    let Some(_) = shared("telegram::cluster::nodes_outlive_their_server") else { return Ok(()) };
    let mut server = PostgresServer::start().expect("it is there");
    let mut world = World::stopped(|home| cluster(home.postgres(&server, "here"))).await?;
    let first = node(&world, "a")?.polling()?;
    stand_by(&mut world)?;
    server.stop();
    world.logs("node b cannot look who serves: ").await?;
    let question = world.server.push(Incoming::private(ANN).text("/file_info path=/tmp"));
    server.begin();
    let answer = world.answer(&question).await?.text;
    assert!(answer.contains("directory"), "{answer}");
    let (status, log) = first.stop(Signal::TERM, PATIENCE)?;
    // The one that was quicker when the server was back serves; the other stands by, or has ended.
    assert!(status.success() || log.contains("another one took its duty over"), "{status} {log}");
    world.says("polling as ")?;
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn one_name_is_of_one_node_and_all_have_one_state_folder() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::one_name_is_of_one_node") else { return Ok(()) };
    let schema = new_schema();
    let fit = |home: Home| cluster(home.postgres(server, &schema));
    let mut world = World::stopped(fit).await?;
    world.launch(&[], &[("COFFERDAM_CLUSTER_NODE", "a")])?;
    world.says("polling as ")?;
    let mut twin = node(&world, "a")?;
    assert_eq!(twin.wait(PATIENCE)?.code(), Some(2));
    let log = twin.whole_log();
    assert!(log.contains("as node \"a\": process ") && log.contains("another [cluster] node"), "{log}");
    let elsewhere = World::stopped(fit).await?;
    let mut stranger = node(&elsewhere, "b")?;
    assert_eq!(stranger.wait(PATIENCE)?.code(), Some(2));
    let log = stranger.whole_log();
    assert!(log.contains("node \"a\" serves with another state folder"), "{log}");
    assert_eq!(nodes(&world), [("a".to_owned(), 1)], "who is refused leaves nothing");
    assert!(LEASE < PATIENCE, "it is asked for longer than that");
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    world.end(1)
}
