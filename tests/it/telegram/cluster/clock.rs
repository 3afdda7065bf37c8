//! Nodes whose machines have another time than their server.

use super::*;
use crate::soak::clock::Clock;
use support::workers::until;

/// In seconds.
const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

/// Node `a`, which hears the bot, and `b` beside it; the clock of one of them is so many seconds
/// ahead.
async fn two_apart(
    (test, wrong, ahead): (&str, &str, i64),
    fit: impl FnOnce(Home) -> Home,
) -> anyhow::Result<Option<(World, Serving, String, Clock)>> {
    let Some(server) = shared(test) else { return Ok(None) };
    let schema = new_schema();
    let mut world = World::stopped(|home| fit(cluster(home.postgres(server, &schema)))).await?;
    let Some(clock) = Clock::make(world.home.dir())? else { return Ok(None) };
    clock.jump(ahead)?;
    let variables = clock.environment()?;
    let environment = |name: &'static str| {
        let set = variables.iter().filter(|_| name == wrong).map(|(name, value)| (*name, value.as_str()));
        [("COFFERDAM_CLUSTER_NODE", name)].into_iter().chain(set).collect::<Vec<_>>()
    };
    let first = Serving::launch(&world.home, world.server.token(), &[], &environment("a"))?.polling()?;
    world.launch(&[], &environment("b"))?;
    world.says("another node hears telegram-")?;
    Ok(Some((world, first, schema, clock)))
}

/// A call is asked for at `b` and approved at `a`: what is good for a quarter of an hour is good at
/// both.
async fn approved_apart(test: &str, wrong: &str, ahead: i64) -> anyhow::Result<()> {
    let Some(two) = two_apart((test, wrong, ahead), always).await? else { return Ok(()) };
    let (world, first, schema, _clock) = two;
    give(shared(test).expect("it is there"), &schema, (&world, ANN), "b");
    world.server.push(Incoming::private(ANN).text(WRITE));
    let approval = asked(&world, 0).await?;
    world.logs("an approval is shown").await?;
    world.server.push(press(ANN, &approval, APPROVE));
    answered(&world, "{").await?;
    assert_eq!(world.saved("/shared/a"), b"hello");
    end(world, [first], 2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_approval_is_good_at_a_node_that_is_ahead() -> anyhow::Result<()> {
    approved_apart("telegram::cluster::clock::an_approval_is_good_at_a_node_that_is_ahead", "a", 2 * HOUR)
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_approval_of_a_node_that_is_behind_is_good() -> anyhow::Result<()> {
    approved_apart("telegram::cluster::clock::an_approval_of_a_node_that_is_behind_is_good", "b", -2 * HOUR)
        .await
}

/// One node's clock is set to and fro while both work: nobody notices.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_clock_that_jumps_changes_nothing() -> anyhow::Result<()> {
    const TEST: &str = "telegram::cluster::clock::a_clock_that_jumps";
    let Some((world, first, _, clock)) = two_apart((TEST, "a", 0), |home| home).await? else { return Ok(()) };
    let write = |n: i64| {
        let text = format!("/file_write path=/shared/{n} content=hello");
        Incoming::private(PEOPLE[n as usize % 3]).thread(1 + n / 3 % 4).text(&text)
    };
    let mut pushed = Vec::new();
    for (wave, ahead) in [40 * DAY, -40 * DAY, 3 * HOUR, 0].into_iter().enumerate() {
        let next = wave as i64 * 24..(wave as i64 + 1) * 24;
        pushed.extend(world.server.push_all(next.map(write)));
        world.server.wait_for_messages(PATIENCE, wave * 24 + 4).await?;
        clock.jump(ahead)?;
    }
    for question in &pushed {
        let answer = world.answer(question).await?.text;
        assert!(answer.contains(r#""outcome":"created""#), "{answer}");
    }
    assert_eq!(world.server.sent_messages().len(), pushed.len(), "each once");
    assert_eq!(nodes(&world).len(), 2);
    end(world, [first], pushed.len())
}

/// Its clock says that nobody has used anything for weeks.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_that_is_ahead_removes_no_files_that_are_in_use() -> anyhow::Result<()> {
    const TEST: &str = "telegram::cluster::clock::a_node_that_is_ahead_removes_no_files";
    let Some(server) = shared(TEST) else { return Ok(()) };
    let world = World::stopped(|home| cluster(home.postgres(server, &new_schema()))).await?;
    let Some(clock) = Clock::make(world.home.dir())? else { return Ok(()) };
    clock.jump(40 * DAY)?;
    let tmp = |session: &str, days: i64| {
        let folder = world.home.session(None, session).join("tmp");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("a"), "x")?;
        let used =
            std::time::SystemTime::now() - Duration::from_secs(days.unsigned_abs() * DAY.unsigned_abs());
        for folder in [&folder, folder.parent().expect("a session's")] {
            std::fs::File::open(folder)?.set_modified(used)?;
        }
        anyhow::Ok(folder)
    };
    let (young, old) = (tmp("telegram-7:7/0", 1)?, tmp("telegram-8:8/0", 8)?);
    let variables = clock.environment()?;
    let set: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let node = Serving::launch(&world.home, world.server.token(), &[], &set)?.polling()?;
    until("what is old by the server's clock is gone", || !old.exists());
    assert_eq!(std::fs::read(young.join("a"))?, b"x");
    node.stop(Signal::TERM, PATIENCE)?;
    Ok(())
}
