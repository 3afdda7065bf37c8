//! Nodes whose machines have another time than their server.

use super::*;
use support::needs;

/// What sets the clock of a program, and of nothing else.
const LIBRARIES: [&str; 2] = ["x86_64-linux-gnu", "aarch64-linux-gnu"];

/// Variables by which a program's clock is off by what stands in a file, at each look.
fn clock_of(test: &str, file: &str) -> Option<Vec<(&'static str, String)>> {
    let library = LIBRARIES.map(|of| format!("/usr/lib/{of}/faketime/libfaketime.so.1"));
    let library = library.into_iter().find(|path| std::path::Path::new(path).exists());
    let what = "libfaketime (on Debian: apt-get install faketime)";
    needs::available(test, what, library.is_some()).then_some(())?;
    let one = || "1".to_owned();
    Some(vec![
        ("LD_PRELOAD", library?),
        ("FAKETIME_TIMESTAMP_FILE", file.to_owned()),
        ("FAKETIME_NO_CACHE", one()),
        ("DONT_FAKE_MONOTONIC", one()),
    ])
}

/// Node `a`, which hears the bot, and `b` beside it. By whose clock they go, and by how much that is
/// off, stands in a file of the state.
async fn two_apart(
    (test, wrong, off): (&str, &str, &str),
    fit: impl FnOnce(Home) -> Home,
) -> anyhow::Result<Option<(World, Serving, String)>> {
    let Some(server) = shared(test) else { return Ok(None) };
    let schema = new_schema();
    let mut world = World::stopped(|home| fit(cluster(home.postgres(server, &schema)))).await?;
    let file = world.home.state().join("clock");
    std::fs::write(&file, off)?;
    let Some(variables) = clock_of(test, file.to_str().expect("UTF-8")) else { return Ok(None) };
    let environment = |name: &'static str| {
        let set = variables.iter().filter(|_| name == wrong).map(|(name, value)| (*name, value.as_str()));
        [("COFFERDAM_CLUSTER_NODE", name)].into_iter().chain(set).collect::<Vec<_>>()
    };
    let first = Serving::launch(&world.home, world.server.token(), &[], &environment("a"))?.polling()?;
    world.launch(&[], &environment("b"))?;
    world.says("another node hears telegram-")?;
    Ok(Some((world, first, schema)))
}

/// A call is asked for at `b` and approved at `a`: what is good for a quarter of an hour is good at
/// both.
async fn approved_apart(test: &str, wrong: &str, off: &str) -> anyhow::Result<()> {
    let Some((world, first, schema)) = two_apart((test, wrong, off), always).await? else { return Ok(()) };
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
    approved_apart("telegram::cluster::clock::an_approval_is_good_at_a_node_that_is_ahead", "a", "+2h").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_approval_of_a_node_that_is_behind_is_good() -> anyhow::Result<()> {
    approved_apart("telegram::cluster::clock::an_approval_of_a_node_that_is_behind_is_good", "b", "-2h").await
}

/// One node's clock is set to and fro while both work: nobody notices.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_clock_that_jumps_changes_nothing() -> anyhow::Result<()> {
    const TEST: &str = "telegram::cluster::clock::a_clock_that_jumps";
    let Some((world, first, _)) = two_apart((TEST, "a", "+0"), |home| home).await? else { return Ok(()) };
    let write = |n: i64| {
        let text = format!("/file_write path=/shared/{n} content=hello");
        Incoming::private(PEOPLE[n as usize % 3]).thread(1 + n / 3 % 4).text(&text)
    };
    let mut pushed = Vec::new();
    for (wave, off) in ["+40d", "-40d", "+3h", "+0"].into_iter().enumerate() {
        let next = wave as i64 * 24..(wave as i64 + 1) * 24;
        pushed.extend(world.server.push_all(next.map(write)));
        world.server.wait_for_messages(PATIENCE, wave * 24 + 4).await?;
        std::fs::write(world.home.state().join("clock"), off)?;
    }
    for question in &pushed {
        let answer = world.answer(question).await?.text;
        assert!(answer.contains(r#""outcome":"created""#), "{answer}");
    }
    assert_eq!(world.server.sent_messages().len(), pushed.len(), "each once");
    assert_eq!(nodes(&world).len(), 2);
    end(world, [first], pushed.len())
}
