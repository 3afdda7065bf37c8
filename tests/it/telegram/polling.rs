//! Polling that fails in every way: it goes on, loses and doubles nothing, and says once what is
//! wrong.

use super::world::{ANN, PATIENCE, World};
use std::time::{Duration, Instant};
use support::telegram::{Fault, Incoming, TelegramServer};

/// The faults of one poll, by name.
fn faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("500", Fault::internal_error()),
        ("502 with a page", Fault::bad_gateway()),
        ("200 that is no JSON", Fault::garbage()),
        ("200 without a body", Fault::empty_body()),
        ("200 with a page", Fault::status(200, "text/html", "<html>log in</html>")),
        ("200 with another JSON", Fault::status(200, "application/json", "{\"ok\":true,\"result\":{}}")),
        (
            "200 with ids that are none",
            Fault::status(200, "application/json", "{\"ok\":true,\"result\":[{\"a\":1}]}"),
        ),
        ("200 that refuses", Fault::refused_with_200(500, "Internal Server Error")),
        ("closed", Fault::close()),
        ("closed after the offset was taken", Fault::close().after_effect()),
        ("closed in the head", Fault::close_in_head()),
        ("truncated", Fault::truncated(25)),
        ("without a length", Fault::without_length()),
        ("429", Fault::too_many_requests(1)),
        ("409", Fault::conflict()),
        ("400", Fault::api_error(400, "Bad Request: x")),
        ("401 by a portal", Fault::status(401, "text/html", "<html>log in</html>")),
        ("redirected", Fault::redirect("http://127.0.0.1:9/")),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_fault_is_survived_and_nothing_is_lost_or_doubled() -> anyhow::Result<()> {
    let world = World::running().await?;
    for (name, fault) in faults() {
        // The poll behind this message meets the fault; the message behind it is delivered by a
        // later one.
        world.server.fault("getUpdates", 1, fault);
        let first = world.server.push(Incoming::private(ANN).text("before"));
        world.answer(&first).await?;
        let started = Instant::now();
        let second = world.server.push(Incoming::private(ANN).text("behind"));
        world.answer(&second).await?;
        assert!(started.elapsed() < Duration::from_secs(10), "{name} takes {:?}", started.elapsed());
        assert_eq!(world.server.remaining_faults(), 0, "{name}");
    }
    // 409 says what to do.
    world.logs("another program polls with this bot's token").await?;
    world.logs("polling works again").await?;
    world.end(2 * faults().len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_answer_without_end_is_not_taken_and_the_next_one_is() -> anyhow::Result<()> {
    let world = World::running().await?;
    let endless = vec![b' '; (32 << 20) + 1];
    world.server.fault("getUpdates", 1, Fault::status(200, "application/json", endless));
    world.ask(Incoming::private(ANN).text("before")).await?;
    world.ask(Incoming::private(ANN).text("behind")).await?;
    assert_eq!(world.server.remaining_faults(), 0);
    world.logs("an answer of more than 33554432 bytes").await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn ids_may_have_gaps_and_any_order_within_an_answer() -> anyhow::Result<()> {
    let world = World::running().await?;
    let message = |id: i64| Incoming::private(ANN).text("hello").update_id(id);
    let pushed = world.server.push_all([700_000_090, 700_000_007, 700_000_055, 700_000_056].map(message));
    world.server.wait_for_messages(PATIENCE, 4).await?;
    let order: Vec<_> = world.server.sent_messages().into_iter().map(|sent| sent.reply_to).collect();
    assert_eq!(order, pushed.iter().map(|pushed| Some(pushed.message_id)).collect::<Vec<_>>());
    world.server.wait_until_confirmed(PATIENCE, 700_000_090).await?;
    assert!(world.server.unconfirmed_updates().is_empty());
    world.ask(message(800_000_000)).await?;
    world.end(5)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn two_pollers_do_not_end_the_program() -> anyhow::Result<()> {
    let world = World::running().await?;
    world.ask(Incoming::private(ANN).text("hello")).await?;
    let mut other = World::stopped(|home| home).await?;
    // The other one takes the same bot over for a while.
    let (api_url, token) = (world.server.api_url(), world.server.token().to_owned());
    other.refit(|home| home.telegram(&api_url, &[ANN]));
    let second = support::serving::Serving::start(&other.home, &token)?;
    world.logs("another program polls with this bot's token; stop it").await?;
    second.stop(rustix::process::Signal::TERM, Duration::from_secs(10))?;
    world.ask(Incoming::private(ANN).text("hello again")).await?;
    world.end(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_webhook_is_named_with_its_remedy() -> anyhow::Result<()> {
    let mut world = World::stopped(|home| home).await?;
    world.server.set_webhook("https://example.org/");
    world.start()?;
    world.server.wait_for_requests(PATIENCE, "getUpdates", 2).await?;
    delete_webhook(&world.server).await?;
    world.ask(Incoming::private(ANN).text("hello")).await?;
    let said =
        "a webhook is set for this bot, so it cannot be polled; remove it with the Bot API's deleteWebhook";
    world.logs(said).await?;
    assert_eq!(world.log().matches(said).count(), 1, "once, however often it fails");
    world.end(1)
}

/// As an operator does it with a browser.
async fn delete_webhook(server: &TelegramServer) -> anyhow::Result<()> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let url = server.api_url();
    let mut stream = tokio::net::TcpStream::connect(url.trim_start_matches("http://")).await?;
    let request =
        format!("GET /bot{}/deleteWebhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", server.token());
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    assert!(answer.contains(r#""ok":true"#), "{answer}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_token_that_is_refused_ends_it_with_code_2() -> anyhow::Result<()> {
    for (method, fault) in [
        ("getMe", Fault::api_error(401, "Unauthorized")),
        ("getMe", Fault::api_error(404, "Not Found")),
        ("getUpdates", Fault::api_error(401, "Unauthorized")),
    ] {
        let mut world = World::stopped(|home| home).await?;
        world.server.fault(method, 1, fault);
        world.launch(&[], &[])?;
        assert_eq!(world.ended()?, Some(2), "{}", world.tail());
        let log = world.log();
        let said = "Telegram does not accept the bot's token in TELEGRAM_BOT_TOKEN (";
        assert!(log.contains(said) && log.contains("copy it again from @BotFather"), "{}", world.tail());
        world.end(0)?;
    }
    Ok(())
}
