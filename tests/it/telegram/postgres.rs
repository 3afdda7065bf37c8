//! Turns of a gateway whose store is in a real PostgreSQL: as with SQLite, through kills, and while
//! the server is away.

use super::metrics::{monitor, until, watched};
use super::world::{ANN, PATIENCE, World, save};
use std::time::{Duration, Instant};
use support::postgres::{PASSWORD, PostgresServer, new_schema, shared};
use support::samples;
use support::telegram::{Hold, Incoming, Media, Pushed, Target};

/// Who serves at its end gives the store back; and no output has the password.
fn end(world: World, messages: usize, (server, schema): (&PostgresServer, &str)) -> anyhow::Result<()> {
    let log = world.log();
    assert!(!log.contains(PASSWORD), "the password is in the log");
    for words in [&["doctor", "--json"][..], &["doctor"], &["status"], &["status", "--json"]] {
        let ran = world.home.run(words);
        assert!(!ran.stdout.contains(PASSWORD) && !ran.stderr.contains(PASSWORD), "{words:?}");
    }
    assert!(!world.home.state().join("cofferdam.db").exists(), "nothing is kept beside it");
    world.end(messages)?;
    assert_eq!(server.sql(&format!("SELECT count(*) FROM {schema}.node")), "0");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_turn_is_answered_and_known_after_a_restart() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::postgres") else { return Ok(()) };
    let schema = new_schema();
    let mut world = World::running_in(|home| home.postgres(server, &schema)).await?;
    let photo = samples::jpeg(300_000);
    let sent = Incoming::private(ANN).photo(Media::with_content("p", photo.clone()));
    let answer = world.ask(sent.caption(&save(0, "/shared/cat.jpg"))).await?;
    assert!(answer.contains(r#""saved":true"#), "{answer}");
    assert!(world.saved("/shared/cat.jpg") == photo);
    let doctor = world.home.run(&["doctor", "--json"]).json();
    assert_eq!(doctor["database"]["engine"], "postgres", "{doctor}");
    assert_eq!(doctor["database"]["schema"], schema.as_str(), "{doctor}");
    assert!(doctor["database"]["serves"].as_str().is_some_and(|who| who.starts_with("process ")), "{doctor}");
    assert_eq!(world.home.run(&["status"]).code, Some(0));
    world.stop()?;
    world.start()?;
    // The file of the message before is known.
    let answer = world.ask(Incoming::private(ANN).text("/attachment_download {}")).await?;
    assert!(answer.contains(r#""mimeType":"image/jpeg""#), "{answer}");
    end(world, 2, (server, &schema))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_turn_that_a_kill_cut_off_goes_on() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::postgres") else { return Ok(()) };
    let schema = new_schema();
    let mut world = World::running_in(|home| home.postgres(server, &schema)).await?;
    let bytes = samples::jpeg(10_000);
    let gate = world.server.gate(Target::method("getFile"), Hold::BeforeEffect);
    let photo = Incoming::private(ANN).photo(Media::with_content("p", bytes.clone()));
    let question = world.server.push(photo.caption(&save(0, "/shared/a.jpg")));
    gate.reached().await?;
    world.kill();
    gate.release();
    // Another one waits until it is sure that the first one is gone.
    let since = Instant::now();
    world.start()?;
    assert!(since.elapsed() > Duration::from_secs(2), "{:?}", since.elapsed());
    let answer = world.answer(&question).await?.text;
    assert!(answer.contains(r#""saved":true"#), "{answer}");
    assert!(world.saved("/shared/a.jpg") == bytes);
    end(world, 1, (server, &schema))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_the_server_is_away_nothing_is_lost_and_it_is_told() -> anyhow::Result<()> {
    let Some(mut server) = PostgresServer::start("telegram::postgres") else { return Ok(()) };
    let world = World::running_in(|home| watched(home.postgres(&server, "here"))).await?;
    let monitor = monitor(&world).await?;
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    server.stop();
    let question = world.server.push(Incoming::private(ANN).text("/file_info path=/tmp"));
    world.logs("the store fails; waiting for it").await?;
    world.logs("PostgreSQL at ").await?;
    let status = world.home.run(&["status"]);
    assert!(status.code == Some(3) && status.stdout.contains("cannot be reached"), "{status:?}");
    until(monitor, "database: it cannot be written, so no message is taken").await?;
    let doctor = world.home.run(&["doctor"]);
    assert!(doctor.code == Some(3) && doctor.stdout.contains("cannot be reached"), "{doctor:?}");
    server.begin();
    let answer = world.answer(&question).await?.text;
    assert!(answer.contains("directory"), "{answer}");
    until(monitor, "ok\n").await?;
    end(world, 2, (&server, "here"))
}

/// Commits wait for a standby that nobody has, among them the lease's renewal and a message's.
async fn push_in_doubt(world: &World, server: &PostgresServer) -> anyhow::Result<Pushed> {
    let waiting = |least: u32| async move {
        let since = Instant::now();
        let count = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        while server.sql(count).parse::<u32>()? < least {
            anyhow::ensure!(since.elapsed() < PATIENCE, "no commit waits");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        anyhow::Ok(())
    };
    server.set("synchronous_standby_names", "nobody");
    waiting(1).await?;
    let question = world.server.push(Incoming::private(ANN).text("/file_info path=/tmp"));
    waiting(2).await?;
    Ok(question)
}

/// What was committed when the server went counts, though its answer was lost; and a stop does not
/// wait to ask.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_commit_in_doubt_is_asked_about_and_loses_no_message() -> anyhow::Result<()> {
    let Some(mut server) = PostgresServer::start("telegram::postgres") else { return Ok(()) };
    let mut world = World::running_in(|home| home.postgres(&server, "here")).await?;
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    for stops in [false, true] {
        let question = push_in_doubt(&world, &server).await?;
        server.stop();
        if stops {
            let took = world.stop()?;
            assert!(took < Duration::from_secs(10), "{took:?}");
        }
        server.begin();
        server.set("synchronous_standby_names", "");
        if stops {
            world.start()?;
        }
        let answer = world.answer(&question).await?.text;
        assert!(answer.contains("directory"), "{answer}");
    }
    end(world, 3, (&server, "here"))
}

/// Unlike one that is away it answers, and says why.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_the_server_takes_no_changes_nothing_is_lost_and_it_is_told_why() -> anyhow::Result<()> {
    let Some(server) = PostgresServer::start("telegram::postgres") else { return Ok(()) };
    let world = World::running_in(|home| watched(home.postgres(&server, "here"))).await?;
    let monitor = monitor(&world).await?;
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    server.set("default_transaction_read_only", "on");
    let question = world.server.push(Incoming::private(ANN).text("/file_info path=/tmp"));
    world.logs("the store fails; waiting for it").await?;
    until(monitor, "takes no changes: it is read-only").await?;
    // It reads what the gateway notes now and then.
    let since = Instant::now();
    loop {
        let status = world.home.run(&["status"]);
        if status.code == Some(3) && status.stdout.contains("it may be a standby") {
            break;
        }
        assert!(since.elapsed() < PATIENCE, "{status:?}");
    }
    // The setting itself is one that may be changed all the same.
    server.set("default_transaction_read_only", "off");
    let answer = world.answer(&question).await?.text;
    assert!(answer.contains("directory"), "{answer}");
    until(monitor, "ok\n").await?;
    end(world, 2, (&server, "here"))
}

/// The primary is gone with all that it has, and its standby is promoted: what comes meanwhile is
/// answered, and what was kept is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_standby_that_is_promoted_has_all_that_was_kept() -> anyhow::Result<()> {
    let Some(mut primary) = PostgresServer::start("telegram::postgres") else { return Ok(()) };
    let standby = primary.add_standby();
    let url = format!("{} password={PASSWORD}", primary.url_with(&standby));
    let world = World::running_in(|home| home.postgres_at(&url, "here")).await?;
    let bytes = samples::jpeg(10_000);
    let photo = Incoming::private(ANN).photo(Media::with_content("p", bytes.clone()));
    let answer = world.ask(photo.caption(&save(0, "/shared/a.jpg"))).await?;
    assert!(answer.contains(r#""saved":true"#), "{answer}");
    primary.stop();
    let question = world.server.push(Incoming::private(ANN).text("/attachment_download {}"));
    world.logs("the store fails; waiting for it").await?;
    standby.promote();
    let answer = world.answer(&question).await?.text;
    assert!(
        answer.contains(r#""mimeType":"image/jpeg""#),
        "the file of the message before is known: {answer}"
    );
    world.ask(Incoming::private(ANN).text("/file_info path=/shared/a.jpg")).await?;
    end(world, 3, (&standby, "here"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn another_serve_of_the_schema_is_refused() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::postgres") else { return Ok(()) };
    let schema = new_schema();
    let world = World::running_in(|home| home.postgres(server, &schema)).await?;
    // With a state of its own: the lock of the state directory does not tell.
    let mut other = World::stopped(|home| home.postgres(server, &schema)).await?;
    other.launch(&[], &[])?;
    assert_eq!(other.ended()?, Some(2));
    assert!(other.log().contains("another serve uses the store in PostgreSQL"), "{}", other.tail());
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    end(world, 1, (server, &schema))
}
