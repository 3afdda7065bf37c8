//! What a service manager is told of a bot: up once polling works, each reload, the stop, and that
//! it goes on for as long as it does. The bot is confined as ever.

use super::tracer::{Tracer, available};
use super::world::{ANN, World};
use rustix::process::Signal;
use std::time::Duration;
use support::home::Home;
use support::manager::Manager;
use support::telegram::{Hold, Incoming, TelegramServer};

const GOES_ON: &str = "WATCHDOG=1";
const STANDS: &str = "STATUS=the channel has not gone on for ";

/// Starts the bot under this manager, which wants to hear from it within the time.
fn launch(world: &mut World, manager: &Manager, micros: &str) -> anyhow::Result<()> {
    world.launch(&[], &[("NOTIFY_SOCKET", manager.name()), ("WATCHDOG_USEC", micros)])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn it_is_up_with_the_first_poll_and_says_what_it_does() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for manager in [Manager::in_folder(folder.path())?, Manager::abstractly()?] {
        let mut world = World::stopped(|home| home).await?;
        let gate = world.server.gate("getUpdates", Hold::BeforeAnswer);
        launch(&mut world, &manager, "")?;
        gate.reached().await?;
        // It has said that it polls, and nobody knows yet whether that works.
        world.logs("polling as ").await?;
        assert!(manager.next()?.starts_with("STATUS="));
        let said = manager.rest()?;
        assert!(said.iter().all(|said| !said.contains("READY=1") && !said.contains(GOES_ON)), "{said:?}");
        gate.release();
        manager.until("READY=1")?;

        world.serving().signal(Signal::USR1)?;
        let reloading = manager.until("RELOADING=1")?.pop().expect("the last");
        let micros = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").expect("a time");
        assert!(micros.parse::<u64>()? > 0);
        assert_eq!(manager.until("READY=1")?.pop().as_deref(), Some("READY=1\nSTATUS=serving"));
        let good = std::fs::read_to_string(world.home.config_file())?;
        std::fs::write(world.home.config_file(), format!("{good}nope = 1\n"))?;
        world.serving().signal(Signal::USR1)?;
        manager.until("RELOADING=1")?;
        let refused = manager.until("READY=1")?.pop().expect("the last");
        assert!(refused.contains("the last reload was refused"), "{refused}");
        std::fs::write(world.home.config_file(), good)?;

        world.ask(Incoming::private(ANN).text("hello")).await?;
        world.stop()?;
        assert_eq!(manager.rest()?.pop().as_deref(), Some("STOPPING=1\nSTATUS=stopping"));
        world.end(1)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_that_does_not_answer_is_no_standstill() -> anyhow::Result<()> {
    let manager = Manager::abstractly()?;
    let mut world = World::stopped(|home| home).await?;
    launch(&mut world, &manager, "1000000")?;
    manager.until(GOES_ON)?;
    let gate = world.server.gate("getUpdates", Hold::BeforeAnswer);
    // Delivered by a poll whose answer does not come.
    let waiting = world.server.push(Incoming::private(ANN).text("hello"));
    gate.reached().await?;
    manager.rest()?;
    for _ in 0..6 {
        let said = manager.until(GOES_ON)?;
        assert!(said.iter().all(|said| !said.starts_with(STANDS)), "{said:?}");
    }
    gate.release();
    world.answer(&waiting).await?;
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_standstill_is_not_told_to_go_on() -> anyhow::Result<()> {
    if !available("telegram::manager::a_standstill_is_not_told_to_go_on") {
        return Ok(());
    }
    let manager = Manager::abstractly()?;
    let mut world = World::stopped(|home| home).await?;
    launch(&mut world, &manager, "1000000")?;
    manager.until(GOES_ON)?;
    // The poller stands still where it looks who is served. It may take the runtime's other tasks
    // along, who then say nothing at all.
    let tracer = Tracer::delays(world.serving().pid(), "openat", Duration::from_secs(60));
    let waiting = world.server.push(Incoming::private(ANN).text("hello"));
    // Eight times as long as between two of them.
    manager.quiet(GOES_ON, Duration::from_secs(4))?;
    drop(tracer);
    manager.until(GOES_ON)?;
    world.answer(&waiting).await?;
    world.end(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_manager_that_is_not_there_is_no_reason_not_to_serve() -> anyhow::Result<()> {
    let server = TelegramServer::start().await?;
    let home = Home::new().telegram(&server.api_url(), &[ANN]);
    let nobody = [("NOTIFY_SOCKET", "/nowhere/notify")];
    let serving = support::serving::Serving::launch(&home, server.token(), &[], &nobody)?.polling()?;
    serving.says("the service manager cannot be told how the gateway is").map(drop)
}
