//! The same over Discord: nothing of a run knows which channel it is on.

use std::time::{Duration, Instant};
use support::discord::{Command, DiscordServer, Fault, Incoming, Press, SentMessage};
use support::home::Home;
use support::serving::Serving;

const ANN: u64 = 1_100_000_000_000_000_001;
const BEN: u64 = 1_100_000_000_000_000_002;
const PATIENCE: Duration = Duration::from_secs(100);

const ASK: &str = "workflow: ask\non: { command: ask }\n\
    input: { properties: { question: { type: string } }, required: [question] }\ntasks:\n\
    \x20 - { id: ask, send: { to: \"discord:1100000000000000002\", text: \"Someone asks: {{ input.question }}\" } }\n\
    \x20 - { id: answer, wait: { reply_to: ask, timeout: 24h } }\n\
    \x20 - { id: ok, approve: { text: \"Tell it?\", timeout: 1h } }\n\
    output: \"They say: {{ tasks.answer.output.text }}\"\n";

async fn start(home: &Home, server: &DiscordServer) -> anyhow::Result<Serving> {
    let environment = [("DISCORD_BOT_TOKEN", server.token())];
    let serving = Serving::launch(home, "1:unused", &[], &environment)?.says("listening on Discord as")?;
    server.wait_until_connected(PATIENCE).await?;
    Ok(serving)
}

/// A gateway in which Ann and Ben have the workflow.
fn home(server: &DiscordServer) -> anyhow::Result<Home> {
    let section = format!(
        "[channels.discord]\napi_url = {:?}\nallowed_users = [{ANN}, {BEN}]\n[workflows]\ndir = \"offered\"\n",
        server.api_url()
    );
    let home = Home::new().config(&section);
    std::fs::create_dir(home.dir().join("offered"))?;
    std::fs::write(home.dir().join("offered/ask.yaml"), ASK)?;
    Ok(home)
}

/// A command's token is good for a quarter of an hour, and a wait for days.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_command_began_is_answered_where_it_was_given_though_its_token_is_over() -> anyhow::Result<()>
{
    let server = DiscordServer::start().await?;
    let home = home(&server)?;
    let serving = start(&home, &server).await?;
    let made = server.invoke(Command::new("ask").by(ANN).option("question", "when?"));
    let is_question = |sent: &SentMessage| sent.content.starts_with("Someone asks");
    let question = server.wait_for_message(PATIENCE, is_question).await?;
    let is_waiting = |sent: &SentMessage| sent.content.contains("waits for");
    let waits = server.wait_for_message(PATIENCE, is_waiting).await?;
    assert_eq!((waits.channel_id, waits.interaction), (made.channel_id, Some(made.id)), "in its own message");
    for route in ["edit_response", "create_followup", "create_response"] {
        server.fault(route, usize::MAX, Fault::discord_error(401, 50027, "Invalid Webhook Token"));
    }
    server.push(Incoming::private(BEN).text("at noon").reply_to(&question.message));
    let asks = |sent: &SentMessage| sent.buttons().len() == 2;
    let shown = server.wait_for_message(PATIENCE, asks).await?;
    server.clear_faults();
    server.press(Press::new(ANN, shown.channel_id, shown.message_id, &shown.buttons()[0].custom_id))?;
    let says = |sent: &SentMessage| sent.content.starts_with("They say: at noon");
    let answer = server.wait_for_message(PATIENCE, says).await?;
    assert_eq!(answer.channel_id, made.channel_id);
    let told = serving.log();
    assert!(!told.contains(&made.token), "{told}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_colleague_is_asked_and_the_answer_comes_back_through_a_kill() -> anyhow::Result<()> {
    let server = DiscordServer::start().await?;
    let home = home(&server)?;
    let serving = start(&home, &server).await?;
    let asked = server.push(Incoming::private(ANN).text("/ask question=when?"));
    let is_question = |sent: &SentMessage| sent.content.starts_with("Someone asks");
    let question = server.wait_for_message(PATIENCE, is_question).await?;
    let is_waiting = |sent: &SentMessage| sent.content.contains("waits for");
    let waits = server.wait_for_message(PATIENCE, is_waiting).await?;
    assert_eq!((waits.channel_id, waits.reply_to), (asked.channel_id, Some(asked.message_id)));
    serving.kill();
    let serving = start(&home, &server).await?;
    server.push(Incoming::private(BEN).text("at noon").reply_to(&question.message));
    let asks = |sent: &SentMessage| sent.buttons().len() == 2;
    let shown = server.wait_for_message(PATIENCE, asks).await?;
    assert_eq!(shown.channel_id, asked.channel_id, "who began it, in private");
    server.press(Press::new(ANN, shown.channel_id, shown.message_id, &shown.buttons()[0].custom_id))?;
    let says = |sent: &SentMessage| sent.content.starts_with("They say: at noon");
    let answer = server.wait_for_message(PATIENCE, says).await?;
    assert_eq!((answer.channel_id, answer.reply_to), (asked.channel_id, Some(asked.message_id)));
    let began = Instant::now();
    let listed = || home.run(&["workflow", "list", "--json"]).json();
    while listed()["runs"][0]["state"] != "done" {
        anyhow::ensure!(began.elapsed() < PATIENCE, "{}\n{}", listed(), serving.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let questions = server.sent_messages().iter().filter(|sent| is_question(sent)).count();
    assert_eq!(questions, 1, "the nonce names the message");
    Ok(())
}
