//! A guest that spins for one person keeps nobody else waiting, in one gateway.

use std::time::{Duration, Instant};
use support::home::Home;
use support::serving::Serving;
use support::telegram::{Incoming, TelegramServer};

const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn two_people_whose_guests_spin_do_not_stop_a_third() -> anyhow::Result<()> {
    let server = TelegramServer::start().await?;
    let home = Home::new().hostile("memory = \"16 MiB\"\ndeadline = \"5s\"");
    let home = home.telegram(&server.api_url(), &[1, 2, 3]);
    let serving = Serving::start(&home, server.token())?;
    let started = Instant::now();
    for user in [1, 2] {
        server.push(Incoming::private(user).text("/hostile behaviour=spin"));
    }
    let third = server.push(Incoming::private(3).text("/hostile behaviour=ok"));
    let first = server.wait_for_message(PATIENCE, |_| true).await?;
    assert_eq!((first.chat_id, first.text.as_str()), (third.chat_id, r#"{"ok":true}"#), "{}", serving.log());
    assert!(started.elapsed() < Duration::from_secs(5), "it waited for the spinners");
    let all = server.wait_for_messages(PATIENCE, 3).await?;
    let ended = all.iter().filter(|message| message.text.starts_with("timed_out: ")).count();
    assert_eq!(ended, 2, "{all:?}");
    assert!(home.leftovers().is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn calls_that_wait_for_a_thread_keep_their_whole_time() -> anyhow::Result<()> {
    let server = TelegramServer::start().await?;
    let home = Home::new().hostile("memory = \"16 MiB\"\ndeadline = \"2s\"");
    let home = home.telegram(&server.api_url(), &[1, 2, 3, 4, 5, 6]);
    let serving = Serving::start(&home, server.token())?;
    // As many as there are threads on two cores: what comes then waits as long as its own deadline.
    server.push_all((1..=4).map(|user| Incoming::private(user).text("/hostile behaviour=sleep")));
    server.push_all((5..=6).map(|user| Incoming::private(user).text("/hostile behaviour=ok")));
    let all = server.wait_for_messages(PATIENCE, 6).await?;
    let said = |start: &str| all.iter().filter(|message| message.text.starts_with(start)).count();
    assert_eq!((said("timed_out: "), said(r#"{"ok":true}"#)), (4, 2), "{all:?}\n{}", serving.log());
    Ok(())
}
