//! What nodes know of each other's chains, after somebody was at them.

use super::*;

fn chain(world: &World, node: &str) -> String {
    let file = world.home.state().join(format!("node-{node}/audit.jsonl"));
    std::fs::read_to_string(file).expect("a chain")
}

/// Waits until `b` has recorded that the chain of `a` has this many records, or more.
async fn is_recorded(world: &World, records: usize) {
    let since = Instant::now();
    let is_there = || {
        let (a, b) = (chain(world, "a"), chain(world, "b"));
        a.lines().skip(records - 1).any(|line| b.contains(&sha256(line.as_bytes())))
    };
    while !is_there() {
        assert!(since.elapsed() < TAKEN_OVER_MAX, "b does not write down how far a is");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_chain_that_was_cut_is_told_at_the_next_start_and_stays_bad_when_it_has_grown() -> anyhow::Result<()>
{
    let Some(server) = shared("telegram::cluster::heads::a_chain_that_was_cut") else { return Ok(()) };
    let (mut world, first, schema) = two(server, |home| home).await?;
    give(server, &schema, (&world, ANN), "a");
    world.ask(Incoming::private(ANN).text("/file_write path=/shared/a content=one")).await?;
    first.end(PATIENCE)?;
    let whole = chain(&world, "a");
    is_recorded(&world, whole.lines().count()).await;
    let cut = &whole[..whole.trim_end().rfind('\n').expect("several records") + 1];
    std::fs::write(world.home.state().join("node-a/audit.jsonl"), cut)?;
    let again = node(&world, "a")?.says("does not hold the head that the database has of it")?;
    // It goes on, and its chain gets longer than it was.
    give(server, &schema, (&world, CAT), "a");
    world.ask(Incoming::private(CAT).text("/file_write path=/shared/c content=one")).await?;
    is_recorded(&world, whole.lines().count() + 1).await;
    again.end(PATIENCE)?;
    world.stop()?;
    let bad = world.home.run(&["audit", "verify"]);
    assert_eq!(bad.code, Some(3), "{bad:?}");
    assert!(bad.stdout.starts_with("node a: audit BAD at line "), "{bad:?}");
    assert!(bad.stdout.contains(" has recorded: the log was rewritten"), "{bad:?}");
    assert!(bad.stdout.contains("\nnode b: audit ok: "), "{bad:?}");
    Ok(())
}

/// Each message makes the chain longer, until its head takes the place of the one that it lacks.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_cut_is_recorded_also_where_only_messages_are_sent_after_it() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::heads::what_was_cut") else { return Ok(()) };
    let (mut world, first, schema) = two(server, |home| home).await?;
    give(server, &schema, (&world, ANN), "a");
    world.ask(Incoming::private(ANN).text("/file_write path=/shared/a content=one")).await?;
    first.end(PATIENCE)?;
    let whole = chain(&world, "a");
    is_recorded(&world, whole.lines().count()).await;
    world.stop()?;
    let last = whole.trim_end().rfind('\n').expect("several records") + 1;
    let lost = sha256(whole[last..].trim_end().as_bytes());
    std::fs::write(world.home.state().join("node-a/audit.jsonl"), &whole[..last])?;
    world.server.open_chat(ANN);
    for _ in 0..2 {
        let mut say = world.home.command(&["say", &format!("telegram:{ANN}"), "hello"]);
        say.env("COFFERDAM_CLUSTER_NODE", "a").env("TELEGRAM_BOT_TOKEN", world.server.token());
        let said = say.output()?;
        assert!(said.status.success(), "{said:?}");
    }
    assert!(chain(&world, "a").contains(&lost), "{}", chain(&world, "a"));
    let bad = world.home.run(&["audit", "verify"]);
    assert_eq!(bad.code, Some(3), "{bad:?}");
    assert!(bad.stdout.starts_with("node a: audit BAD at line "), "{bad:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_call_records_beside_a_serve_that_has_nothing_to_do_is_vouched_for() -> anyhow::Result<()> {
    let Some(server) = shared("telegram::cluster::heads::what_a_call_records") else { return Ok(()) };
    let (world, first, _) = two(server, |home| home).await?;
    let mut call = world.home.command(&["call", "file_write", "path=/shared/a", "content=one"]);
    let called = call.env("COFFERDAM_CLUSTER_NODE", "a").output()?;
    assert!(called.status.success(), "{called:?}");
    let whole = chain(&world, "a");
    let before = whole.lines().take_while(|line| !line.contains(r#""event":"outcome""#)).count();
    assert!(before < whole.lines().count(), "the call is in the chain of its node: {whole}");
    is_recorded(&world, before + 1).await;
    end(world, [first], 0)
}
