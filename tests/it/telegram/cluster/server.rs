//! Nodes and the end, the absence and the change of their server.

use super::*;

/// It reaches the bot's server still, and sends nothing there that another node may send.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_that_alone_is_cut_off_from_the_database_is_taken_out() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::a_node_that_alone_is_cut_off") else { return Ok(()) };
    let mut world = World::stopped(|home| cluster(home.postgres(server, &new_schema()))).await?;
    let relay = Relay::start(server)?;
    world.home.write_url("url-of-a", &relay.url());
    let behind = [("COFFERDAM_CLUSTER_NODE", "a"), ("COFFERDAM_STORE_URL_FILE", "url-of-a")];
    let mut first = Serving::launch(&world.home, world.server.token(), &[], &behind)?.polling()?;
    work_beside(&mut world)?;
    world.ask(Incoming::private(ANN).text("/file_write path=/shared/a content=one")).await?;
    let gate = world.server.gate(Target::method("getFile"), Hold::BeforeEffect);
    let photo = Incoming::private(ANN).photo(Media::with_content("p", samples::jpeg(10_000)));
    let question = world.server.push(photo.caption(&save(0, "/shared/a.jpg")));
    gate.reached().await?;
    relay.cut();
    gate.release();
    let answer = world.answer(&question).await?.text;
    assert!(answer.contains(r#""saved":true"#), "{answer}");
    world.says("polling as ")?;
    assert_eq!(nodes(&world), [("b".to_owned(), 2)]);
    relay.mend();
    first.gives_up(PATIENCE, TAKEN_OVER)?;
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    world.end(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nodes_outlive_their_server_and_go_on() -> anyhow::Result<()> {
    const TEST: &str = "telegram::cluster::nodes_outlive_their_server";
    let Some(mut server) = PostgresServer::start(TEST) else { return Ok(()) };
    let (world, first, _) = two(&server, |home| home).await?;
    server.stop();
    world.logs("cannot say that this node is there").await?;
    let question = world.server.push(Incoming::private(ANN).text("/file_info path=/tmp"));
    // Longer than a lease: nobody can take anybody out meanwhile.
    tokio::time::sleep(LEASE).await;
    server.begin();
    let answer = world.answer(&question).await?.text;
    assert!(answer.contains("directory"), "{answer}");
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    // Neither takes the other one for gone.
    first.end(PATIENCE)?;
    drop(world);
    Ok(())
}

/// The primary is gone in the middle of much work, and its standby is promoted when all leases are
/// over: each message is answered once, in order, and no node takes another one for gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nodes_go_on_with_a_standby_that_is_promoted() -> anyhow::Result<()> {
    const TEST: &str = "telegram::cluster::nodes_go_on_with_a_standby";
    let Some(mut primary) = PostgresServer::start(TEST) else { return Ok(()) };
    let standby = primary.add_standby();
    let url = primary.url_with(&standby);
    let mut world = World::stopped(|home| cluster(home.postgres_at(&url, "here"))).await?;
    let first = node(&world, "a")?.polling()?;
    work_beside(&mut world)?;
    let write = |n: i64| {
        let text = format!("/file_write path=/shared/{n} content=hello");
        Incoming::private(PEOPLE[n as usize % 3]).thread(1 + n / 3 % 8).text(&text)
    };
    let mut pushed = world.server.push_all((0..96).map(write));
    world.server.wait_for_messages(PATIENCE, 20).await?;
    primary.stop();
    tokio::time::sleep(LEASE + Duration::from_secs(1)).await;
    pushed.extend(world.server.push_all((96..120).map(write)));
    standby.promote();
    for question in &pushed {
        world.answer(question).await?;
    }
    let sent = world.server.sent_messages();
    assert_eq!(sent.len(), pushed.len(), "each once");
    // Turns that were under way may end, as many as may be: who asked is told so, and not where the
    // database is.
    let told: Vec<_> =
        sent.iter().filter(|sent| !sent.text.starts_with('{')).map(|sent| &sent.text).collect();
    let is_plain = |text: &&String| text.contains("its database") && !text.contains("PostgreSQL");
    assert!(told.len() <= 16 && told.iter().all(is_plain), "{told:#?}");
    for n in 0..24 {
        let of_chat: Vec<_> = pushed.iter().skip(n).step_by(24).collect();
        let asked: Vec<_> = of_chat.iter().map(|pushed| Some(pushed.message_id)).collect();
        let answers =
            sent.iter().filter(|sent| sent.chat_id == of_chat[0].chat_id && asked.contains(&sent.reply_to));
        assert_eq!(answers.map(|sent| sent.reply_to).collect::<Vec<_>>(), asked, "in order");
    }
    assert_eq!(nodes(&world).len(), 2);
    end(world, [first], pushed.len())
}

/// Its network says nothing either, so that nothing tells a node to give up.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_does_not_wait_for_a_server_that_says_nothing() -> anyhow::Result<()> {
    /// After that systemd kills it, as the unit has it that `doctor` prints.
    const KILLED_AFTER: Duration = Duration::from_secs(20);
    let Some(server) = shared("telegram::cluster::a_stop_does_not_wait") else { return Ok(()) };
    let world = World::stopped(|home| cluster(home.postgres(server, &new_schema()))).await?;
    let relay = Relay::start(server)?;
    world.home.write_url("url-of-a", &relay.url());
    let behind = [("COFFERDAM_CLUSTER_NODE", "a"), ("COFFERDAM_STORE_URL_FILE", "url-of-a")];
    let first = Serving::launch(&world.home, world.server.token(), &[], &behind)?.polling()?;
    world.ask(Incoming::private(ANN).text("/file_info path=/shared")).await?;
    relay.lose();
    let since = Instant::now();
    let log = first.end(KILLED_AFTER)?;
    println!("a stop without an answer of the server took {:?}", since.elapsed());
    assert!(log.contains("the store was not handed back"), "{log}");
    world.end(1)
}

/// What is under way takes as long as it may; then there is still time to say that others may go
/// on.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_stop_that_waits_for_a_turn_hands_the_store_back_all_the_same() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::a_stop_that_waits_for_a_turn") else { return Ok(()) };
    let world = World::stopped(|home| cluster(home.postgres(server, &new_schema()))).await?;
    let first = node(&world, "a")?.polling()?;
    let gate = world.server.gate(Target::method("getFile"), Hold::BeforeEffect);
    let photo = Incoming::private(ANN).photo(Media::with_content("p", samples::jpeg(10_000)));
    let question = world.server.push(photo.caption(&save(0, "/shared/a.jpg")));
    gate.reached().await?;
    let since = Instant::now();
    let log = first.end(PATIENCE)?;
    assert!(since.elapsed() > Duration::from_secs(4), "{:?}", since.elapsed());
    assert!(!log.contains("was not handed back"), "{log}");
    assert_eq!(nodes(&world), []);
    gate.discard();
    let second = node(&world, "b")?.polling()?;
    assert!(world.answer(&question).await?.text.contains(r#""saved":true"#));
    end(world, [second], 1)
}
