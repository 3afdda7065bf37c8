//! Nodes that hold the blobs of replies in a bucket: what one took in another one sends, whatever
//! the bucket does meanwhile.

use super::tracer::{Tracer, available, synced};
use super::world::{ANN, BEN, PATIENCE, World};
use std::time::Duration;
use support::home::Home;
use support::postgres::{PostgresServer, new_schema, shared};
use support::s3::{BUCKET, Fault, KEY, S3};
use support::telegram::{Hold, Incoming, SentMessage, Target};

/// Larger than a part of an upload.
const LARGE: usize = 6_000_000;

fn with(server: &PostgresServer, s3: &S3) -> impl FnOnce(Home) -> Home {
    let blobs = format!("blobs = \"s3://{BUCKET}/of/us\"\n[cluster]\nlease = \"3s\"\n");
    let variables = s3.environment();
    move |home| home.postgres(server, &new_schema()).config(&blobs).environment(variables)
}

/// One node that is called `a`, and hears the bot.
async fn alone(server: &PostgresServer, s3: &S3) -> anyhow::Result<World> {
    let mut world = World::stopped(with(server, s3)).await?;
    world.launch(&[], &[("COFFERDAM_CLUSTER_NODE", "a")])?;
    world.says("polling as ")?;
    Ok(world)
}

fn put(world: &World, name: &str, bytes: &[u8]) -> anyhow::Result<Incoming> {
    std::fs::write(world.home.host(&format!("/shared/{name}")), bytes)?;
    Ok(Incoming::private(ANN).text(&format!("/attachment_add path=/shared/{name}")))
}

/// Waits for the file, and returns how many messages its reply has: on a slow machine the words
/// come before it by themselves, where the sign of life stood.
async fn brought(world: &World, name: &str, bytes: &[u8]) -> anyhow::Result<usize> {
    let is_it = |sent: &SentMessage| sent.file.as_ref().is_some_and(|file| file.name == name);
    let sent = world.server.wait_for_message(PATIENCE, is_it).await?;
    let file = sent.file.as_ref().expect("it is one");
    assert!(file.bytes == bytes, "{} of {} bytes", file.name, file.bytes.len());
    // A file answers the words where they are a message, and else the question.
    let are_words = |one: &SentMessage| (one.chat_id, Some(one.message_id)) == (sent.chat_id, sent.reply_to);
    let words: Vec<_> = world.server.sent_messages().into_iter().filter(are_words).collect();
    for message in words.iter().chain(words.is_empty().then_some(&sent)) {
        assert!(message.text.starts_with(r#"{"ok":true"#) && message.text.contains(name), "{message:?}");
    }
    Ok(1 + words.len())
}

/// Node `a` is killed when it is about to send a file, and `b` comes in its place; before that,
/// this happens.
async fn killed_before_it_sends(
    (world, s3): (&mut World, &S3),
    (name, bytes): (&str, &[u8]),
    meanwhile: impl FnOnce(&S3),
) -> anyhow::Result<()> {
    let gate = world.server.gate(Target::method("sendDocument"), Hold::BeforeEffect);
    world.server.push(put(world, name, bytes)?);
    world.kill_at(gate).await?;
    meanwhile(s3);
    world.launch(&[], &[("COFFERDAM_CLUSTER_NODE", "b")])?;
    world.says("polling as ")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_one_node_took_in_another_one_sends() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::bucket::what_one_node_took_in") else { return Ok(()) };
    let s3 = S3::start().await?;
    let old = "ab".repeat(32);
    s3.put(&format!("of/us/{old}"), b"old", Duration::from_secs(2 * 60 * 60));
    for name in [format!("of/us/{}", "cd".repeat(32)), "of/us/README".to_owned(), old.clone()] {
        let age = if name.contains("cd") { 30 } else { 2 * 60 };
        s3.put(&name, b"not to be removed", Duration::from_secs(age * 60));
    }
    let mut world = alone(server, &s3).await?;
    let bytes = vec![b'x'; LARGE];
    killed_before_it_sends((&mut world, &s3), ("large.bin", &bytes), |s3| {
        let parts = s3.requests().into_iter().filter(|request| request.contains("partNumber=")).count();
        assert_eq!((parts, s3.open_uploads()), (2, 0), "it went in parts");
    })
    .await?;
    let large = brought(&world, "large.bin", &bytes).await?;
    assert!(s3.requests().iter().any(|request| request.starts_with("GET /replies/of/us/")), "it was here");
    // A small one goes at once, and comes from the folder of who took it in.
    let fetched = s3.requests().iter().filter(|request| request.starts_with("GET /replies/of/us/")).count();
    world.server.push(put(&world, "small.txt", b"small")?);
    let small = brought(&world, "small.txt", b"small").await?;
    let again = s3.requests().iter().filter(|request| request.starts_with("GET /replies/of/us/")).count();
    assert_eq!(fetched, again);
    world.ask(Incoming::private(BEN).text("/file_info path=/shared")).await?;
    // The state folder that the nodes share has none of them, and what is old is gone.
    assert!(!world.home.state().join("outgoing").exists());
    assert!(!world.log().contains(KEY), "a key is told");
    let left: Vec<String> = s3.objects().into_keys().collect();
    assert!(!left.contains(&format!("of/us/{old}")), "{left:?}");
    for name in [format!("of/us/{}", "cd".repeat(32)), "of/us/README".to_owned(), old] {
        assert!(left.contains(&name), "{name} is not ours to remove: {left:?}");
    }
    world.end(large + small + 1)
}

/// The turn is told, and nothing is half there.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_file_that_the_bucket_does_not_take_is_in_no_reply() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::bucket::a_file_that_the_bucket_does_not_take") else {
        return Ok(());
    };
    let s3 = S3::start().await?;
    let world = alone(server, &s3).await?;
    for fault in [Fault::Status(500), Fault::Hangup, Fault::Status(403)] {
        s3.fault(Some(fault));
        let told = world.ask(put(&world, "a.txt", b"a file")?).await?;
        assert!(told.contains("write_failed") && told.contains("cannot be taken into the reply"), "{told}");
        assert!(!told.contains("127.0.0.1") && !told.contains(BUCKET), "people are told where it is: {told}");
    }
    s3.fault(Some(Fault::Parts(500)));
    let told = world.ask(put(&world, "large.bin", &vec![b'x'; LARGE])?).await?;
    assert!(told.contains("write_failed"), "{told}");
    assert_eq!(s3.open_uploads(), 0, "parts are left");
    s3.fault(Some(Fault::Status(403)));
    let told = world.home.run(&["doctor"]).stdout;
    assert!(told.contains("the bucket of [store] blobs cannot be used: the bucket refuses it: "), "{told}");
    let told = world.home.run(&["doctor", "--offline"]).stdout;
    assert!(!told.contains("bucket"), "offline it is not tried: {told}");
    s3.fault(None);
    let told = world.home.run(&["doctor"]).stdout;
    assert!(!told.contains("bucket"), "{told}");
    assert!(s3.objects().is_empty(), "what doctor puts there it removes");
    world.server.push(put(&world, "a.txt", b"a file")?);
    let messages = brought(&world, "a.txt", b"a file").await?;
    world.end(4 + messages)
}

/// What another node took in waits until the bucket can be read.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_reply_waits_for_a_bucket_that_is_away() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::bucket::a_reply_waits_for_a_bucket") else { return Ok(()) };
    let s3 = S3::start().await?;
    let mut world = alone(server, &s3).await?;
    let away = |s3: &S3| s3.fault(Some(Fault::Status(503)));
    killed_before_it_sends((&mut world, &s3), ("a.txt", b"a file"), away).await?;
    world.says("the bucket has a file of a reply, and cannot be read")?;
    s3.fault(None);
    let messages = brought(&world, "a.txt", b"a file").await?;
    world.end(messages)
}

/// It is not hashed again before it is sent: a crash leaves no name without its bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_comes_out_of_the_bucket_is_on_disk_before_it_has_its_name() -> anyhow::Result<()> {
    let test = "telegram::bucket::what_comes_out_of_the_bucket_is_on_disk_before_it_has_its_name";
    let Some(server) = shared(test).filter(|_| available(test)) else { return Ok(()) };
    let s3 = S3::start().await?;
    let mut world = alone(server, &s3).await?;
    let away = |s3: &S3| s3.fault(Some(Fault::Status(503)));
    killed_before_it_sends((&mut world, &s3), ("a.txt", b"a file"), away).await?;
    world.says("the bucket has a file of a reply, and cannot be read")?;
    let log = world.home.dir().join("strace");
    let tracer = Tracer::logs(world.serving().pid(), &log);
    s3.fault(None);
    let messages = brought(&world, "a.txt", b"a file").await?;
    tracer.leave();
    synced(&std::fs::read_to_string(log)?);
    world.end(messages)
}

/// Nobody is sent what nobody took in.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn other_bytes_in_the_bucket_are_sent_to_nobody() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::bucket::other_bytes_in_the_bucket") else { return Ok(()) };
    let s3 = S3::start().await?;
    let mut world = alone(server, &s3).await?;
    let other = |s3: &S3| s3.fault(Some(Fault::OtherBytes));
    killed_before_it_sends((&mut world, &s3), ("a.txt", b"a file"), other).await?;
    let told = world.server.wait_for_messages(PATIENCE, 2).await?;
    assert!(told.iter().all(|sent| sent.file.is_none()), "{told:?}");
    assert!(
        told.iter().any(|sent| sent.text.contains("a.txt") && sent.text.contains("other bytes")),
        "{told:?}"
    );
    world.end(2)
}
